//! A master and its agents in a virtual world, and the invariants that hold under every fault.

mod network;
mod node;
mod conductor;
mod fleets;
mod mutations;
