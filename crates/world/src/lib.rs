//! What a world is to the rest of memtide: it takes a [`Plan`], the decided facts of a run, and
//! carries it out behind two interfaces, a [`Fleet`] for the controller and a [`Driver`] for each
//! worker.
//!
//! It carries out nothing itself: workers are those of the engine, worlds those of `host` and
//! `sim`. The list below is the reading order.
#![forbid(unsafe_code)]

pub mod fleet;
pub mod question;
pub mod plan;
pub mod driver;

pub use driver::{
    Address, BufferPosition, CertificateFault, Closed, Completion, ConnectError, Driver, Event,
    Filter, FilterPlan, Handshake, Message, PeerError, Sample, SendBuffer, SocketOptions,
    Submitted, TlsFault,
};
pub use fleet::{Command, Fleet, FleetError, Interval, Stage, Trouble, WorkerReport};
pub use plan::{
    ChurnPlan, Clients, ConnectionTurn, Contents, Cooldown, Credentials, Io, Matching, OnFull,
    Pace, Pacing, Plan, Protocol, RateUnit, Reach, Reconnect, Refill, Replicate, ServerPlan,
    Sharing, Task, Transport, Verify, Wait, Window, WindowCommands,
};
