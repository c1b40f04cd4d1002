//! A search or a scan as JSON, written as it goes: an endless scan has no memory for its steps.
//! The shape is that of [`memtide_schema::steps`]; nothing is chosen or renamed here.

use memtide_schema::steps::{Conclusion, CourseKind, Step, Steps};
use std::io::{self, Write};

/// The JSON of a search or a scan in the making. It is whole after [`StepsJson::finish`].
#[derive(Debug)]
pub struct StepsJson<W: Write> {
    out: W,
    any: bool,
}

impl<W: Write> StepsJson<W> {
    /// Writes what comes before the steps. An error is the writer's, here as below.
    pub fn new(mut out: W, course: CourseKind, goals: &[String]) -> io::Result<Self> {
        out.write_all(Steps::json_head(course, goals).as_bytes())?;
        Ok(Self { out, any: false })
    }

    /// Adds a step as a line of its own.
    pub fn step(&mut self, step: &Step) -> io::Result<()> {
        self.out.write_all(if self.any { b",\n" } else { b"\n" })?;
        self.any = true;
        self.out.write_all(step.to_json().as_bytes())?;
        self.out.flush()
    }

    /// Writes what comes after the steps; returns the writer, flushed.
    pub fn finish(mut self, conclusion: &Conclusion) -> io::Result<W> {
        writeln!(self.out, "\n],\n\"conclusion\":{}}}", conclusion.to_json())?;
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtide_schema::Record;
    use memtide_schema::steps::StepRole;

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
            let mut out = Vec::new();
            let goals = ["all.p95<10ms".to_owned()];
            let mut json = StepsJson::new(&mut out, CourseKind::Scan, &goals).unwrap();
            (1..=count).for_each(|number| json.step(&step(number)).unwrap());
            json.finish(&Conclusion::default()).unwrap();
            let text = String::from_utf8(out).unwrap();
            let steps = Steps::from_json(&text).unwrap();
            assert_eq!((steps.steps.len() as u32, steps.goals), (count, goals.to_vec()));
            assert_eq!(steps.conclusion, Conclusion::default());
        }
    }
}
