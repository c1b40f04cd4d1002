//! A result as a text for other programs: Markdown for a pull request.
//!
//! As in the report, every figure is the record's own.

mod markdown;

pub use markdown::{StepsMarkdown, markdown};
