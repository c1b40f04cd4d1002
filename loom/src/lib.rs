//! The hand-over of host, compiled with loom's atomics, and tried in every interleaving.
//!
//! It is a crate because host itself is compiled with the atomics of the machine.
#![allow(unsafe_code, reason = "its tests include the hand-over of host")]

#[cfg(test)]
#[path = "../../crates/host/src/handoff.rs"]
mod handoff;
#[cfg(test)]
mod tests;
