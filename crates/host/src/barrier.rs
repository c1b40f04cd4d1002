//! A barrier at which the processes of one run wait for each other and agree on an instant to
//! begin.
//!
//! Launchers and shared folders may answer late or never, so a separate thread talks to them, and
//! the caller only reads the thread's result. It knows nothing of load.

mod folder;
mod pmi;

use crate::clock::{self, Clock};
use folder::Folder;
use memtide_base::{Instant, Span};
use pmi::Pmi;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;
use std::{fmt, thread};

/// The time beyond the limit in which the thread may still answer, so that it can name the missing
/// processes.
const GRACE: Span = Span::from_s(1);
/// The longest time that the end of a wait may spend on telling the other processes.
const FAREWELL: Duration = Duration::from_millis(200);
/// The most numbers of processes that an error lists.
const LISTED_MAX: usize = 16;

/// Why processes cannot begin together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BarrierError {
    /// The wait took longer than its limit, and it is unknown which processes are missing.
    Late,
    /// The folder or the launcher did not answer within the limit.
    Silent,
    /// The launcher cannot be spoken with, or its reply is not PMI-1's.
    Launcher {
        /// The system's message, or the reply.
        why: String,
    },
    /// These processes did not come, or went away again.
    Missing {
        /// Their numbers, ascending.
        ranks: Vec<u32>,
    },
    /// A process of this number was at this barrier before.
    Twice {
        /// The process's number.
        rank: u32,
    },
    /// The barrier has been passed already.
    Passed,
    /// The folder cannot be used.
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// The system's message.
        why: String,
    },
}

impl fmt::Display for BarrierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late => f.write_str("the other shares did not arrive in time"),
            Self::Silent => f.write_str("the folder or the launcher did not answer in time"),
            Self::Launcher { why } => write!(f, "the launcher cannot be reached over PMI: {why}"),
            Self::Missing { ranks } => f.write_str(&missing(ranks)),
            Self::Twice { rank } => {
                write!(f, "share {rank} was already here, so this is a restart or an old folder")
            }
            Self::Passed => f.write_str("the run has begun without this share"),
            Self::Folder { path, why } => write!(f, "'{}' cannot be used: {why}", path.display()),
        }
    }
}

impl std::error::Error for BarrierError {}

impl BarrierError {
    /// The error of a launcher that `said` what is not PMI-1.
    fn spoke(said: &str) -> Self {
        let said: String = said.chars().take(80).collect();
        Self::Launcher { why: format!("it answered '{said}', which is not PMI-1") }
    }
}

fn missing(ranks: &[u32]) -> String {
    let listed: Vec<String> = ranks.iter().take(LISTED_MAX).map(u32::to_string).collect();
    let rest = match ranks.len() - listed.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let noun = if ranks.len() == 1 { "share" } else { "shares" };
    format!("{noun} {}{rest} did not arrive in time, or went away", listed.join(", "))
}

/// The instant at which all processes begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BarrierStart {
    /// The instant by the time of day, since 1970.
    pub since_unix: Span,
    /// The instant by the kernel's monotonic clock in nanoseconds, if this process shares that
    /// clock with the process that chose the instant; then errors of the time of day do not matter.
    pub monotonic_ns: Option<u64>,
}

impl BarrierStart {
    /// The instant `lead` from now, encoded in words for the other processes.
    fn in_words(lead: Span) -> String {
        let clock::ClockState { boot_id, time_namespace, .. } = clock::state();
        let since_unix = clock::since_unix() + lead;
        let monotonic_ns = clock::monotonic_ns() + lead.ns();
        let boot = boot_id.unwrap_or_default();
        let namespace = time_namespace.map(|number| number.to_string()).unwrap_or_default();
        format!("{}:{monotonic_ns}:{boot}:{namespace}", since_unix.ns())
    }

    /// Decodes `words` for this process.
    fn of_words(words: &str) -> Result<Self, BarrierError> {
        let wrong = || BarrierError::spoke(words);
        let parts: Vec<&str> = words.trim().split(':').collect();
        let [since_unix, monotonic_ns, boot, namespace] = parts[..] else { return Err(wrong()) };
        let since_unix = since_unix.parse().map(Span::from_ns).map_err(|_| wrong())?;
        let monotonic_ns: u64 = monotonic_ns.parse().map_err(|_| wrong())?;
        let clock::ClockState { boot_id, time_namespace, .. } = clock::state();
        let ours = time_namespace.map(|number| number.to_string()).unwrap_or_default();
        let is_shared = !boot.is_empty() && boot_id.as_deref() == Some(boot) && ours == namespace;
        Ok(Self { since_unix, monotonic_ns: is_shared.then_some(monotonic_ns) })
    }
}

/// The place of a process at a barrier. Its calls may block for any time.
trait Place: Sized {
    /// Tells the others that this process is ready, and waits for them.
    fn meet(self, until: &Limit) -> Result<BarrierStart, BarrierError>;

    /// Leaves without waiting.
    fn leave(self);
}

/// The limit of a wait.
struct Limit {
    clock: Clock,
    deadline: Instant,
    abandoned: Arc<AtomicBool>,
}

impl Limit {
    fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        self.clock.now() >= self.deadline
    }
}

/// The thread that waits for the other processes of a run.
#[derive(Debug)]
pub struct BarrierThread {
    clock: Clock,
    timeout: Span,
    /// Starts the thread's wait, which ends at the sent instant; `None` once sent.
    go: Option<SyncSender<Instant>>,
    found: Receiver<Result<BarrierStart, BarrierError>>,
    abandoned: Arc<AtomicBool>,
    /// The instant at which the caller gives the thread up; `None` before it waits.
    given_up_at: Option<Instant>,
}

impl BarrierThread {
    /// A barrier at the launcher that serves PMI-1 on the descriptor `fd`, which this process
    /// inherited. With `is_first`, this process chooses the instant. No wait takes longer than
    /// `timeout`.
    ///
    /// # Errors
    /// If the launcher does not answer, or not in PMI-1.
    pub fn at_launcher(
        (fd, is_first): (i32, bool),
        clock: Clock,
        timeout: Span,
    ) -> Result<Self, BarrierError> {
        let stream = pmi::inherited(fd)?;
        let join = move || Pmi::join(stream).map(|pmi: Pmi<File>| pmi::Seat { pmi, is_first });
        Self::begin(join, clock, timeout)
    }

    /// A barrier for process `rank` of `size` in the folder `path`, or in the folder `key` in it.
    /// All processes share it, and it is made if it is missing. No wait takes longer than
    /// `timeout`.
    ///
    /// # Errors
    /// If the folder cannot be used or does not answer, or this process was there before, or the
    /// others have begun.
    pub fn in_folder(
        (path, key): (&Path, Option<&str>),
        (rank, size): (u32, u32),
        clock: Clock,
        timeout: Span,
    ) -> Result<Self, BarrierError> {
        let (path, key) = (path.to_owned(), key.unwrap_or_default().to_owned());
        Self::begin(move || Folder::open(&path, &key, (rank, size)), clock, timeout)
    }

    fn begin<P: Place>(
        open: impl FnOnce() -> Result<P, BarrierError> + Send + 'static,
        clock: Clock,
        timeout: Span,
    ) -> Result<Self, BarrierError> {
        let (go, told) = sync_channel::<Instant>(1);
        let (opened, is_open) = sync_channel(1);
        let (finder, found) = sync_channel(1);
        let abandoned = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&abandoned);
        let spawned = thread::Builder::new().name("barrier".to_owned()).spawn(move || {
            let place = match open() {
                Ok(place) => place,
                // The caller may have given up already; then the error is dropped.
                Err(error) => return drop(opened.send(Err(error))),
            };
            if opened.send(Ok(())).is_err() {
                return place.leave();
            }
            match told.recv() {
                Ok(deadline) => {
                    let limit = Limit { clock, deadline, abandoned: shared };
                    drop(finder.send(place.meet(&limit)));
                }
                Err(_) => place.leave(),
            }
        });
        spawned.map_err(|error| BarrierError::Launcher { why: error.to_string() })?;
        match is_open.recv_timeout(Duration::from_nanos(timeout.ns())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(BarrierError::Silent),
        }
        Ok(Self { clock, timeout, go: Some(go), found, abandoned, given_up_at: None })
    }

    /// Tells the other processes that this one is ready. Must be called once.
    pub fn arrive(&mut self) {
        let now = self.clock.now();
        if let Some(go) = self.go.take() {
            // If the thread has ended, the next look finds that out.
            let _ = go.try_send(now + self.timeout);
        }
        self.given_up_at = Some(now + self.timeout + GRACE);
    }

    /// The instant at which all begin; `None` until it is agreed.
    ///
    /// # Errors
    /// If the other processes did not come in time, or cannot be waited for.
    pub fn look(&mut self) -> Result<Option<BarrierStart>, BarrierError> {
        match self.found.try_recv() {
            Ok(found) => found.map(Some),
            Err(TryRecvError::Disconnected) => Err(BarrierError::Late),
            Err(TryRecvError::Empty) => {
                let is_over = self.given_up_at.is_some_and(|at| self.clock.now() >= at);
                if is_over { Err(BarrierError::Late) } else { Ok(None) }
            }
        }
    }
}

impl Drop for BarrierThread {
    /// Lets the thread tell the other processes that this one is gone. A thread that is stuck lasts
    /// until the process ends.
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Relaxed);
        self.go = None;
        drop(self.found.recv_timeout(FAREWELL));
    }
}

#[cfg(test)]
mod tests;
