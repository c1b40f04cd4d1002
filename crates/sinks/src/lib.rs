//! places where measurements go.
#![forbid(unsafe_code)]
