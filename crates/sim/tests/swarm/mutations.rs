//! A checker that finds nothing proves nothing: each test here corrupts a good run in one way, and
//! a checker must find it.

use crate::batches::by_connection;
use crate::check::{check, is_answered, was_sent};
use crate::harness::Rehearsal;
use crate::whole;
use memtide_base::{Instant, Span};
use memtide_metrics::Histogram;
use memtide_record::{CheckKind, Distribution, Verdict};
use memtide_scenario::Kind;
use memtide_workload::Arrival;
use memtide_world::{OnFull, Pacing, Refill, Sample};

fn open(rehearsal: &Rehearsal) -> bool {
    let long = rehearsal.samples.len() > 50 && rehearsal.record.totals.answered > 50;
    long && matches!(rehearsal.plan.pacing, Pacing::Open { .. })
}

/// The checkers' findings in a good run that `spoil` corrupted.
fn found(spoil: impl FnOnce(&mut Rehearsal)) -> String {
    found_in(open, spoil)
}

/// The checkers' findings in a run that `fits` and that `spoil` corrupted.
fn found_in(fits: fn(&Rehearsal) -> bool, spoil: impl FnOnce(&mut Rehearsal)) -> String {
    let mut rehearsal = whole(fits);
    assert_eq!(check(&rehearsal), Ok(()), "it is good before");
    spoil(&mut rehearsal);
    check(&rehearsal).expect_err("it was spoilt")
}

#[test]
fn an_operation_that_ends_in_no_way_is_found() {
    let said = found(|run| {
        run.record.totals.answered -= 1;
        run.record.phases.measure.totals.answered -= 1;
    });
    assert!(said.contains("were intended but"), "{said}");
}

#[test]
fn an_operation_that_ends_in_another_way_is_found() {
    let said = found(|run| {
        for totals in [&mut run.record.totals, &mut run.record.phases.measure.totals] {
            totals.answered -= 1;
            totals.lost += 1;
        }
    });
    assert!(said.contains("answered: the record says"), "{said}");
}

#[test]
fn an_operation_that_was_never_measured_is_found() {
    let said = found(|run| run.samples.truncate(run.samples.len() - 1));
    assert!(said.contains("intended: the record says"), "{said}");
}

#[test]
fn an_instant_that_moved_is_found() {
    let said = found(|run| {
        let late = &mut run.samples[20];
        late.intended += Span::from_ns(1);
        late.sent = late.sent.max(late.intended);
        late.received = late.received.max(late.sent);
    });
    assert!(said.contains("when none was due"), "{said}");
}

#[test]
fn a_schedule_in_the_wrong_order_is_found() {
    let said = found(|run| {
        // Two neighbours of one connection swap their instants, and wait until both are due.
        let sent = |at: &usize| run.samples[*at].sent != Instant::NEVER;
        let mut places: Vec<usize> = (0..run.samples.len()).filter(sent).collect();
        places.sort_by_key(|&at| (run.samples[at].connection, run.samples[at].sent));
        let pair = places.windows(2).find(|pair| {
            let (a, b) = (run.samples[pair[0]], run.samples[pair[1]]);
            a.connection == b.connection && a.intended < b.intended && a.sent < b.sent
        });
        let (a, b) = pair.map(|pair| (pair[0], pair[1])).expect("one connection sends twice");
        let (first, second) = (run.samples[a].intended, run.samples[b].intended);
        run.samples[a].intended = second;
        run.samples[b].intended = first;
    });
    assert!(said.contains("backwards") || said.contains("was sent before"), "{said}");
}

/// Two operations that were outstanding together, and the next one, sent when both had ended.
fn batch(run: &Rehearsal) -> Option<(Sample, Sample, Sample)> {
    by_connection(run).values().find_map(|sent| {
        let three = sent.windows(3).find(|three| {
            let together = three[1].sent < three[0].received;
            together && three[0].received.max(three[1].received) < three[2].sent
        });
        three.map(|three| (*three[0], *three[1], *three[2]))
    })
}

#[test]
fn a_batch_that_is_not_awaited_is_found() {
    let fits = |run: &Rehearsal| run.plan.refill == Refill::Whole && batch(run).is_some();
    let said = found_in(fits, |run| {
        let (_, second, next) = batch(run).expect("it was looked for");
        let second = run.samples.iter_mut().find(|sample| **sample == second);
        second.expect("it is there").received = next.sent + Span::from_ns(1);
    });
    assert!(said.contains("left of a batch"), "{said}");
}

#[test]
fn a_verdict_of_yes_over_many_errors_is_found() {
    let fits = |run: &Rehearsal| {
        let reasons = &run.record.believable.reasons;
        reasons.iter().any(|reason| reason.code == CheckKind::Errors)
    };
    let said = found_in(fits, |run| run.record.believable.verdict = Verdict::Yes);
    assert!(said.starts_with("it is believed, but"), "{said}");
}

#[test]
fn a_histogram_that_is_off_by_one_bucket_is_found() {
    let said = found(|run| {
        let all = run.record.response.get_mut(&Kind::All).expect("there is always this row");
        let mut moved: Vec<(u64, u64)> = all.times().expect("it can be read").recorded().collect();
        let (middle, count) = moved.pop().expect("something was recorded");
        moved.push((middle + middle / 100 + 1, count));
        let wrong = Distribution::of(
            &Histogram::from_recorded(moved),
            all.unanswered,
            Span::from_ns(all.at_least_ns.unwrap_or(0)),
        );
        all.histogram = wrong.histogram;
    });
    assert!(said.contains("the histogram is"), "{said}");
}

#[test]
fn a_percentile_of_the_wrong_rank_is_found() {
    let said = found(|run| {
        let all = run.record.response.get_mut(&Kind::All).expect("there is always this row");
        all.p50_ns = all.longest_answered().map(|longest| 2 * longest);
    });
    assert!(said.contains("p50 of all"), "{said}");
}

#[test]
fn a_bound_that_is_wrong_is_found() {
    let fits = |run: &Rehearsal| {
        let queues = matches!(run.plan.pacing, Pacing::Open { on_full: OnFull::Queue, .. });
        queues && run.record.totals.dropped_at_end > 1
    };
    let said = found_in(fits, |run| {
        let all = run.record.response.get_mut(&Kind::All).expect("there is always this row");
        all.bounds.as_mut().expect("some were cut off").sum_ns.0 += 1;
    });
    assert!(said.contains("sum of bounds"), "{said}");
}

#[test]
fn a_lag_that_is_left_out_is_found() {
    let said = found(|run| {
        let lag = run.record.lag.get_mut(&Kind::All).expect("there is always this row");
        lag.sum_ns.0 += 1;
    });
    assert!(said.contains("moments of lag of all"), "{said}");
}

#[test]
fn a_row_over_time_that_forgets_an_answer_is_found() {
    let said = found(|run| {
        let row = run.record.intervals.iter_mut().find(|row| row.ops > 0);
        row.expect("something was answered").ops -= 1;
    });
    assert!(said.contains("answers in all rows"), "{said}");
}

#[test]
fn a_server_that_forgets_what_it_was_asked_is_found() {
    let several = |run: &Rehearsal| open(run) && run.record.servers.len() > 1;
    let said = found_in(several, |run| run.record.servers[1].totals.keys_asked = 0);
    assert!(said.contains("keys_asked of all servers"), "{said}");
    let said = found_in(several, |run| run.record.servers[0].totals.connections.opened -= 1);
    assert!(said.contains("opened of all servers"), "{said}");
}

#[test]
fn a_window_that_is_cut_short_is_found() {
    let said = found(|run| run.record.window_ns -= 1);
    assert!(said.contains("length of the window"), "{said}");
    let said = found(|run| drop(run.record.intervals.pop()));
    assert!(said.contains("rows cover"), "{said}");
}

#[test]
fn a_backlog_that_is_too_old_is_found() {
    let said = found_in(
        |run| open(run) && run.samples.iter().all(was_sent) && !run.record.seconds.is_empty(),
        |run| {
            let second = &mut run.record.seconds[0];
            let warmup = run.plan.window.warmup.as_s_f64();
            second.length_s = warmup + run.record.measured_s + 1.0;
            second.under_way.oldest_due_s = Some(1.0 + run.record.measured_s / 2.0);
        },
    );
    assert!(said.contains("an operation had waited for"), "{said}");
}

#[test]
fn a_backlog_of_too_many_is_found() {
    let fits = |run: &Rehearsal| {
        let is_fixed = matches!(run.plan.pacing, Pacing::Open { arrival: Arrival::Fixed, .. });
        let second = run.record.seconds.first();
        let is_counted = second.is_some_and(|second| second.under_way.backlog.is_some());
        open(run) && is_fixed && is_counted && run.samples.iter().all(was_sent)
    };
    let said = found_in(fits, |run| {
        let second = &mut run.record.seconds[0];
        let warmup = run.plan.window.warmup.as_s_f64();
        second.length_s = warmup + run.record.measured_s / 2.0;
        second.under_way.oldest_due_s = Some(0.0);
        second.under_way.backlog = Some(run.record.totals.intended + 100);
    });
    assert!(said.contains("operations are said to wait"), "{said}");
}

/// An operation that counts as answered although its answer came when its time was up.
#[test]
fn an_answer_that_came_too_late_is_found() {
    let said = found(|run| {
        let timeout = run.plan.timeout;
        // The last answer, so that none comes before another that was asked first.
        let answered = run.samples.iter_mut().filter(|sample| is_answered(sample.outcome));
        let last = answered.max_by_key(|sample| sample.received).expect("some were answered");
        last.received = last.intended + timeout;
    });
    assert!(said.contains("answered after"), "{said}");
}
