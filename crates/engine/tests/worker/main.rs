//! Workers from outside, in a world of virtual time: what they send and when, how everything ends,
//! and what caused each wait.

#[path = "../rig/mod.rs"]
mod rig;

mod cutoff;
mod faults;
mod churn;
mod lag;
mod mutilate;
mod pacing;
mod questions;
mod replicas;
mod sequence;
mod wire;
mod prelude;
