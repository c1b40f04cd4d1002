//! Closes the measured window of a running load as soon as its figures are narrow, at one instant
//! for all workers, and for all shares.
//!
//! To stop at the first narrow interval prefers runs that underestimate theirs. Few looks, each at
//! a window that is a quarter longer at least, keep that small.

use super::Ended;
use crate::failure::{Failure, Fault};
use crate::share::Barrier;
use memtide_base::{Instant, Span};
use memtide_metrics::TallySum;
use memtide_record::Record;
use memtide_world::Plan;
use memtide_world::fleet::{Fleet, Interval};

/// The length of the window at the first look; half of the longest one, if that is less.
const FIRST: Span = Span::from_s(5);
/// By how much longer than at a look the window is at the next one, at least.
const LONGER_MIN: f64 = 1.25;
/// By how much longer at most: the first estimates are rough.
const LONGER_MAX: f64 = 2.0;
/// Time from the decision to close the window until it closes, as for its opening.
const LEAD: Span = Span::from_ms(150);
/// That time for the windows of shares.
const SHARED_LEAD: Span = Span::from_ms(750);

/// Makes the record so far.
type SoFar<'a> = &'a mut dyn FnMut(&Plan, &Ended) -> Record;

/// Looks whether figures are narrow.
pub(crate) struct Closing<'a> {
    so_far: SoFar<'a>,
    looks: Looks,
    /// See [`Ended::narrow`].
    pub(super) ended: Option<Option<Span>>,
}

impl<'a> Closing<'a> {
    /// What looks for the end of `plan`'s window; none if its length is fixed.
    pub(crate) fn new(plan: &Plan, so_far: SoFar<'a>) -> Option<Self> {
        let looks = Looks::new(plan.window.duration);
        plan.window.closed_by_command.then_some(Self { so_far, looks, ended: None })
    }

    /// The instant at which the window is to close, if that is decided now, in a load of which
    /// `totals` are known: by the shares of the run together at their `barrier`, else here. The
    /// clock of the `fleet` is read again once the figures so far were computed.
    ///
    /// # Errors
    /// If the shares' decision came after its instant: operations after it were already counted.
    pub(super) fn look(
        &mut self,
        fleet: &impl Fleet,
        plan: &Plan,
        start: Instant,
        interval: &Interval,
        totals: &mut TallySum,
        barrier: Option<&mut dyn Barrier>,
    ) -> Result<Option<Instant>, Failure> {
        let now = interval.at;
        let (open, end) = (plan.window.measure_start(start), plan.window.measure_end(start));
        if matches!(self.ended, Some(Some(_))) || now < open {
            return Ok(None);
        }
        let so_far = &mut self.so_far;
        let mut record = || record_so_far(plan, start, interval, totals, &mut **so_far);
        let passed = now.since(open);
        let at = match barrier {
            Some(barrier) => barrier.closes(open, passed, &mut record),
            None if now >= end || passed < self.looks.next => None,
            None => self.looks.are_narrow(&record(), passed).then(|| fleet.now() + LEAD),
        };
        let Some(at) = at else {
            self.ended = (now >= end).then_some(None);
            return Ok(None);
        };
        if at <= now || self.ended.is_some() {
            return Err(Fault::WindowLate { late: now.since(at) }.into());
        }
        self.ended = Some(Some(at.min(end).since(open)));
        Ok((at < end).then_some(at))
    }
}

/// The record of a load so far, of which `totals` are known.
fn record_so_far(
    plan: &Plan,
    start: Instant,
    interval: &Interval,
    totals: &mut TallySum,
    so_far: SoFar<'_>,
) -> Record {
    let nothing = TallySum::new(&plan.shape());
    let ended = Ended {
        totals: std::mem::replace(totals, nothing),
        workers: interval.workers.clone(),
        start,
        stopped: interval.at,
        is_used_up: false,
        interrupted: false,
        loss: None,
        aborted: None,
        not_run: None,
        warmup: None,
        narrow: None,
    };
    let record = so_far(plan, &ended);
    *totals = ended.totals;
    record
}

/// When the figures are looked at.
#[derive(Clone, Copy, Debug)]
struct Looks {
    /// The length of the window at the next look.
    next: Span,
}

impl Looks {
    /// The looks at a window of this length at most.
    fn new(longest: Span) -> Self {
        Self { next: FIRST.min(Span::from_ns(longest.ns() / 2)) }
    }

    /// True if the figures of `record`, whose window is open for as long as `passed`, are as narrow
    /// as asked. If not, decides when to look again.
    fn are_narrow(&mut self, record: &Record, passed: Span) -> bool {
        let wider = record.widths().map(|(_, width)| width).fold(0.0, f64::max);
        // The width falls with the root of the length.
        let longer = (wider * wider).clamp(LONGER_MIN, LONGER_MAX);
        self.next = Span::from_s_f64(passed.as_s_f64() * longer);
        wider <= 1.0
    }
}

/// The window of all shares of a run, and the instant at which they close it together. The process
/// that directs them decides it from the record that each makes at its [`Barrier::closes`], merged.
#[derive(Clone, Copy, Debug)]
pub struct SharedClosing {
    looks: Looks,
    longest: Span,
    ended: bool,
}

impl SharedClosing {
    /// A window that closes after `longest` at the latest.
    pub fn new(longest: Span) -> Self {
        Self { looks: Looks::new(longest), longest, ended: false }
    }

    /// True if it is time to ask the shares for their records so far, when their window has been
    /// open for as long as `passed`.
    pub fn is_due(&self, passed: Span) -> bool {
        !self.ended && passed >= self.looks.next && passed + SHARED_LEAD < self.longest
    }

    /// The length of the window, if its end is decided by the shares' merged `record`: none if it
    /// is not narrow enough, or if there is none. `passed` is the present length.
    pub fn look(&mut self, record: Option<&Record>, passed: Span) -> Option<Span> {
        let nothing = Record::default();
        let is_narrow = self.looks.are_narrow(record.unwrap_or(&nothing), passed);
        let length = passed + SHARED_LEAD;
        self.ended = is_narrow && record.is_some();
        (self.ended && length < self.longest).then_some(length)
    }
}
