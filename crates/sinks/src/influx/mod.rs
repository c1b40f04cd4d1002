//! Points for InfluxDB: one for each measured operation, and one for each second and kind.
//!
//! The text of points is made here ([`points`]), and they are handed over in batches
//! ([`Delivery`]); how a batch is posted is the caller's ([`Post`]).

mod line;
mod unique;
mod points;
mod spool;
mod delivery;
mod queue;

pub use delivery::{Answer, Delivered, Delivery, Feed, Post};
pub use points::{InfluxIntervals, InfluxOperations, InfluxRun};
pub use spool::Spool;
