//! Points on their way to a database: batches by size and time, posted by a thread of its own,
//! tried again while the database is busy or away, kept on disk where that is allowed, and counted
//! where they did not get there. Who makes points never waits.

use super::queue::{Batch, Next, Queue};
use super::spool::Spool;
use serde_json::Value;
use std::io;
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
/// How often it is looked whether the spool is empty.
const LOOK_EVERY: Duration = Duration::from_millis(20);

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
    /// It does not take these lines, now or ever (400, 422).
    Unfit {
        /// What it said, with its status.
        said: String,
        /// How many points it does not take, having written all others; all if it names none.
        dropped: Option<u64>,
    },
    /// It takes nothing from this user, or at this place (401, 403, 404 and others).
    Refused(String),
}

impl Answer {
    /// The answer of a database that does not take some of the lines, or all of them: `said` is
    /// what the user reads, `body` the whole answer, which may tell that the write was partial.
    ///
    /// Source: InfluxDB 1.8, "InfluxDB API reference" (`partial write: … dropped=N`, and a line
    /// `unable to parse` for each that it cannot read); InfluxDB 3 Core, "Troubleshoot issues
    /// writing data" (`partial write …`, with a list of lines as `data`).
    pub fn unfit(said: String, body: &str) -> Self {
        let counted = |text: &str| {
            let (_, number) = text.rsplit_once("dropped=")?;
            let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
            let unread = text.matches("unable to parse '").count() as u64;
            number[..end].parse::<u64>().ok().map(|dropped| dropped.saturating_add(unread))
        };
        let listed = || match serde_json::from_str::<Value>(body).ok()?.get("data")? {
            Value::Array(lines) => Some(lines.len() as u64),
            _ => None,
        };
        let is_partial = body.contains("partial write");
        let dropped = if is_partial { counted(body).or_else(listed) } else { None };
        Self::Unfit { said, dropped }
    }
}

/// How a batch is posted.
pub trait Post: Send {
    /// Posts lines that are compressed with gzip, within `limit`.
    fn post(&mut self, zipped: &[u8], limit: Duration) -> Answer;
}

/// What became of all points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// All that were handed over: the sum of the four below.
    pub offered: u64,
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
    /// The database takes nothing from this user.
    is_refused: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a batch that cannot be posted now, or counts it as lost.
    fn put_aside(&self, batch: &Batch) {
        let has_spool = self.state().spool.is_some();
        let zipped = if has_spool { batch.zipped() } else { Vec::new() };
        let mut state = self.state();
        let State { spool, so_far, .. } = &mut *state;
        match spool.as_mut().is_some_and(|spool| spool.keep(&zipped, batch.points)) {
            true => so_far.kept += batch.points,
            false => so_far.lost += batch.points,
        }
        drop(state);
        self.queue.wake();
    }

    /// True if something was put aside that the database may take.
    fn has_kept(&self) -> bool {
        let state = self.state();
        !state.is_refused && state.spool.as_ref().is_some_and(Spool::has_kept)
    }
}

impl Delivery {
    /// Begins to post by `post`; what cannot be posted goes to `spool`. What `spool` has kept
    /// already counts as offered.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(post: Box<dyn Post>, spool: Option<Spool>) -> io::Result<Self> {
        let kept = spool.as_ref().map_or(0, Spool::points);
        let so_far = Delivered { offered: kept, kept, ..Delivered::default() };
        let state = Mutex::new(State { spool, so_far, is_refused: false });
        let shared = Arc::new(Shared { queue: Queue::default(), state });
        let poster = Poster { post, shared: Arc::clone(&shared) };
        let thread = thread::Builder::new().name("influx".to_owned());
        let thread = Some(thread.spawn(move || poster.work())?);
        Ok(Self { shared, thread })
    }

    /// A way in for points.
    pub fn feed(&self) -> Feed {
        Feed { shared: Arc::clone(&self.shared), batch: Batch::default(), began: Instant::now() }
    }

    /// What became of the points that feeds have handed over so far. Those that wait or are under
    /// way have no share in it but in `offered`.
    pub fn so_far(&self) -> Delivered {
        self.shared.state().so_far.clone()
    }

    /// Waits a bounded time for what is not posted yet, puts the rest aside, and tells what became
    /// of all points. Those that a [`Feed`] still holds are not among them: flush it first.
    pub fn close(&mut self) -> Delivered {
        self.close_within(DRAIN)
    }

    /// Waits for what the spool has kept, as long as the database takes some of it within every
    /// 10 s, and tells what became of all points.
    pub fn close_empty(&mut self) -> Delivered {
        let (mut left, mut since) = (u64::MAX, Instant::now());
        while self.shared.has_kept() && since.elapsed() < DRAIN {
            let now = self.shared.state().so_far.kept;
            if now < left {
                (left, since) = (now, Instant::now());
            }
            let is_alive = self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
            match is_alive {
                true => thread::sleep(LOOK_EVERY),
                false => break,
            }
        }
        self.close_within(Duration::ZERO)
    }

    fn close_within(&mut self, limit: Duration) -> Delivered {
        self.shared.queue.close(Instant::now() + limit);
        let ended = self.thread.take().map_or(Ok(()), JoinHandle::join);
        // Nothing waits any more, unless the thread has panicked.
        while let Next::Batch(batch) = self.shared.queue.next(|| false) {
            self.shared.put_aside(&batch);
        }
        let state = self.shared.state();
        let spool = state.spool.as_ref().and_then(|spool| spool.trouble.clone());
        let mut delivered = Delivered { spool, ..state.so_far.clone() };
        if ended.is_err() {
            // The points of the batch that it was posting.
            let known = delivered.written + delivered.kept + delivered.unfit + delivered.lost;
            delivered.lost += delivered.offered.saturating_sub(known);
            delivered.why = Some("memtide's own thread that posts points has panicked".to_owned());
        }
        delivered
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
        assert!(self.batch.points <= POINTS_MAX, "a full batch is handed over");
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
        self.shared.state().so_far.offered += batch.points;
        if let Err(batch) = self.shared.queue.offer(batch) {
            self.shared.put_aside(&batch);
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.flush();
    }
}

/// The thread that posts.
struct Poster {
    post: Box<dyn Post>,
    shared: Arc<Shared>,
}

/// What became of a try to post a batch, with all its repetitions.
#[derive(Clone, Copy, PartialEq)]
enum Tried {
    Written,
    /// How many points are not taken; all if unknown.
    Unfit(Option<u64>),
    TooLong,
    /// Time is up, or the database takes nothing.
    NotNow,
}

/// What became of a batch and of the parts it was divided into.
#[derive(Default)]
struct Outcome {
    written: u64,
    unfit: u64,
    /// What could not be posted now.
    rest: Vec<Batch>,
}

impl Poster {
    fn work(mut self) {
        loop {
            let next = self.shared.queue.next(|| self.shared.has_kept());
            match next {
                Next::Batch(batch) => self.deliver(batch),
                Next::Idle => drop(self.deliver_kept()),
                Next::End => break,
            }
        }
        while self.deliver_kept() {}
    }

    fn deliver(&mut self, batch: Batch) {
        let mut outcome = Outcome::default();
        self.post(batch, &mut outcome);
        let mut state = self.shared.state();
        state.so_far.written += outcome.written;
        state.so_far.unfit += outcome.unfit;
        drop(state);
        outcome.rest.iter().for_each(|batch| self.shared.put_aside(batch));
    }

    /// Posts the oldest batch that was put aside while the database was away; false if there is
    /// none, or the database does not take it now. One that has been posted leaves the disk, also
    /// if its points are unfit; one of which only a part was posted stays whole, because points
    /// that are written again replace themselves.
    fn deliver_kept(&mut self) -> bool {
        let oldest = self.shared.state().spool.as_ref().and_then(Spool::oldest);
        let Some((read, points)) = oldest else { return false };
        let mut outcome = Outcome::default();
        let read = read.map(|batch| self.post(batch, &mut outcome));
        if !outcome.rest.is_empty() {
            return false;
        }
        let mut state = self.shared.state();
        let State { spool: Some(spool), so_far, .. } = &mut *state else { return false };
        so_far.kept -= points;
        match read {
            Ok(()) => {
                so_far.written += outcome.written;
                so_far.unfit += outcome.unfit;
                spool.remove_oldest();
            }
            Err(error) => {
                so_far.lost += points;
                spool.give_up_oldest(&error);
            }
        }
        true
    }

    fn post(&mut self, batch: Batch, outcome: &mut Outcome) {
        match self.tried(&batch.zipped()) {
            Tried::Written => outcome.written += batch.points,
            Tried::NotNow => outcome.rest.push(batch),
            Tried::TooLong => match batch.halves() {
                Some(halves) => halves.into_iter().for_each(|half| self.post(half, outcome)),
                None => outcome.unfit += batch.points,
            },
            Tried::Unfit(dropped) => {
                let dropped = dropped.map_or(batch.points, |dropped| dropped.min(batch.points));
                outcome.unfit += dropped;
                outcome.written += batch.points - dropped;
            }
        }
    }

    fn tried(&mut self, zipped: &[u8]) -> Tried {
        let mut pause = PAUSE_MIN;
        while !self.shared.state().is_refused {
            let Some(limit) = self.shared.queue.left(TRY_MAX) else { return Tried::NotNow };
            let (said, after) = match self.post.post(zipped, limit) {
                Answer::Taken => return Tried::Written,
                Answer::TooLong(said) => return self.told(said, Tried::TooLong),
                Answer::Unfit { said, dropped } => {
                    return self.told(said, Tried::Unfit(dropped));
                }
                Answer::Refused(said) => {
                    self.shared.state().is_refused = true;
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

#[cfg(test)]
mod tests;
