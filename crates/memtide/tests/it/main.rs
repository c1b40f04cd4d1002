//! The program as its user meets it: the real binary against real, embedded and misbehaving servers
//! on loopback. The tests use no internals, and assert no speed.
#![expect(clippy::unwrap_used, unsafe_code, reason = "a test may panic, and send signals")]

mod without_others;
mod first_look;
mod bad_input;
mod words;
mod terminal;
mod watching;
mod hostile;
mod filling;
mod operations;
mod binary;
mod pacing;
mod churn;
mod pauses;
mod backlogs;
mod bad_days;
mod errors;
mod rogues;
mod datagrams;
mod replicas;
mod endings;
mod outputs;
mod law;
mod readers;
mod influx;
mod signals;
mod verification;
mod instants;
mod merging;
mod shares;
mod agents;
mod steps;
mod slurm;
mod mutilate;
mod twemperf;
mod memaslap;
mod streams;
mod commands;
mod tls;

#[path = "child/prelude.rs"]
mod prelude;
mod peer;
mod child;
#[path = "../../../base/tests/schemas/mod.rs"]
mod schemas;
