//! From open connections to the beginning of the load: at once, or when all shares of the run are
//! prepared.

use super::{LEAD, stop};
use crate::failure::Failure;
use crate::share::{Barrier, NotRun};
use memtide_base::{Instant, Span};
use memtide_metrics::TallySum;
use memtide_world::fleet::{Command, Fleet, Interval};

/// The interval at which a share that waits for the others looks whether they have come. They agree
/// on a beginning at least 1 s before it.
const MEET_EVERY: Span = Span::from_ms(200);

/// The beginning of a load, or the reason why there is none.
pub(super) struct Begun {
    /// Start of the schedules.
    pub(super) start: Instant,
    /// Instant of the command to stop, if the load never begins.
    pub(super) stopped: Option<Instant>,
    /// Reason why the shares of the run do not begin together, if they do not.
    pub(super) not_run: Option<NotRun>,
}

/// Starts the workers, which `opened` their connections, when the `barrier` allows; at once without
/// one.
pub(super) fn begin<F: Fleet>(
    fleet: &mut F,
    opened: &Interval,
    barrier: Option<&mut dyn Barrier>,
    totals: &mut TallySum,
) -> Result<Begun, Failure> {
    let met = match barrier {
        _ if opened.interrupted => Met::Interrupted,
        Some(barrier) => meet(fleet, barrier, totals)?,
        None => Met::At(fleet.now() + LEAD),
    };
    if let Met::At(start) = met {
        assert!(start >= opened.at, "a load begins after its connections are open");
        fleet.command(start, Command::Begin)?;
        return Ok(Begun { start, stopped: None, not_run: None });
    }
    let mut stopped = None;
    stop(fleet, Span::ZERO, &mut stopped)?;
    let not_run = if let Met::Not(why) = met { Some(why) } else { None };
    Ok(Begun { start: fleet.now() + LEAD, stopped, not_run })
}

/// Result of waiting for the run's other shares.
enum Met {
    /// The load begins at this instant.
    At(Instant),
    /// The user asked to stop.
    Interrupted,
    /// The shares do not begin together.
    Not(NotRun),
}

/// Waits with open connections until the shares of the run agree on a beginning.
fn meet<F: Fleet>(
    fleet: &mut F,
    barrier: &mut dyn Barrier,
    totals: &mut TallySum,
) -> Result<Met, Failure> {
    if let Err(why) = barrier.arrive() {
        return Ok(Met::Not(why));
    }
    loop {
        match barrier.look(fleet.now(), fleet.since_unix()) {
            Err(why) => return Ok(Met::Not(why)),
            Ok(Some(start)) => {
                let late = fleet.now().since(start);
                return Ok(if late.is_zero() { Met::At(start) } else { Met::Not(late_by(late)) });
            }
            Ok(None) => {}
        }
        if fleet.collect(fleet.now() + MEET_EVERY, totals)?.interrupted {
            return Ok(Met::Interrupted);
        }
    }
}

fn late_by(late: Span) -> NotRun {
    NotRun(format!("it was ready {late} after the other shares had begun"))
}
