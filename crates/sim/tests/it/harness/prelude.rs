//! The names that most of these tests use; each file imports the others itself.

pub use crate::harness::{Rehearsal, World, fields};
pub use memtide_base::choice::RateUnit;
pub use memtide_base::rng::Random;
pub use memtide_base::{Instant, Law, ServerId, Span};
pub use memtide_merge::Scenarios;
pub use memtide_metrics::TallySum;
pub use memtide_record::{CheckKind, CheckResult, EndedBy, Record, Verdict};
pub use memtide_run::steps::{Aim, Bracket, Data, Limits, Scan};
pub use memtide_run::{Barrier, NotRun, Share, lower};
pub use memtide_scenario::Kind;
pub use memtide_server::{FaultKind, ServerProfile};
pub use memtide_sim::{Network, PauseKind, SimFleet, WorkerPause};
pub use memtide_world::fleet::{Command, Fleet, FleetError, Interval};
pub use memtide_world::question::{Answer, AskError, Question};
pub use memtide_world::{Plan, ServerPlan};
pub use std::collections::BTreeMap;
pub use std::ops::Range;
