//! Connection churn: the number of slots, their pipeline depth, and when connections are due.

use memtide_base::Span;
use memtide_record::ChurnPlanRecord;
use memtide_scenario::Scenario;
use memtide_workload::{RateCurve, Wave};
use memtide_world::{ChurnPlan, Pace, Window};

/// Slots per server if connections come at a rate.
const PLACES_PACED: u32 = 1024;
/// Largest pipeline depth of a connection whose calls come at a rate.
const DEPTH_PACED_MAX: u64 = 1024;

/// Number of connections to one server that may be open at once; with a rate of connections, by
/// default [`PLACES_PACED`].
pub(super) fn slots(scenario: &Scenario) -> u32 {
    let most = if scenario.has_connection_rate() { PLACES_PACED } else { 1 };
    let total = scenario.churn.connections_total.unwrap_or(u64::MAX);
    u64::from(most).min(total) as u32
}

/// Pipeline depth of each connection, unless the scenario sets it.
pub(super) fn depth(scenario: &Scenario) -> u32 {
    match scenario.has_call_rate() {
        true => calls(scenario).min(DEPTH_PACED_MAX) as u32,
        false => 1,
    }
}

fn calls(scenario: &Scenario) -> u64 {
    scenario.churn.calls.unwrap_or(1)
}

pub(super) fn plan(scenario: &Scenario, window: Window) -> ChurnPlan {
    let openings = scenario.has_connection_rate().then(|| {
        let rate = scenario.churn.connection_rate.unwrap_or(0.0);
        let Window { warmup, duration, .. } = window;
        let curve = RateCurve::new(&scenario.wave, rate, warmup, duration, scenario.seed);
        let arrival = scenario.churn.connection_arrival;
        Pace { arrival, draws: scenario.churn.gap_draws, curve }
    });
    // A connection may be open at any time, so its calls are independent of the window.
    let call_pace = scenario.churn.call_rate.filter(|rate| *rate > 0.0).map(|rate| {
        let curve = RateCurve::new(&Wave::Constant, rate, Span::ZERO, Span::MAX, scenario.seed);
        Pace { arrival: scenario.arrival, draws: scenario.churn.gap_draws, curve }
    });
    ChurnPlan {
        openings,
        openings_max: scenario.churn.connections_total,
        calls: calls(scenario),
        call_pace,
        linger: scenario.churn.linger,
        on_full: scenario.on_full,
    }
}

pub(super) fn record(scenario: &Scenario) -> Option<ChurnPlanRecord> {
    let paced = scenario.has_connection_rate();
    let constant = paced && scenario.wave == Wave::Constant;
    scenario.is_churn().then(|| ChurnPlanRecord {
        connection_rate_per_s: scenario.churn.connection_rate.filter(|_| constant),
        connection_arrival: paced.then(|| scenario.churn.connection_arrival.to_string()),
        connections_total: scenario.churn.connections_total,
        calls: calls(scenario),
        call_rate_per_s: scenario.churn.call_rate.filter(|rate| *rate > 0.0),
        linger_s: scenario.churn.linger.map(Span::as_s_f64),
    })
}
