//! Charts: the response times of a run, and those of a search or scan against the rate.

use memtide_base::Rate;
use memtide_record::steps::Step;
use memtide_record::{Distribution, Record};
use memtide_report::chart::{
    Curve, CurveGoal, CurvePoint, curve_png, curve_svg, histogram_png, histogram_svg,
};
use memtide_scenario::{Goal, Kind, Output, Subject};

/// True if a chart is written as PNG, and not as SVG.
pub(super) fn is_png(output: &Output) -> bool {
    output.place.ends_with(".png")
}

/// The chart of a run's response times.
pub(super) fn of_run(record: &Record, is_png: bool) -> Vec<u8> {
    let times = record.response.get(&Kind::All).and_then(Distribution::times);
    let (title, times) = ("response time, all operations", times.unwrap_or_default());
    match is_png {
        true => histogram_png(title, &times),
        false => histogram_svg(title, &times).into_bytes(),
    }
}

/// The chart of a search or a scan without steps, with the first of `goals` that limits a time.
pub(super) fn of_goals(goals: &[Goal]) -> Curve {
    let goal = goals.iter().find(|goal| matches!(goal.subject, Subject::Response { .. }));
    let goal = goal.map(|goal| CurveGoal { words: goal.to_string(), limit_ns: goal.bound as u64 });
    Curve { title: "response time against rate".to_owned(), goal, ..Curve::default() }
}

/// Adds a step to a chart, whose points ascend.
pub(super) fn add(curve: &mut Curve, step: &Step) {
    let point = step.point();
    let Rate { per_s: rate_per_s, unit } = point.achieved;
    curve.unit = unit;
    let at = curve.points.partition_point(|it| it.rate_per_s.total_cmp(&rate_per_s).is_le());
    curve.points.insert(
        at,
        CurvePoint {
            rate_per_s,
            p50_ns: point.response_p50_ns,
            p95_ns: point.response_p95_ns,
            p99_ns: point.response_p99_ns,
        },
    );
}

/// The chart of a search or scan.
pub(super) fn of_steps(curve: &Curve, is_png: bool) -> Vec<u8> {
    match is_png {
        true => curve_png(curve),
        false => curve_svg(curve).into_bytes(),
    }
}
