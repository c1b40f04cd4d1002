//! Silences of servers, as one worker notices them: it looks after a wait whether a reply came
//! since its last look, at most once in a millisecond. An operation costs two stores.

use super::Recorder;
use memtide_base::{Instant, ServerId, Span, Table};
use memtide_metrics::Tally;
use memtide_metrics::absence::silence::{SILENCE_MIN, SilentStretch};
use memtide_world::driver::Driver;
use memtide_world::plan::{Plan, Transport};

/// The shortest time between two looks: a silence begins or ends up to this much earlier or later.
const LOOK_EVERY: Span = Span::from_ms(1);
/// The run-queue time is read this often: a reading costs up to a microsecond.
const KEPT_EVERY: Span = Span::from_ms(20);

/// What one worker knows of its servers' silences.
#[derive(Debug)]
pub(crate) struct SilenceLooks {
    towards: Table<ServerId, Hearing>,
    /// The instant of the last look; never if it does not look.
    looked: Instant,
    /// The run-queue time at an earlier look, and the instant of that.
    kept: (Span, Instant),
}

/// What one worker hears of one server.
#[derive(Clone, Copy, Debug)]
struct Hearing {
    /// The last instant at which bytes came from it.
    heard: Instant,
    /// That instant, as the last look found it.
    known: Instant,
    /// The time that its last reply took.
    time: Span,
    /// The instant since which it is silent, as far as the last look knows; never if it is not.
    since: Instant,
    /// The run-queue time at `since` or before.
    kept: Span,
}

impl SilenceLooks {
    /// The looks of a worker of `plan`. Datagrams may be lost on the way, and what the client holds
    /// between two requests is not in flight: no server is then known to be silent.
    pub(crate) fn new(plan: &Plan) -> Self {
        let hearing = Hearing {
            heard: Instant::ZERO,
            known: Instant::ZERO,
            time: Span::ZERO,
            since: Instant::NEVER,
            kept: Span::ZERO,
        };
        let is_blind = plan.least_transport() != Transport::Stream || plan.holds();
        Self {
            towards: plan.servers.iter().map(|_| hearing).collect(),
            looked: if is_blind { Instant::NEVER } else { Instant::ZERO },
            kept: (Span::ZERO, Instant::ZERO),
        }
    }

    /// Notes that bytes came from `server` at `at`.
    #[inline(always)]
    pub(crate) fn heard(&mut self, server: ServerId, at: Instant) {
        self.towards[server].heard = at;
    }

    /// Notes that a reply of `server` took `time`.
    #[inline(always)]
    pub(super) fn replied(&mut self, server: ServerId, time: Span) {
        self.towards[server].time = time;
    }

    /// True if it is time to look, after a wait that ended at `woken`.
    #[inline(always)]
    pub(crate) fn is_due(&self, woken: Instant) -> bool {
        woken.since(self.looked) >= LOOK_EVERY
    }
}

impl Hearing {
    /// Looks after a wait from `waits_from` whose completions were not taken yet; `kept` is the
    /// run-queue time before it. Returns the silence that has ended: from, until at least, and the
    /// run-queue time at its beginning or before.
    fn look(
        &mut self,
        looked: Instant,
        waits_from: Instant,
        in_flight: u32,
        kept: Span,
    ) -> Option<(Instant, Instant, Span)> {
        let is_heard = std::mem::replace(&mut self.known, self.heard) != self.heard;
        if !is_heard && in_flight > 0 && self.since != Instant::NEVER {
            return None;
        }
        let ended = (self.since, looked, self.kept);
        self.since = if in_flight > 0 { waits_from } else { Instant::NEVER };
        self.kept = kept;
        Some(ended).filter(|(from, until, _)| until.since(*from) >= SILENCE_MIN)
    }
}

impl Recorder {
    /// Looks for servers that are silent, after a wait from `waits_from` until `woken`.
    #[cold]
    pub(crate) fn look_for_silence(
        &mut self,
        driver: &impl Driver,
        waits_from: Instant,
        woken: Instant,
    ) {
        let Self { silences, lateness, tally, .. } = self;
        let looked = std::mem::replace(&mut silences.looked, woken);
        let before = silences.kept.0;
        for server in silences.towards.ids() {
            let hearing = &mut silences.towards[server];
            if hearing.heard != hearing.known && !hearing.time.is_zero() {
                tally.silences.replied(server, hearing.time);
            }
            let in_flight = lateness.in_flight(server);
            let ended = hearing.look(looked, waits_from, in_flight, before);
            if let Some((from, until, kept)) = ended {
                keep(tally, SilentStretch { server, from, until }, kept_since(driver, kept));
            }
        }
        if woken.since(silences.kept.1) >= KEPT_EVERY {
            silences.kept = (driver.kept().unwrap_or(Span::ZERO), woken);
        }
    }

    /// Ends the silences that last at `now`, the end of the run.
    pub(crate) fn end_silences(&mut self, driver: &impl Driver, now: Instant) {
        if self.silences.looked == Instant::NEVER {
            return;
        }
        self.look_for_silence(driver, now, now);
        let Self { silences, tally, .. } = self;
        for server in silences.towards.ids() {
            let hearing = &mut silences.towards[server];
            let since = std::mem::replace(&mut hearing.since, Instant::NEVER);
            if since != Instant::NEVER {
                let silence = SilentStretch { server, from: since, until: now };
                keep(tally, silence, kept_since(driver, hearing.kept));
            }
        }
    }
}

/// For how long the worker has waited for a CPU since its run-queue time was `before`.
fn kept_since(driver: &impl Driver, before: Span) -> Span {
    driver.kept().map_or(Span::ZERO, |now| now.saturating_sub(before))
}

/// Keeps a silence less the time for which the worker waited for a CPU: a reply may have lain
/// unread for as long.
fn keep(tally: &mut Tally, silence: SilentStretch, own: Span) {
    let silence = SilentStretch { until: silence.until - own, ..silence };
    if silence.length() >= SILENCE_MIN {
        tally.silences.push(silence);
    }
}
