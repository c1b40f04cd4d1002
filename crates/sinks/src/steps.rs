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
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtide_record::Record;
    use memtide_record::steps::StepRole;
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    /// A text that is published when it is complete.
    #[derive(Default)]
    struct Page(Vec<u8>, Arc<Mutex<Option<String>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Document for Page {
        fn complete(self) -> io::Result<()> {
            *self.1.lock().unwrap() = Some(String::from_utf8(self.0).unwrap());
            Ok(())
        }

        fn restart(&mut self) -> io::Result<()> {
            self.0.clear();
            Ok(())
        }
    }

    fn told(events: &[Event], goals: &[String]) -> Option<String> {
        let kept = Arc::default();
        let page = Page(Vec::new(), Arc::clone(&kept));
        let mut json = StepsJson::new(page, CourseKind::Scan, goals.to_vec());
        events.iter().for_each(|event| json.on(event).unwrap());
        kept.lock().unwrap().take()
    }

    #[test]
    fn every_number_of_steps_reads_back() {
        let step = |number| Step {
            number,
            role: StepRole::Scan,
            rate_per_s: Some(1e3),
            achieved_per_s: 999.5,
            behind: false,
            goal: None,
            figure_ns: None,
            low_per_s: None,
            high_per_s: None,
            record: Record::default(),
        };
        for count in 0..3 {
            let goals = ["all.p95<10ms".to_owned()];
            let steps = (1..=count).map(|number| Event::StepDone(Box::new(step(number))));
            let events: Vec<Event> =
                steps.chain([Event::StepsDone(Conclusion::default())]).collect();
            let steps = Steps::from_json(&told(&events, &goals).unwrap()).unwrap();
            assert_eq!((steps.steps.len() as u32, steps.goals), (count, goals.to_vec()));
            assert_eq!(steps.conclusion, Conclusion::default());
        }
        let failed = Conclusion { failure: Some("no server".to_owned()), ..Conclusion::default() };
        assert_eq!(told(&[Event::StepsDone(failed)], &[]), None, "it never began");
    }
}
