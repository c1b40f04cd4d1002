//! a record as text for people.
#![forbid(unsafe_code)]
