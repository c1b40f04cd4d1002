//! A record for people: the report on stdout, the rows of a search, the plan, the progress line,
//! and pictures.
//!
//! Pure: values in, text or an image out. No judgement is made here and no figure is computed that
//! could disagree with the record; the caller decides where the text goes. The list below is
//! the reading order; `use` arrows run only down it.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests use files"))]

#[cfg(feature = "ui")]
pub mod screen;
#[cfg(feature = "html")]
mod html;
#[cfg_attr(
    not(any(feature = "html", feature = "ui")),
    allow(dead_code, unused_imports, reason = "the progress line needs little of it")
)]
mod live;
mod compare;
mod files;
mod text;
mod judgement;
mod answer;
mod plan;
mod times;
mod counts;
mod shards;
mod figure;
#[cfg(feature = "plot")]
pub mod chart;
#[cfg(any(feature = "html", feature = "plot"))]
#[cfg_attr(not(feature = "html"), expect(dead_code, reason = "only pages use all of it"))]
mod axis;
mod layout;
mod number;
#[cfg(test)]
#[path = "../tests/fixture/mod.rs"]
mod fixture;

pub use answer::shell_word;
pub use compare::{comparison_markdown, comparison_text, groups_markdown, groups_text};
pub use compare::{pair_line, trial_heading, trial_markdown, trial_text};
pub use compare::{repeat_line, repeats_markdown, repeats_text};
#[cfg(feature = "junit")]
pub use files::{StepsJunit, junit};
pub use files::{StepsMarkdown, hgrm, markdown};
#[cfg(feature = "html")]
pub use html::{StepsPage, comparison_page, index_page, live_page, live_part, page, trial_page};
pub use live::{Live, Suspect};
pub use plan::plan_text;
pub use text::why_failed;
pub use text::{StepsText, TextOptions, facts_text, progress_line, step_progress_line, text_for};
