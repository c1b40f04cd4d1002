//! A search or a scan as JSON, written step by step, because an endless scan cannot keep its steps
//! in memory. The shape is that of [`memtide_record::steps`]; nothing is selected or renamed here.

use crate::{Document, Sink};
use memtide_record::Event;
use memtide_record::steps::{Conclusion, CourseKind, Step, Steps};
use std::io;

/// A sink that writes the JSON of a search or a scan. It writes nothing before the first step, so a
/// search that never began leaves nothing behind.
#[derive(Debug)]
pub struct StepsJson<D> {
    out: Option<D>,
    course: CourseKind,
    goals: Vec<String>,
    steps: u32,
}

impl<D: Document> StepsJson<D> {
    /// A sink that writes the steps of `course`, which are judged by `goals`, to `out`.
    pub const fn new(out: D, course: CourseKind, goals: Vec<String>) -> Self {
        Self { out: Some(out), course, goals, steps: 0 }
    }

    /// Adds a step as one line.
    fn step(&mut self, step: &Step) -> io::Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        match self.steps {
            0 => {
                out.write_all(Steps::json_head(self.course, &self.goals).as_bytes())?;
                out.write_all(b"\n")?;
            }
            _ => out.write_all(b",\n")?,
        }
        self.steps += 1;
        out.write_all(step.to_json().as_bytes())?;
        out.flush()
    }

    /// Writes the conclusion after the steps.
    fn conclude(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        let never_began = self.steps == 0 && conclusion.failure.is_some();
        let Some(mut out) = self.out.take().filter(|_| !never_began) else { return Ok(()) };
        if self.steps == 0 {
            out.write_all(Steps::json_head(self.course, &self.goals).as_bytes())?;
        }
        writeln!(out, "\n],\n\"conclusion\":{}}}", conclusion.to_json())?;
        out.flush()?;
        out.complete()
    }
}

impl<D: Document> Sink for StepsJson<D> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::StepDone(step) => self.step(step),
            Event::StepsDone(conclusion) => self.conclude(conclusion),
            _ => Ok(()),
        }
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::StepDone(_) | Event::StepsDone(_))
    }

    fn has_exit(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
