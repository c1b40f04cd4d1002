//! The slices of a record, from which its intervals follow.

use crate::run_plan::{kinds, merged_slice};
use crate::survey::Survey;
use memtide_base::Span;
use memtide_metrics::slices::to_text;
use memtide_metrics::{Slice, SliceSet, TallySum};
use memtide_record::Slicing;
use memtide_scenario::Kind;
use memtide_world::Plan;

/// The slices of a window of this length.
pub(super) fn slicing(
    totals: &TallySum,
    (plan, survey): (&Plan, &Survey),
    window: Span,
) -> Slicing {
    let (width, sets) = (totals.slices.width(), totals.slices.rows());
    let count = (window.ns().div_ceil(width.ns()) as usize).max(sets.len());
    let channel = |of: &dyn Fn(&SliceSet) -> Slice| {
        let mut slices: Vec<Slice> = sets.iter().map(of).collect();
        slices.resize(count, Slice::default());
        to_text(&slices)
    };
    let kinds = kinds(plan);
    let response = |&kind: &Kind| (kind, channel(&|set| merged_slice(&set.response, kind, plan)));
    let service = |&kind: &Kind| (kind, channel(&|set| merged_slice(&set.service, kind, plan)));
    let has_service = |kind: &&Kind| !matches!(kind, Kind::GetHit | Kind::GetMiss);
    let server = |number: usize| {
        let name = plan.servers[number].name.clone();
        (name, channel(&|set| of_server(&set.servers, number, survey)))
    };
    let is_kept = sets.iter().any(|set| !set.servers.is_empty());
    let servers = (0..plan.servers.len()).filter(|&at| is_kept && survey.first(at) == at);
    Slicing {
        width_ns: width.ns(),
        count: count as u32,
        unusable: None,
        response: kinds.iter().map(response).collect(),
        service: kinds.iter().filter(has_service).map(service).collect(),
        servers: servers.map(server).collect(),
    }
}

/// The slice of server `number`, which may be named more than once.
fn of_server(servers: &[Slice], number: usize, survey: &Survey) -> Slice {
    let mut sum = Slice::default();
    let same = servers.iter().enumerate().filter(|(other, _)| survey.first(*other) == number);
    same.for_each(|(_, part)| sum.absorb(part));
    sum
}
