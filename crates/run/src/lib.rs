//! from a scenario to a plan, through its phases, to a record.
#![forbid(unsafe_code)]
