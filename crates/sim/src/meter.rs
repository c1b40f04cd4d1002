//! What the kernel of a simulated machine says of a worker's CPU: CPU time and run-queue wait
//! within the measured window. Both follow from the pauses and the work that its world has planted.

use crate::script::Stretch;
use crate::world::{PauseKind, WorkerPause};
use memtide_base::{Instant, Span};
use memtide_world::fleet::{CpuTime, STOP_MIN};
use memtide_world::{Wait, WorkerReport};

/// The kernel's counters of one worker.
#[derive(Debug)]
pub(crate) struct Meter {
    window: Stretch,
    worked: Span,
    waited: Span,
    /// The instant since which the worker has been ready to run.
    ready: Option<Instant>,
}

/// The pauses of `worker`, whose schedules start at `start`, with their causes.
pub(crate) fn pauses_of(
    pauses: &[WorkerPause],
    worker: usize,
    start: Instant,
) -> impl Iterator<Item = (PauseKind, Stretch)> {
    let own = pauses.iter().filter(move |pause| usize::from(pause.worker) == worker);
    own.map(move |pause| {
        let from = start + pause.from;
        (pause.kind, Stretch { from, to: from + pause.length })
    })
}

fn common(a: Stretch, b: Stretch) -> Span {
    a.to.min(b.to).since(a.from.max(b.from))
}

impl Meter {
    pub(crate) fn new() -> Self {
        let window = Stretch { from: Instant::NEVER, to: Instant::NEVER };
        Self { window, worked: Span::ZERO, waited: Span::ZERO, ready: None }
    }

    /// Notes the measured window, which lies in the future.
    pub(crate) fn begin(&mut self, from: Instant, to: Instant) {
        self.window = Stretch { from, to };
    }

    /// Notes that the window ends earlier, at `at`, which lies in the future.
    pub(crate) fn end(&mut self, at: Instant) {
        self.window.to = at;
    }

    /// Notes that the worker is ready to run.
    pub(crate) fn ready(&mut self, now: Instant) {
        self.ready.get_or_insert(now);
    }

    /// Notes that the worker runs again at `now`. Returns the time for which it was ready to run
    /// and other threads had its CPU.
    pub(crate) fn runs(
        &mut self,
        now: Instant,
        pauses: impl Iterator<Item = (PauseKind, Stretch)>,
    ) -> Span {
        let Some(ready) = self.ready.take() else { return Span::ZERO };
        let waits = pauses.filter(|(cause, _)| cause.is_wait());
        let mut kept = Span::ZERO;
        for (_, Stretch { from, to }) in waits {
            let wait = Stretch { from: from.max(ready), to: to.min(now) };
            kept += wait.to.since(wait.from);
            self.waited += common(self.window, wait);
        }
        kept
    }

    /// Notes work from `now` until `until`.
    pub(crate) fn works(&mut self, now: Instant, until: Instant) {
        self.worked += common(self.window, Stretch { from: now, to: until });
    }

    /// Adds the kernel's figures up to `now` to `report`. A worker that spins is always ready to
    /// run; the others are while they have work.
    pub(crate) fn complete(
        &self,
        report: WorkerReport,
        wait: Wait,
        now: Instant,
        pauses: impl Iterator<Item = (PauseKind, Stretch)>,
    ) -> WorkerReport {
        let passed = Stretch { to: self.window.to.min(now), ..self.window };
        let pauses: Vec<(PauseKind, Stretch)> = pauses.collect();
        let stops = pauses.iter().filter(|(cause, _)| !cause.is_wait());
        let stops = stops.map(|(_, pause)| common(passed, *pause)).filter(|stop| *stop >= STOP_MIN);
        let (stopped, stopped_longest) = stops
            .fold((Span::ZERO, Span::ZERO), |(sum, longest), stop| (sum + stop, longest.max(stop)));
        let (mut user, mut run_delay) = (self.worked, self.waited);
        if wait == Wait::Spin {
            (user, run_delay) = (common(passed, passed), Span::ZERO);
            for (cause, pause) in pauses {
                let lost = common(passed, pause);
                user = user.saturating_sub(lost);
                if cause.is_wait() {
                    run_delay += lost;
                }
            }
        }
        let cpu = Some(CpuTime { user, system: Span::ZERO });
        WorkerReport { cpu, run_delay: Some(run_delay), stopped, stopped_longest, ..report }
    }
}
