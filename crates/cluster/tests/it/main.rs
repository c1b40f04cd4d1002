//! A master and its agents in a world that is made of nothing: what holds whatever happens.

mod network;
mod node;
mod conductor;
mod fleets;
mod mutations;
