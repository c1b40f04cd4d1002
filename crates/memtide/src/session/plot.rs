//! `--plot`: charts of the result of a run, a search or a scan.

use super::pending_file::ResultWriter;
use memtide_record::Distribution;
use memtide_record::Event;
use memtide_report::chart::{
    Curve, CurveGoal, CurvePoint, curve_png, curve_svg, histogram_png, histogram_svg,
};
use memtide_scenario::Kind;
use memtide_scenario::{Goal, Subject};
use memtide_sinks::{Document, Sink};
use std::io::{self, Write};

/// A chart of a run's response times, drawn at its end.
pub(crate) struct RunChart {
    out: Option<ResultWriter>,
    is_png: bool,
}

impl RunChart {
    /// A chart written to `out`, as PNG or as SVG.
    pub(crate) const fn new(out: ResultWriter, is_png: bool) -> Self {
        Self { out: Some(out), is_png }
    }
}

impl Sink for RunChart {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let Event::Done(record) = event else { return Ok(()) };
        let times = record.response.get(&Kind::All).and_then(Distribution::times);
        let (title, times) = ("response time, all operations", times.unwrap_or_default());
        write(&mut self.out, || match self.is_png {
            true => histogram_png(title, &times),
            false => histogram_svg(title, &times).into_bytes(),
        })
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::Done(_))
    }
}

/// A chart of a search or a scan, drawn at its end.
pub(crate) struct CurveChart {
    out: Option<ResultWriter>,
    is_png: bool,
    goal: Option<CurveGoal>,
    points: Vec<CurvePoint>,
}

impl CurveChart {
    /// A chart with the first of `goals` that limits a time; written to `out`, as PNG or as SVG.
    pub(crate) fn new(out: ResultWriter, is_png: bool, goals: &[Goal]) -> Self {
        let is_time = |goal: &&Goal| matches!(goal.subject, Subject::Response { .. });
        let goal = goals.iter().find(is_time);
        let goal =
            goal.map(|goal| CurveGoal { words: goal.to_string(), limit_ns: goal.bound as u64 });
        Self { out: Some(out), is_png, goal, points: Vec::new() }
    }

    fn draw(&mut self) -> io::Result<()> {
        let mut points = std::mem::take(&mut self.points);
        points.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
        let title = "response time against rate".to_owned();
        let curve = Curve { title, points, goal: self.goal.take() };
        write(&mut self.out, || match self.is_png {
            true => curve_png(&curve),
            false => curve_svg(&curve).into_bytes(),
        })
    }
}

impl Sink for CurveChart {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::StepDone(step) => {
                let point = step.point();
                self.points.push(CurvePoint {
                    rate_per_s: point.achieved_per_s,
                    p50_ns: point.response_p50_ns,
                    p95_ns: point.response_p95_ns,
                    p99_ns: point.response_p99_ns,
                });
                Ok(())
            }
            Event::StepsDone(_) => self.draw(),
            _ => Ok(()),
        }
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::StepDone(_) | Event::StepsDone(_))
    }
}

/// Writes the picture to `out`, once.
fn write(out: &mut Option<ResultWriter>, picture: impl FnOnce() -> Vec<u8>) -> io::Result<()> {
    let Some(mut out) = out.take() else { return Ok(()) };
    out.write_all(&picture())?;
    out.complete()
}
