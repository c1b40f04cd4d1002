//! Sinks of outputs that are one text, written when the result is complete; and of unwritable
//! outputs.

use super::super::front::Rows;
use super::super::pending_file::ResultWriter;
use memtide_record::steps::{Conclusion, Step};
use memtide_record::{Event, Record};
#[cfg(feature = "junit")]
use memtide_report::StepsJunit;
#[cfg(feature = "html")]
use memtide_report::StepsPage;
use memtide_report::{StepsMarkdown, markdown};
use memtide_sinks::{Document, Sink};
use std::io::{self, Write};
use std::mem;

/// A text made from a run's record.
pub(super) struct RecordText {
    out: Option<ResultWriter>,
    text: fn(&Record) -> String,
}

impl RecordText {
    /// Writes `text` of the first record to `out`.
    pub(super) const fn new(out: ResultWriter, text: fn(&Record) -> String) -> Self {
        Self { out: Some(out), text }
    }

    /// Writes the record as Markdown.
    pub(super) const fn markdown(out: ResultWriter) -> Self {
        Self::new(out, markdown)
    }
}

impl Sink for RecordText {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let Event::Done(record) = event else { return Ok(()) };
        write(&mut self.out, || (self.text)(record))
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::Done(_))
    }
}

/// A complete text.
pub(super) struct ReadyText {
    out: Option<ResultWriter>,
    text: String,
}

impl ReadyText {
    /// Writes `text` to `out` at the end.
    pub(super) const fn new(out: ResultWriter, text: String) -> Self {
        Self { out: Some(out), text }
    }
}

impl Sink for ReadyText {
    fn on(&mut self, _event: &Event) -> io::Result<()> {
        Ok(())
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |_| false
    }

    fn finish(&mut self) -> io::Result<()> {
        write(&mut self.out, || mem::take(&mut self.text))
    }
}

/// A text about a search or scan, built step by step.
pub(super) trait StepsText: Send {
    /// Adds a step.
    fn step(&mut self, step: &Step);

    /// The whole text.
    fn text(&self, conclusion: &Conclusion) -> String;
}

impl StepsText for StepsMarkdown {
    fn step(&mut self, step: &Step) {
        self.step(step);
    }

    fn text(&self, conclusion: &Conclusion) -> String {
        self.text(conclusion)
    }
}

#[cfg(feature = "html")]
impl StepsText for StepsPage {
    fn step(&mut self, step: &Step) {
        self.step(step);
    }

    fn text(&self, conclusion: &Conclusion) -> String {
        self.text(conclusion)
    }
}

#[cfg(feature = "junit")]
impl StepsText for StepsJunit {
    fn step(&mut self, step: &Step) {
        self.step(step);
    }

    fn text(&self, conclusion: &Conclusion) -> String {
        self.text(conclusion)
    }
}

/// A file with the text of a search or scan. If none began, it is not written.
pub(super) struct StepsFile<P> {
    out: Option<ResultWriter>,
    page: P,
    has_begun: bool,
}

impl<P: StepsText> StepsFile<P> {
    /// Writes `page` to `out` after the last step.
    pub(super) const fn new(out: ResultWriter, page: P) -> Self {
        Self { out: Some(out), page, has_begun: false }
    }
}

impl<P: StepsText> Sink for StepsFile<P> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::StepDone(step) => {
                self.has_begun = true;
                self.page.step(step);
                Ok(())
            }
            Event::StepsDone(conclusion) if self.has_begun || conclusion.failure.is_none() => {
                write(&mut self.out, || self.page.text(conclusion))
            }
            _ => Ok(()),
        }
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::StepDone(_) | Event::StepsDone(_))
    }
}

/// Writes `text` to `out`, once.
fn write(out: &mut Option<ResultWriter>, text: impl FnOnce() -> String) -> io::Result<()> {
    let Some(mut out) = out.take() else { return Ok(()) };
    out.write_all(text().as_bytes())?;
    out.complete()
}

/// An output with an unwritable destination. The run continues without it, and the end reports the
/// error.
pub(super) struct Unwritable(Option<io::Error>);

impl Unwritable {
    pub(super) const fn new(why: io::Error) -> Self {
        Self(Some(why))
    }
}

impl Sink for Unwritable {
    fn on(&mut self, _event: &Event) -> io::Result<()> {
        Ok(())
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |_| false
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.take().map_or(Ok(()), Err)
    }
}

impl Rows for Unwritable {}
