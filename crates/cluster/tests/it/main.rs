//! A master and its agents in a virtual world, and the invariants that hold under every fault.
#![expect(clippy::disallowed_methods, reason = "tests use files")]

mod network;
mod node;
mod conductor;
mod fleets;
mod windows;
mod mutations;
mod enemies;
