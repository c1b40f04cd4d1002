//! what to ask of a server and when.
#![forbid(unsafe_code)]
