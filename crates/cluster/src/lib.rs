//! A master and its agents: one run on many machines, for those alone who prove themselves.
//!
//! Both ends are state machines that are pure: they take messages and the time as arguments. The
//! network is one way to carry their messages, a simulation another. The list below is the reading
//! order.
#![forbid(unsafe_code)]

pub mod master;
pub mod agent;
pub mod transport;
pub mod identity;
pub mod join;
pub mod law;
pub mod parts;
pub mod clock;
pub mod text;

/// Messages between a master and its agents, generated from `proto/cluster.proto`, which describes
/// them. A test generates them again and compares.
#[allow(missing_docs, unused_qualifications)]
pub mod message {
    // The generated code names it.
    use tonic_prost as _;

    include!("../proto/cluster.rs");
}

use memtide_base::Span;

/// The version of the messages. Both ends must have the same one.
pub const PROTOCOL: u32 = 1;
/// An agent ends its load when its master has been silent for so long.
pub const MASTER_SILENT_MAX: Span = Span::from_s(5);
/// A master gives an agent up that has been silent for so long. A busy agent answers within
/// seconds, because its answers come from a thread of their own.
pub const AGENT_SILENT_MAX: Span = Span::from_s(10);

/// The exit code of a run when one end cannot reach the other any more.
pub(crate) const EXIT_UNREACHABLE: u8 = 3;
