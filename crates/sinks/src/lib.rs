//! Outputs: what each kind writes, the place that it writes to, and the queue and thread through
//! which events reach it.
//!
//! [`open_all`] opens the outputs that a user's settings name, by the table in `kinds`. [`Outlets`]
//! starts a thread for each sink, [`Samples`] one for measured operations, and [`Delivery`] one
//! that posts points.
#![forbid(unsafe_code)]

mod live;
mod kinds;
mod influx;
mod opening;
mod sample_outlet;
mod outlet;
mod queue;
mod ending;
mod place;
mod sink;

pub use ending::{Ending, OutputStop};
#[cfg(feature = "influx")]
pub use influx::deliver_spool;
pub use influx::{
    Answer, Delivered, Delivery, Feed, InfluxIntervals, InfluxOperations, InfluxRun, Post, Spool,
};
pub use kinds::{
    IntervalLog, IntervalRows, SampleCsv, SampleLines, StepsJson, check_built, check_kind,
    check_places, open, open_all, open_details, open_json, open_notes, open_text,
};
#[cfg(feature = "parquet")]
pub use kinds::{ParquetIntervals, ParquetRun, ParquetSamples};
pub use live::SharedLive;
#[cfg(feature = "ui")]
pub use live::{Screen, ScreenControl, ScreenKeys};
#[cfg(feature = "web")]
pub use live::{WebPages, WebStart, WebView, serve_pages};
pub use opening::{OutputFacts, OutputSubject, no_file};
pub use outlet::{Outlets, StallLimits};
pub use place::{Place, check_distinct};
pub use sample_outlet::{SampleFeed, SampleOutlet, Samples};
pub use sink::{Document, SampleOrigin, Sink};
