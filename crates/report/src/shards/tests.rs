//! The whole report of a merged record, compared with a file.

use crate::fixture;
use crate::fixture::{expect, text};
use memtide_base::Span;
use memtide_merge::{Scenarios, merge};
use memtide_metrics::{Histogram, Row};
use memtide_record::*;
use memtide_scenario::Kind;

/// A run of 4 s that began `skew_us` after the first, with times around a few hundred µs.
fn run(skew_us: u64, busy: f64) -> Record {
    let count = 40_000;
    let mut times = Histogram::<u64>::new();
    (0..count).for_each(|at: u64| times.record(80_000 + at % 997 * 40 + at % 1_009 * skew_us / 9));
    let second = Span::from_s(1);
    let row = Row {
        answered: count / 4,
        response: times.recorded().map(|(ns, count)| (ns, count / 4)).collect(),
        ..Row::default()
    };
    // Quarters of the counts leave remainders; the row counts what is left.
    let row = Row { answered: row.response.values().sum(), ..row };
    let all = Distribution::of(&times, 3, Span::from_s(5));
    let totals = Totals {
        intended: count + 3,
        sent: count + 3,
        answered: count,
        timed_out: 3,
        ..Totals::default()
    };
    let failed = busy >= 0.7;
    let check = Check {
        code: CheckKind::WorkerBusy,
        result: if failed { CheckResult::Failed } else { CheckResult::Passed },
        message: format!("the busiest worker was busy {:.0} % of the time", busy * 100.0),
        measured: Some(busy),
        allowed: Some(0.7),
    };
    let open = fixture::open();
    Record {
        window_start_unix_ns: Some(Wide(1_700_000_000_000_000_000 + u128::from(skew_us) * 1_000)),
        window_ns: 4_000_000_000,
        measured_s: 4.0,
        phases: Phases {
            measure: PhaseCounts { totals: totals.clone(), ..PhaseCounts::default() },
            ..Phases::default()
        },
        totals,
        plan: PlanRecord { rate_per_s: Some(10_000.0), ..open.plan.clone() },
        scenario: [("goal".to_owned(), vec!["all.p99<1ms"].into())].into_iter().collect(),
        servers: Vec::new(),
        believable: Believable::from_checks(vec![check]),
        rate: RateRecord {
            target_per_s: Some(10_000.0),
            achieved_per_s: 10_000.8,
            ..RateRecord::default()
        },
        sent_in_window: [(Kind::Get, count + 3)].into(),
        response: [(Kind::All, all.clone()), (Kind::Get, all)].into(),
        service: [(Kind::All, Distribution::of(&times, 0, Span::ZERO))].into(),
        lag: Default::default(),
        lag_split: LagSplit::default(),
        client_delay: Distribution::default(),
        slices: (0..4).map(|at| SliceRecord::of(&row, second * at, second)).collect(),
        warnings: vec![(&Warning::SampleOverflow { lost: 7 }).into()],
        client: ClientRecord { worker_busy: vec![busy], ..open.client.clone() },
        ..open
    }
}

#[test]
fn a_merged_record_is_reported_as_one() {
    let merged = merge(&[run(0, 0.3), run(1_250, 0.83), run(400, 0.4)], Scenarios::Same).unwrap();
    let text = text(&merged);
    assert!(text.contains("\nruns       3 runs merged; start skew 1.25 ms"), "{text}");
    expect("merged.txt", &text);
}

#[test]
fn runs_one_after_the_other_are_headed_by_the_rate_of_each() {
    // Windows of 4 s, of which the last begin after the first has ended.
    let merged = merge(&[run(0, 0.3), run(5_000_000, 0.3), run(9_500_000, 0.4)], Scenarios::Same);
    let text = text(&merged.unwrap());
    assert!(text.contains("open loop at 10 000/s each, poisson arrivals, 12 s measured"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("3 runs merged; they did not run at the same time"), "{words}");
    assert!(words.contains("rate 10 001/s of 10 000/s, 9 errors (< 0.1 %)"), "{words}");
    assert!(!words.contains("30 0"), "{words}");
}

/// The share of an agent on its own machine.
fn of_agent(number: u32, name: &str, skew_us: u64, busy: f64) -> Record {
    let mut times = Histogram::<u64>::new();
    (0..40_000).for_each(|at: u64| times.record(900 + at % 997));
    let share = ShareRecord {
        units: 1,
        number,
        of: 3,
        scenario_digest: "d".to_owned(),
        start: ShareStart::Agents,
        not_run: None,
        agent: Some(AgentRecord {
            name: name.to_owned(),
            began_late_ns: Some(skew_us * 90),
            ..AgentRecord::default()
        }),
    };
    let clock = ClockRecord {
        window_start_monotonic_ns: Some(Wide(9_000_000_000 + u128::from(skew_us) * 1_000)),
        boot_id: Some(name.to_owned()),
        reference: Some(ReferenceClock {
            ahead_ns: 1_000_000_000_000 - i64::from(number) * 1_100_000_000_000,
            error_max_ns: 35_000 + u64::from(number) * 1_000,
        }),
        ..ClockRecord::default()
    };
    Record {
        lanes: Some(Lanes { first: number * 2, count: 2, total: 6 }),
        share: Some(share),
        clock: Some(clock),
        lag: [(Kind::All, Distribution::of(&times, 0, Span::ZERO))].into(),
        ..run(skew_us, busy)
    }
}

#[test]
fn each_agent_has_a_row() {
    let mut late = of_agent(2, "cache-client-3.example", 0, 0.0);
    let why = "it was ready 1.372 s after the agreed instant".to_owned();
    late.share.as_mut().unwrap().not_run = Some(why);
    late.share.as_mut().unwrap().agent.as_mut().unwrap().began_late_ns = None;
    let late = Record {
        ended_by: EndedBy::NotRun,
        partial: true,
        share: late.share,
        lanes: late.lanes,
        plan: late.plan,
        scenario: late.scenario,
        ..Record::default()
    };
    let (first, second) = (of_agent(0, "alpha", 0, 0.3), of_agent(1, "beta", 1_250, 0.83));
    // By the master's clock the second began 1 100 s before the first; its own clock says the
    // opposite.
    let mut second = second;
    let start = second.clock.as_mut().unwrap().window_start_monotonic_ns.as_mut().unwrap();
    start.0 += 1_100_000_000_000;
    let merged = merge(&[first, second, late], Scenarios::Same).unwrap();
    let text = text(&merged);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let skew = "start skew 1.25 ms (± 71.0 µs)";
    assert!(words.contains(skew), "{words}");
    assert!(words.contains("agent beta (share 1): the busiest worker was busy 83 %"), "{words}");
    expect("agents.txt", &text);
    let narrow = fixture::text_at(&merged, Some(80));
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
}

#[test]
fn a_single_run_has_no_such_line() {
    assert!(!text(&run(0, 0.3)).contains("merged"));
}
