//! Points for InfluxDB: one for each measured operation, and one for each second and kind.
//!
//! [`points`] makes the text of points, and [`Delivery`] hands them over in batches; the caller
//! implements [`Post`], which posts a batch.

mod line;
mod unique;
mod points;
mod spool;
mod delivery;
mod queue;

pub use delivery::{Answer, Delivered, Delivery, Feed, Post};
pub use points::{InfluxIntervals, InfluxOperations, InfluxRun};
pub use spool::Spool;
