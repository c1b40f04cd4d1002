//! A master and its agents: one run on many machines, for those alone who prove themselves.
//!
//! Both ends are state machines that are pure: they take messages and the time as arguments. The
//! network is one way to carry their messages, a simulation another.
#![forbid(unsafe_code)]

pub mod law;

/// What a master and its agents say to each other; `proto/cluster.proto` describes it.
#[allow(missing_docs, unused_qualifications)]
pub mod message {
    tonic::include_proto!("memtide.cluster.v1");
}
