//! A result for other programs: Markdown for a pull request, JUnit for continuous integration,
//! percentiles for the HDR tools.
//!
//! As in the report, every figure is the record's own.

mod hgrm;
#[cfg(feature = "junit")]
mod junit;
mod markdown;

pub use hgrm::hgrm;
#[cfg(feature = "junit")]
pub use junit::{StepsJunit, junit};
pub use markdown::{StepsMarkdown, markdown};
pub(crate) use markdown::{escaped, table};
