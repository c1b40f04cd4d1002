//! The barriers at which shares begin together: a time of day, their launcher, or a folder.
//!
//! Converts what a barrier reports into instants of the run's clock, and into sentences.

use super::Division;
use crate::exit::Stop;
use memtide_base::units::format_span;
use memtide_base::{Instant, Span};
use memtide_host::Clock;
use memtide_host::barrier::{BarrierError, BarrierStart, BarrierThread};
use memtide_record::ShareStart;
use memtide_run::{Barrier, NotRun};
use memtide_scenario::{BarrierWord, Placement};
use std::path::Path;

/// Times of day further ahead are probably mistakes, such as milliseconds for seconds.
const AHEAD_MAX: Span = Span::from_s(7 * 24 * 3600);
/// Time before the agreed time of day at which the instant is fixed: until then it follows
/// corrections of that clock.
const FIXED_AHEAD: Span = Span::from_s(1);

/// Reason why a share does not begin.
pub(crate) enum Refused {
    /// The user's request is impossible.
    Stop(Stop),
    /// The share must not take part any more.
    NotRun(NotRun),
}

/// The barrier of this share; none if it does not wait. `since_unix` is the present.
pub(crate) fn barrier(
    placement: &Placement,
    division: &Division,
    clock: Clock,
    since_unix: Span,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Option<Box<dyn Barrier>>, Refused> {
    if let Some(start) = placement.start_at {
        let by_time = ByTime { at: start.since_unix };
        by_time.check(since_unix)?;
        return Ok(Some(Box::new(by_time)));
    }
    let timeout = placement.barrier_timeout;
    let (kind, name, thread) = match &placement.barrier {
        None => return Ok(None),
        Some(BarrierWord::Pmi) => {
            let place = launcher(division, variable).map_err(Refused::Stop)?;
            let thread = BarrierThread::at_launcher(place, clock, timeout);
            (ShareStart::Pmi, "--barrier pmi".to_owned(), thread)
        }
        Some(BarrierWord::Folder(path)) => {
            let key = division.key.as_deref();
            let name = key.map_or_else(|| path.clone(), |key| format!("{path}/{key}"));
            let place = (division.share.number, division.share.of);
            let thread = BarrierThread::in_folder((Path::new(path), key), place, clock, timeout);
            (ShareStart::Folder, format!("--barrier dir:{name}"), thread)
        }
    };
    let words = Words { kind, name, timeout };
    match thread {
        Ok(thread) => Ok(Some(Box::new(Agreed { words, clock, thread }))),
        Err(error) => Err(words.refused(&error)),
    }
}

/// The launcher's descriptor, and true if this process chooses the instant.
fn launcher(
    division: &Division,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<(i32, bool), Stop> {
    let [fd, rank, size] = ["PMI_FD", "PMI_RANK", "PMI_SIZE"]
        .map(|name| variable(name).and_then(|word| word.trim().parse::<u32>().ok()));
    let fd = fd.and_then(|fd| i32::try_from(fd).ok());
    let (Some(fd), Some(rank), Some(size)) = (fd, rank, size) else {
        return Err(Stop::usage(
            "--barrier pmi: PMI_FD, PMI_RANK or PMI_SIZE is not set in the environment; start the \
             shares with srun --mpi=pmi2 or mpiexec.hydra, or use --barrier dir:PATH or --start-at",
        ));
    };
    match division.share.of {
        of if of == size => Ok((fd, rank == 0)),
        of => Err(Stop::usage(format!(
            "--barrier pmi: the launcher started {size} processes (PMI_SIZE), but the run has {of} \
             shares; start as many processes as there are shares, or use --shard auto"
        ))),
    }
}

/// A beginning at a time of day.
struct ByTime {
    /// Time since 1970.
    at: Span,
}

impl ByTime {
    fn check(&self, since_unix: Span) -> Result<(), Refused> {
        if self.at <= since_unix {
            return Err(Refused::NotRun(self.late(since_unix)));
        }
        let ahead = self.at.saturating_sub(since_unix);
        if ahead > AHEAD_MAX {
            return Err(Refused::Stop(Stop::usage(format!(
                "--start-at is {} days ahead; give a time within the next 7 days (@SECONDS counts \
                 seconds since 1970, not milliseconds)",
                ahead.ns() / Span::from_s(24 * 3600).ns()
            ))));
        }
        Ok(())
    }

    fn late(&self, since_unix: Span) -> NotRun {
        NotRun(format!(
            "it was ready {} after --start-at; choose a later time",
            format_span(since_unix.saturating_sub(self.at))
        ))
    }
}

impl Barrier for ByTime {
    fn kind(&self) -> ShareStart {
        ShareStart::Time
    }

    fn arrive(&mut self) -> Result<(), NotRun> {
        Ok(())
    }

    fn look(&mut self, now: Instant, since_unix: Span) -> Result<Option<Instant>, NotRun> {
        if self.at <= since_unix {
            return Err(self.late(since_unix));
        }
        let ahead = self.at.saturating_sub(since_unix);
        Ok((ahead <= FIXED_AHEAD).then(|| now + ahead))
    }
}

/// A beginning on which the shares agree.
struct Agreed {
    words: Words,
    clock: Clock,
    thread: BarrierThread,
}

impl Barrier for Agreed {
    fn kind(&self) -> ShareStart {
        self.words.kind
    }

    fn arrive(&mut self) -> Result<(), NotRun> {
        self.thread.arrive();
        Ok(())
    }

    fn look(&mut self, now: Instant, since_unix: Span) -> Result<Option<Instant>, NotRun> {
        let found = self.thread.look().map_err(|error| self.words.not_run(&error))?;
        let Some(BarrierStart { since_unix: at_unix, monotonic_ns }) = found else {
            return Ok(None);
        };
        let late = match monotonic_ns {
            Some(ns) => match self.clock.at_monotonic(ns) {
                Some(at) if at > now => return Ok(Some(at)),
                at => now.since(at.unwrap_or(Instant::ZERO)),
            },
            None if at_unix > since_unix => {
                return Ok(Some(now + at_unix.saturating_sub(since_unix)));
            }
            None => since_unix.saturating_sub(at_unix),
        };
        let late = format_span(late);
        Err(NotRun(format!("it learned of the start {late} late at {}", self.words.name)))
    }
}

/// Names of a barrier in messages.
struct Words {
    kind: ShareStart,
    name: String,
    timeout: Span,
}

impl Words {
    fn not_run(&self, error: &BarrierError) -> NotRun {
        let Self { name, timeout, .. } = self;
        let limit = format_span(*timeout);
        NotRun(match error {
            BarrierError::Late | BarrierError::Silent | BarrierError::Missing { .. } => {
                format!("at {name} {error} (--barrier-timeout {limit})")
            }
            BarrierError::Twice { .. } | BarrierError::Passed => {
                format!("at {name} {error}; give each run a new folder")
            }
            BarrierError::Launcher { .. } => {
                format!("at {name} {error}; name a folder with --barrier dir: instead")
            }
            BarrierError::Folder { .. } => {
                format!("at {name} {error}; name a folder that all shares can write to")
            }
        })
    }

    /// The error of a barrier that could not be opened.
    fn refused(&self, error: &BarrierError) -> Refused {
        match error {
            BarrierError::Folder { .. } => Refused::Stop(Stop::usage(format!(
                "{}: {error}; name a folder that all shares can write to",
                self.name
            ))),
            BarrierError::Launcher { .. } => Refused::Stop(Stop::usage(format!(
                "{}: {error}; use srun --mpi=pmi2 or mpiexec.hydra, or another barrier",
                self.name
            ))),
            _ => Refused::NotRun(self.not_run(error)),
        }
    }
}

#[cfg(test)]
mod tests;
