//! `--plot`: pictures of what came of a run, a search or a scan.

use crate::exit::{Stop, unwritable};
use crate::late::LateFile;
use memtide_report::chart::{
    Curve, CurveGoal, CurvePoint, curve_png, curve_svg, histogram_png, histogram_svg,
};
use memtide_schema::record::{Distribution, Record};
use memtide_schema::scenario::{Goal, Subject};
use memtide_schema::steps::Point;
use memtide_schema::{Kind, Outputs, Scenario};
use std::io::Write;
use std::path::Path;

/// Draws the response times of a run, if `outputs` has a chart.
pub(in crate::cmd) fn run(outputs: &Outputs, record: &Record) -> Result<(), Stop> {
    let Some(path) = &outputs.plot else { return Ok(()) };
    let times = record.response.get(&Kind::All).and_then(Distribution::times).unwrap_or_default();
    let title = "response time, all operations";
    match path.ends_with(".png") {
        true => write(path, &histogram_png(title, &times)),
        false => write(path, histogram_svg(title, &times).as_bytes()),
    }
}

/// Draws the curve of a search or a scan with the first goal about a time, if `outputs` has a
/// chart.
pub(in crate::cmd) fn steps(
    outputs: &Outputs,
    scenario: &Scenario,
    points: &[Point],
) -> Result<(), Stop> {
    let Some(path) = &outputs.plot else { return Ok(()) };
    let mut points: Vec<CurvePoint> = points
        .iter()
        .map(|point| CurvePoint {
            rate_per_s: point.achieved_per_s,
            p50_ns: point.response_p50_ns,
            p95_ns: point.response_p95_ns,
            p99_ns: point.response_p99_ns,
        })
        .collect();
    points.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    let is_time = |goal: &&Goal| matches!(goal.subject, Subject::Response { .. });
    let goal = scenario.goals.iter().find(is_time);
    let goal = goal.map(|goal| CurveGoal { words: goal.to_string(), limit_ns: goal.bound as u64 });
    let curve = Curve { title: "response time over the rate".to_owned(), points, goal };
    match path.ends_with(".png") {
        true => write(path, &curve_png(&curve)),
        false => write(path, curve_svg(&curve).as_bytes()),
    }
}

fn write(path: &str, picture: &[u8]) -> Result<(), Stop> {
    let written = LateFile::open(Path::new(path)).and_then(|mut file| {
        file.write_all(picture)?;
        file.commit()
    });
    written.map_err(|error| unwritable("--plot", &error))
}
