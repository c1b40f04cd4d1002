//! The names that most of these tests use; each file imports the others itself.

pub use crate::rig::{
    Change, DELAY, Ran, SEED, START, Script, Stretch, WARMUP, World, closes, ms, plan, run,
    run_far, run_until,
};
pub use memtide_base::{Instant, Span};
pub use memtide_engine::Worker;
pub use memtide_metrics::{Counters, Histogram};
pub use memtide_workload::{
    Arrival, KeyForm, KeySpace, OpKind, Outcome, PlannedSource, RateCurve, SizeLaw, Wave,
};
pub use memtide_world::plan::{Backoff, Reconnect, RequestPlan, segment};
pub use memtide_world::{
    ChurnPlan, Clients, Cooldown, Driver, OnFull, Pace, Pacing, Plan, Protocol, Sample, ServerPlan,
    Sharing, Stage, Window,
};
