//! Points on their way to a database: batches by size and time, posted by a thread of its own,
//! tried again while the database is busy or away, kept on disk where that is allowed, and counted
//! where they did not get there. Who makes points never waits.

use super::queue::{Batch, Queue};
use super::spool::Spool;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Points of one batch at most, and their bytes.
const POINTS_MAX: u64 = 5_000;
const BYTES_MAX: usize = 1 << 20;
/// How long a point waits for its batch to fill.
const AGE_MAX: Duration = Duration::from_secs(1);
/// How long one try may take.
const TRY_MAX: Duration = Duration::from_secs(10);
/// The pauses between tries.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// How long the end waits for what is not posted yet.
const DRAIN: Duration = Duration::from_secs(10);

/// What a database answers to a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All of it is written.
    Taken,
    /// Later, perhaps: it is busy (429) or has trouble of its own (5xx).
    Busy {
        /// What it said, with its status.
        said: String,
        /// How long it asks to wait.
        after: Option<Duration>,
    },
    /// It cannot be reached, or has not answered.
    Unreachable(String),
    /// The batch is longer than it takes (413).
    TooLong(String),
    /// It takes none of these lines, now or ever (400, 422).
    Unfit(String),
    /// It takes nothing from this user, or at this place (401, 403, 404 and others).
    Refused(String),
}

/// How a batch is posted.
pub trait Post: Send {
    /// Posts lines that are compressed with gzip, within `limit`.
    fn post(&mut self, zipped: &[u8], limit: Duration) -> Answer;
}

/// What became of all points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Written to the database.
    pub written: u64,
    /// Kept in the spool.
    pub kept: u64,
    /// Which the database does not take.
    pub unfit: u64,
    /// Which are nowhere.
    pub lost: u64,
    /// What the database said last against it, or why it could not be reached.
    pub why: Option<String>,
    /// Why the spool did not take them, if it should have.
    pub spool: Option<String>,
}

impl Delivered {
    /// True if all were written.
    pub const fn is_whole(&self) -> bool {
        self.kept == 0 && self.unfit == 0 && self.lost == 0
    }
}

/// Points on their way.
#[derive(Debug)]
pub struct Delivery {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    queue: Queue,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    spool: Option<Spool>,
    so_far: Delivered,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a batch that cannot be posted now, or counts it as lost.
    fn put_aside(&self, batch: &Batch) {
        let has_spool = self.state().spool.is_some();
        let zipped = if has_spool { zipped(&batch.lines) } else { Vec::new() };
        let mut state = self.state();
        let State { spool, so_far } = &mut *state;
        match spool.as_mut().is_some_and(|spool| spool.keep(&zipped, batch.points)) {
            true => so_far.kept += batch.points,
            false => so_far.lost += batch.points,
        }
    }
}

impl Delivery {
    /// Begins to post by `post`; what cannot be posted goes to `spool`.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(post: Box<dyn Post>, spool: Option<Spool>) -> io::Result<Self> {
        let state = Mutex::new(State { spool, so_far: Delivered::default() });
        let shared = Arc::new(Shared { queue: Queue::default(), state });
        let poster = Poster { post, shared: Arc::clone(&shared), refused: false };
        let thread = thread::Builder::new().name("influx".to_owned());
        let thread = Some(thread.spawn(move || poster.work())?);
        Ok(Self { shared, thread })
    }

    /// A way in for points.
    pub fn feed(&self) -> Feed {
        Feed { shared: Arc::clone(&self.shared), batch: Batch::default(), began: Instant::now() }
    }

    /// Waits a bounded time for what is not posted yet, puts the rest aside, and tells what became
    /// of all points. Those that a [`Feed`] still holds are not among them: flush it first.
    pub fn close(&mut self) -> Delivered {
        self.shared.queue.close(Instant::now() + DRAIN);
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked has said so; its batch is missing in the counts.
            drop(thread.join());
        }
        let state = self.shared.state();
        let spool = state.spool.as_ref().and_then(|spool| spool.trouble.clone());
        Delivered { spool, ..state.so_far.clone() }
    }
}

/// A way in for points, of one thread.
#[derive(Debug)]
pub struct Feed {
    shared: Arc<Shared>,
    batch: Batch,
    began: Instant,
}

impl Feed {
    /// The text of the batch that is being filled; write one whole line, and call
    /// [`Feed::added`].
    pub fn lines(&mut self) -> &mut Vec<u8> {
        if self.batch.lines.is_empty() {
            self.began = Instant::now();
        }
        &mut self.batch.lines
    }

    /// A line was added.
    pub fn added(&mut self) {
        self.batch.points += 1;
        if self.batch.points >= POINTS_MAX || self.batch.lines.len() >= BYTES_MAX {
            self.flush();
        }
    }

    /// Hands over a batch that is old enough.
    pub fn tick(&mut self) {
        if self.batch.points > 0 && self.began.elapsed() >= AGE_MAX {
            self.flush();
        }
    }

    /// Hands over what there is.
    pub fn flush(&mut self) {
        if self.batch.points == 0 {
            return;
        }
        let capacity = self.batch.lines.capacity().min(2 * BYTES_MAX);
        let batch = std::mem::take(&mut self.batch);
        self.batch.lines.reserve(capacity);
        if let Err(batch) = self.shared.queue.offer(batch) {
            self.shared.put_aside(&batch);
        }
    }
}

/// The thread that posts.
struct Poster {
    post: Box<dyn Post>,
    shared: Arc<Shared>,
    /// The database takes nothing from this user.
    refused: bool,
}

/// What became of a try to post a batch, with all its repetitions.
#[derive(Clone, Copy, PartialEq)]
enum Tried {
    Written,
    Unfit,
    TooLong,
    /// Time is up, or the database takes nothing.
    NotNow,
}

impl Poster {
    fn work(mut self) {
        while let Some(batch) = self.shared.queue.take() {
            self.deliver(&batch);
        }
        self.deliver_kept();
    }

    fn deliver(&mut self, batch: &Batch) {
        match self.tried(&zipped(&batch.lines)) {
            Tried::Written => self.shared.state().so_far.written += batch.points,
            Tried::NotNow => self.shared.put_aside(batch),
            Tried::TooLong => match batch.halves() {
                Some(halves) => halves.iter().for_each(|half| self.deliver(half)),
                None => self.shared.state().so_far.unfit += batch.points,
            },
            Tried::Unfit => self.shared.state().so_far.unfit += batch.points,
        }
    }

    /// Posts what was put aside while the database was away.
    fn deliver_kept(&mut self) {
        loop {
            let oldest = self.shared.state().spool.as_ref().and_then(Spool::oldest);
            let Some((Ok(zipped), points)) = oldest else { return };
            if self.tried(&zipped) != Tried::Written {
                return;
            }
            let mut state = self.shared.state();
            state.so_far.written += points;
            state.so_far.kept -= points;
            if let Some(spool) = &mut state.spool {
                spool.remove_oldest();
            }
        }
    }

    fn tried(&mut self, zipped: &[u8]) -> Tried {
        let mut pause = PAUSE_MIN;
        while !self.refused {
            let Some(limit) = self.shared.queue.left(TRY_MAX) else { return Tried::NotNow };
            let (said, after) = match self.post.post(zipped, limit) {
                Answer::Taken => return Tried::Written,
                Answer::TooLong(said) => return self.told(said, Tried::TooLong),
                Answer::Unfit(said) => return self.told(said, Tried::Unfit),
                Answer::Refused(said) => {
                    self.refused = true;
                    return self.told(said, Tried::NotNow);
                }
                Answer::Busy { said, after } => (said, after),
                Answer::Unreachable(said) => (said, None),
            };
            self.told(said, Tried::NotNow);
            self.shared.queue.pause(after.unwrap_or(pause).min(PAUSE_MAX));
            pause = (pause * 2).min(PAUSE_MAX);
        }
        Tried::NotNow
    }

    fn told(&self, said: String, tried: Tried) -> Tried {
        self.shared.state().so_far.why = Some(said);
        tried
    }
}

fn zipped(lines: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(lines.len() / 4), Compression::fast());
    let written = encoder.write_all(lines).and_then(|()| encoder.finish());
    written.expect("memory takes all that is written")
}

#[cfg(test)]
mod tests;
