//! A master and its agents: one run on several machines, which prove themselves to each other.
//!
//! Both ends are pure state machines: messages and the time are arguments. Their messages are
//! carried by the network or by a simulation. The list below is the reading order.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests use files"))]

pub mod fetching;
pub mod taking;
pub mod master;
pub mod agent;
pub mod transport;
pub mod files;
pub mod identity;
pub mod join;
pub mod law;
pub mod parts;
pub mod clock;

/// Messages between a master and its agents, generated from `proto/cluster.proto`, which describes
/// them. A test generates them again and compares.
#[allow(missing_docs, unused_qualifications)]
pub mod message {
    include!("../proto/cluster.rs");
}

use memtide_base::Span;
use memtide_record::Exit;

/// The version of the messages. Both ends must have the same one.
pub const PROTOCOL: u32 = 4;
/// The silence of its master after which an agent ends its load.
pub const MASTER_SILENT_MAX: Span = Span::from_s(5);
/// The silence of its master after which an agent without a share leaves it. Until an agent has its
/// share, its master says something every five seconds only: hundreds may wait on one machine.
pub const MASTER_AWAY_MAX: Span = Span::from_s(15);
/// The most shares of one run that an agent takes.
pub const UNITS_MAX: u32 = 1024;
/// The silence of an agent after which its master gives it up. A busy agent still answers within
/// seconds, because a separate thread answers.
pub const AGENT_SILENT_MAX: Span = Span::from_s(10);

/// The exit code of a run in which one end can no longer reach the other.
pub(crate) const EXIT_UNREACHABLE: u8 = Exit::Unreachable.code();
