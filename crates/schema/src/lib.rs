//! what a user asks for and what a run answers.
#![forbid(unsafe_code)]
