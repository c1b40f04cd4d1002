//! The silences of a server: the times in which no worker had a reply from it, although operations
//! were in flight.

use memtide_base::{Instant, ServerId, Span};
use memtide_metrics::TallySum;
use memtide_metrics::absence::silence::{ReplyTimes, SILENCE_MIN, SilentStretch};
use memtide_record::{ServerSilence, SilentTime};
use memtide_world::Plan;
use std::ops::Range;

/// The silences within `window` of the server that has the numbers for which `is_it` is true.
/// memtide's process was stopped for up to `stopped`, and had replies unread meanwhile.
pub(super) fn silence(
    totals: &TallySum,
    plan: &Plan,
    is_it: impl Fn(usize) -> bool,
    window: &Range<Instant>,
    stopped: Span,
) -> Option<ServerSilence> {
    let of_workers = totals.silences.kept().iter();
    let of_workers = of_workers.filter(|silence| is_it(silence.server.index()));
    let of_workers = of_workers.map(|silence| within(silence, window)).collect();
    let mut silent = common(of_workers, listeners(plan, &is_it));
    silent.retain(|time| time.end.since(time.start).saturating_sub(stopped) >= SILENCE_MIN);
    let mut replies = ReplyTimes::default();
    let each = totals.silences.servers().iter().enumerate();
    each.filter(|(number, _)| is_it(*number)).for_each(|(_, times)| replies.absorb(times));
    let times = silent.iter().map(|time| SilentTime {
        from_ns: time.start.since(window.start).ns(),
        until_ns: time.end.since(window.start).ns(),
    });
    ServerSilence::of(replies.median().ns(), times.collect())
}

/// The part of a silence that lies in the window; empty if none does.
fn within(silence: &SilentStretch, window: &Range<Instant>) -> Range<Instant> {
    let from = silence.from.max(window.start);
    from..silence.until.min(window.end).max(from)
}

/// Number of workers with connections to a server, counted once for each of its names.
fn listeners(plan: &Plan, is_it: impl Fn(usize) -> bool) -> usize {
    let servers: Vec<ServerId> = (0..plan.servers.len())
        .filter(|&number| is_it(number))
        .map(|it| ServerId(it as u16))
        .collect();
    let of_workers = plan
        .own_workers()
        .map(|worker| servers.iter().filter(|server| connects(plan, worker, **server)).count());
    of_workers.sum()
}

/// True if a worker has a connection to a server.
fn connects(plan: &Plan, worker: u16, server: ServerId) -> bool {
    (0..plan.connections_of(worker)).any(|nth| plan.server_of(worker, nth) == server)
}

/// The times that lie in `count` of the stretches at once.
fn common(stretches: Vec<Range<Instant>>, count: usize) -> Vec<Range<Instant>> {
    let stretches = stretches.into_iter().filter(|stretch| !stretch.is_empty());
    let ends = stretches.flat_map(|stretch| [(stretch.start, 1), (stretch.end, -1)]);
    let mut ends: Vec<(Instant, i64)> = ends.collect();
    // Stretches that touch are of one worker; a reply lies between them.
    ends.sort_unstable();
    let (mut open, mut since, mut times) = (0, Instant::NEVER, Vec::new());
    for (at, change) in ends {
        open += change;
        if open == count as i64 {
            since = at;
        } else if open + 1 == count as i64 && change < 0 {
            times.push(since..at);
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_workers_have_in_common_is_silent() {
        let s = |s| Instant::ZERO + Span::from_s(s);
        let one = [s(0)..s(4), s(4)..s(5), s(8)..s(9)];
        assert_eq!(common(one.to_vec(), 1), one);
        let two = [&one[..], &[s(1)..s(2), s(3)..s(10)]].concat();
        assert_eq!(common(two, 2), [s(1)..s(2), s(3)..s(4), s(4)..s(5), s(8)..s(9)]);
        assert_eq!(common(one.to_vec(), 2), []);
    }
}
