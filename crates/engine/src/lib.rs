//! The machinery that makes load: workers, clients, connections and pacing, and the two interfaces
//! ([`Driver`], [`Fleet`]) through which a world carries it out.
//!
//! It has no socket, clock, thread or randomness of its own: a world hands them in, so the same
//! code runs against a kernel and in virtual time. The list below is the reading order.
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as memtide_engine;

pub mod worker;
pub mod fleet;
pub mod probe;
mod client;
mod recorder;
mod connection;
mod dialect;
mod pacer;
mod route;
pub mod plan;
pub mod driver;

pub use driver::{
    Address, BufferPosition, Closed, Completion, ConnectError, Driver, Event, Filter, FilterPlan,
    Handshake, Message, PeerError, Sample, SendBuffer, SocketOptions, Submitted, TlsFault,
};
pub use fleet::{Command, Fleet, FleetError, Interval, Stage, Trouble, WorkerReport};
pub use plan::{
    ChurnPlan, Clients, ConnectionTurn, Contents, Cooldown, Credentials, Io, Matching, OnFull,
    Pace, Pacing, Plan, Protocol, RateUnit, Reach, Reconnect, Refill, Replicate, ServerPlan,
    Sharing, Task, Transport, Verify, Wait, Window, WindowCommands,
};
pub use worker::Worker;
