//! Workers from outside, in a world of virtual time: what they send and when, how everything
//! ends, and whose fault a wait was.

#[path = "../world/mod.rs"]
mod world;

mod cutoff;
mod faults;
mod churn;
mod lag;
mod mutilate;
mod pacing;
mod questions;
mod replicas;
mod rig;
mod sequence;
mod wire;
