//! The slices of a record, from which its intervals follow.

use crate::run_plan::{kinds, merged_slice};
use crate::survey::Survey;
use memtide_base::Span;
use memtide_metrics::slices::to_text;
use memtide_metrics::{Slice, TallySum};
use memtide_record::Slicing;
use memtide_scenario::Kind;
use memtide_world::Plan;

/// The slices of a window of this length.
pub(super) fn slicing(totals: &TallySum, plan: &Plan, survey: &Survey, window: Span) -> Slicing {
    let (width, sets) = (totals.slices.width(), totals.slices.rows());
    let count = (window.ns().div_ceil(width.ns()) as usize).max(sets.len());
    let mut slicing = Slicing { width_ns: width.ns(), count: count as u32, ..Slicing::default() };
    for kind in kinds(plan) {
        let response = sets.iter().map(|set| merged_slice(&set.response, kind, plan));
        slicing.response.insert(kind, channel(response, count));
        if !matches!(kind, Kind::GetHit | Kind::GetMiss) {
            let service = sets.iter().map(|set| merged_slice(&set.service, kind, plan));
            slicing.service.insert(kind, channel(service, count));
        }
    }
    let is_kept = sets.iter().any(|set| !set.servers.is_empty());
    for number in (0..plan.servers.len()).filter(|&at| is_kept && survey.first(at) == at) {
        let slices = sets.iter().map(|set| of_server(&set.servers, number, survey));
        slicing.servers.insert(plan.servers[number].name.clone(), channel(slices, count));
    }
    slicing
}

/// The slices as the record keeps them: `count`, of which the last may be empty.
fn channel(slices: impl Iterator<Item = Slice>, count: usize) -> String {
    let mut slices: Vec<Slice> = slices.collect();
    slices.resize(count, Slice::default());
    to_text(&slices)
}

/// The slice of server `number`, which may be named more than once.
fn of_server(servers: &[Slice], number: usize, survey: &Survey) -> Slice {
    let mut sum = Slice::default();
    let same = servers.iter().enumerate().filter(|(other, _)| survey.first(*other) == number);
    same.for_each(|(_, part)| sum.absorb(part));
    sum
}
