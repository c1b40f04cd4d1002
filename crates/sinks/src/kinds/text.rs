//! Outputs that are one text or picture, written when the result is there. The crates `schema` and
//! `report` make the texts; nothing is selected or renamed here.

use crate::{Document, Sink};
use memtide_record::steps::{Conclusion, Step};
use memtide_record::{Event, Record, WrongValues};
use std::io;

/// A text made from a single event, such as a run's record.
pub(super) struct EventText<D> {
    out: Option<D>,
    text: TextOf,
    has_exit: bool,
}

/// The text that an event calls for, if it does.
type TextOf = Box<dyn Fn(&Event) -> Option<Vec<u8>> + Send>;

impl<D: Document> EventText<D> {
    /// Writes `text` of the first record to `out`.
    pub(super) fn of_record(out: D, text: impl Fn(&Record) -> Vec<u8> + Send + 'static) -> Self {
        Self::new(out, move |event| match event {
            Event::Done(record) => Some(text(record)),
            _ => None,
        })
    }

    /// This sink, whose text contains the exit code.
    pub(super) fn with_exit(self) -> Self {
        Self { has_exit: true, ..self }
    }

    /// Writes the wrong values of a run to `out`, a line each; nothing if there were none.
    pub(super) fn of_details(out: D) -> Self {
        Self::new(out, |event| match event {
            Event::WrongValues(found) => Some(details(found).into_bytes()),
            _ => None,
        })
    }

    fn new(out: D, text: impl Fn(&Event) -> Option<Vec<u8>> + Send + 'static) -> Self {
        Self { out: Some(out), text: Box::new(text), has_exit: false }
    }
}

impl<D: Document> Sink for EventText<D> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        match (self.text)(event) {
            Some(text) => write(&mut self.out, &text),
            None => Ok(()),
        }
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::Done(_) | Event::WrongValues(_))
    }

    fn has_exit(&self) -> bool {
        self.has_exit
    }
}

/// A line of JSON for each listed wrong value, then one with the number of further ones, if any.
fn details(found: &WrongValues) -> String {
    let mut text: String = found.listed.iter().map(|wrong| wrong.to_json() + "\n").collect();
    if found.not_listed > 0 {
        text += &format!("{{\"not_listed\":{}}}\n", found.not_listed);
    }
    text
}

/// A complete text.
pub(super) struct ReadyText<D> {
    out: Option<D>,
    text: String,
}

impl<D: Document> ReadyText<D> {
    /// Writes `text` to `out` at the end.
    pub(super) fn new(out: D, text: &str) -> Self {
        Self { out: Some(out), text: text.to_owned() }
    }
}

impl<D: Document> Sink for ReadyText<D> {
    fn on(&mut self, _event: &Event) -> io::Result<()> {
        Ok(())
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |_| false
    }

    fn finish(&mut self) -> io::Result<()> {
        write(&mut self.out, self.text.as_bytes())
    }
}

/// A text or picture of a search or scan, made of all steps. If none began, it is not written.
pub(super) struct StepsText<D, P> {
    out: Option<D>,
    page: P,
    step: fn(&mut P, &Step),
    text: fn(&P, &Conclusion) -> Vec<u8>,
    has_begun: bool,
    has_exit: bool,
}

impl<D: Document, P> StepsText<D, P> {
    /// Adds each step to `page`, and writes its text after the last one.
    pub(super) const fn new(
        out: D,
        page: P,
        step: fn(&mut P, &Step),
        text: fn(&P, &Conclusion) -> Vec<u8>,
    ) -> Self {
        Self { out: Some(out), page, step, text, has_begun: false, has_exit: false }
    }

    /// This sink, whose text depends on the exit code.
    #[cfg(feature = "junit")]
    pub(super) fn with_exit(self) -> Self {
        Self { has_exit: true, ..self }
    }
}

impl<D: Document, P: Send> Sink for StepsText<D, P> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::StepDone(step) => {
                self.has_begun = true;
                (self.step)(&mut self.page, step);
                Ok(())
            }
            Event::StepsDone(conclusion) if self.has_begun || conclusion.failure.is_none() => {
                write(&mut self.out, &(self.text)(&self.page, conclusion))
            }
            _ => Ok(()),
        }
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::StepDone(_) | Event::StepsDone(_))
    }

    fn has_exit(&self) -> bool {
        self.has_exit
    }
}

/// The text of notes, as it comes.
pub(super) struct Notes<W>(pub(super) W);

impl<W: io::Write + Send> Sink for Notes<W> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let Event::Note(text) = event else { return Ok(()) };
        self.0.write_all(text.as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes `text` to `out`, once.
fn write(out: &mut Option<impl Document>, text: &[u8]) -> io::Result<()> {
    let Some(mut out) = out.take() else { return Ok(()) };
    out.write_all(text)?;
    out.flush()?;
    out.complete()
}

#[cfg(test)]
mod tests;
