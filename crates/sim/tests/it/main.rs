//! The engine, the controller and the lowering in virtual time, checked against queueing theory,
//! counting and replay.
#![expect(clippy::disallowed_methods, reason = "tests read the environment")]

#[allow(dead_code, reason = "the swarm uses the rest")]
mod harness;
mod queues;
mod agents;
mod arrivals;
mod datagrams;
mod elsewhere;
mod clients;
mod faults;
mod fleets;
mod pauses;
mod replay;
mod shares;
mod steps;
mod tls;
#[path = "harness/prelude.rs"]
mod prelude;
