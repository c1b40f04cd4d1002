//! The silences of a server: the times in which no worker had a reply from it, although operations
//! were in flight.

use memtide_base::{Instant, ServerId, Span};
use memtide_metrics::TallySum;
use memtide_metrics::absence::silence::{ReplyTimes, SILENCE_MIN, SilentStretch};
use memtide_record::{ServerSilence, SilentTime};
use memtide_world::Plan;

/// The silences within `window` of the server that has the numbers for which `is_it` is true.
/// memtide's process was stopped for up to `stopped`, and had replies unread meanwhile.
pub(super) fn silence(
    (totals, plan): (&TallySum, &Plan),
    is_it: impl Fn(usize) -> bool,
    (from, until): (Instant, Instant),
    stopped: Span,
) -> Option<ServerSilence> {
    let within = |silence: &SilentStretch| {
        (silence.from.max(from), silence.until.min(until).max(from.max(silence.from)))
    };
    let kept = totals.silences.kept().iter();
    let kept = kept.filter(|silence| is_it(silence.server.index()));
    let times = common(kept.map(within).collect(), listeners(plan, &is_it));
    let mut replies = ReplyTimes::default();
    let each = totals.silences.servers().iter().enumerate();
    each.filter(|(number, _)| is_it(*number)).for_each(|(_, times)| replies.absorb(times));
    let time = |(silent, heard): &(Instant, Instant)| SilentTime {
        from_ns: silent.since(from).ns(),
        until_ns: heard.since(from).ns(),
    };
    let is_long = |(silent, heard): &&(Instant, Instant)| {
        heard.since(*silent).saturating_sub(stopped) >= SILENCE_MIN
    };
    let times = times.iter().filter(is_long).map(time).collect();
    ServerSilence::of(replies.median().ns(), times)
}

/// Number of workers with connections to a server, counted once for each of its names.
fn listeners(plan: &Plan, is_it: impl Fn(usize) -> bool) -> usize {
    let servers = || (0..plan.servers.len()).filter(|&number| is_it(number));
    let serves = |worker: u16, server: usize| {
        let mut each = (0..plan.connections_of(worker)).map(|nth| plan.server_of(worker, nth));
        each.any(|other| other == ServerId(server as u16))
    };
    let of_worker = |worker| servers().filter(|&server| serves(worker, server)).count();
    plan.own_workers().map(of_worker).sum()
}

/// The times that lie in `count` of the stretches at once.
fn common(stretches: Vec<(Instant, Instant)>, count: usize) -> Vec<(Instant, Instant)> {
    let stretches = stretches.into_iter().filter(|(from, until)| from < until);
    let ends = stretches.flat_map(|(from, until)| [(from, 1), (until, -1)]);
    let mut ends: Vec<(Instant, i64)> = ends.collect();
    // Stretches that touch are of one worker; a reply lies between them.
    ends.sort_unstable();
    let (mut open, mut since, mut times) = (0, Instant::NEVER, Vec::new());
    for (at, change) in ends {
        open += change;
        if open == count as i64 {
            since = at;
        } else if open + 1 == count as i64 && change < 0 {
            times.push((since, at));
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
        let one = [(s(0), s(4)), (s(4), s(5)), (s(8), s(9))];
        assert_eq!(common(one.to_vec(), 1), one);
        let two = [&one[..], &[(s(1), s(2)), (s(3), s(10))]].concat();
        assert_eq!(common(two, 2), [(s(1), s(2)), (s(3), s(4)), (s(4), s(5)), (s(8), s(9))]);
        assert_eq!(common(one.to_vec(), 2), []);
    }
}
