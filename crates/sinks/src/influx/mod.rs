//! Points in InfluxDB: one for each measured operation, and one for each second and kind; their
//! destination, and the report on points that were not delivered.
//!
//! `points` makes the text of points, and [`Delivery`] hands them over in batches to a [`Post`],
//! such as `http`.

mod line;
mod unique;
mod points;
mod spool;
mod delivery;
mod batch;
#[cfg(feature = "influx")]
mod http;

pub use delivery::{Answer, Delivered, Delivery, Feed, Post};
pub use points::{InfluxIntervals, InfluxOperations, InfluxRun};
pub use spool::Spool;

#[cfg(feature = "influx")]
mod output;
#[cfg(feature = "influx")]
pub(crate) use output::add;
#[cfg(feature = "influx")]
pub use output::deliver_spool;
