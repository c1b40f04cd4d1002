//! The delivery of points to a database: batches by size and time, posted by a separate thread,
//! retried while the database is busy or unreachable, kept on disk if that is allowed, and counted
//! if they are lost. The makers of points never wait.

use super::batch::Batch;
use super::spool::Spool;
use crate::queue::{Next, Queue};
use serde_json::Value;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The most points of a batch; [`BYTES_MAX`] bounds its bytes.
const POINTS_MAX: u64 = 5_000;
const BYTES_MAX: usize = 1 << 20;
/// The most bytes that wait.
const WAITING_BYTES_MAX: usize = 32 << 20;
/// The longest time that a point waits for its batch to fill.
const AGE_MAX: Duration = Duration::from_secs(1);
/// The longest time of one try.
const TRY_MAX: Duration = Duration::from_secs(10);
/// The shortest pause between tries; [`PAUSE_MAX`] is the longest.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The longest time that the end waits for points that are not posted yet.
const DRAIN: Duration = Duration::from_secs(10);
/// The interval at which the end checks whether the spool is empty.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A database's answer to a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All points are written.
    Taken,
    /// The database is busy (429) or has a fault (5xx); a later try may succeed.
    Busy {
        /// The answer's text, with its status.
        said: String,
        /// The wait that the database asks for.
        after: Option<Duration>,
    },
    /// The database cannot be reached, or has not answered.
    Unreachable(String),
    /// The batch is longer than the database accepts (413).
    TooLong(String),
    /// The database never accepts these lines (400, 422).
    Unfit {
        /// The answer's text, with its status.
        said: String,
        /// The number of points that it rejected, having written all others; `None` for all.
        dropped: Option<u64>,
    },
    /// The database accepts nothing from this user, or at this URL (401, 403, 404 and others).
    Refused(String),
}

impl Answer {
    /// The answer of a database that rejects some or all of the lines. `said` is the text for the
    /// user, `body` the whole answer, which may say that the write was partial.
    ///
    /// Source: InfluxDB 1.8, "InfluxDB API reference" (`partial write: … dropped=N`, and a line
    /// `unable to parse` for each that it cannot read); InfluxDB 3 Core, "Troubleshoot issues
    /// writing data" (`partial write …`, with a list of lines as `data`).
    pub fn unfit(said: String, body: &str) -> Self {
        let is_partial = body.contains("partial write");
        let dropped =
            if is_partial { dropped_count(body).or_else(|| listed_count(body)) } else { None };
        Self::Unfit { said, dropped }
    }
}

/// The number of points that InfluxDB 1 says it has rejected.
fn dropped_count(body: &str) -> Option<u64> {
    let (_, number) = body.rsplit_once("dropped=")?;
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    let unread = body.matches("unable to parse '").count() as u64;
    number[..end].parse::<u64>().ok().map(|dropped| dropped.saturating_add(unread))
}

/// The number of rejected lines that InfluxDB 3 lists.
fn listed_count(body: &str) -> Option<u64> {
    let answer: Value = serde_json::from_str(body).ok()?;
    Some(answer.get("data")?.as_array()?.len() as u64)
}

/// A way to post batches.
pub trait Post: Send {
    /// Posts gzip-compressed lines within `limit`.
    fn post(&mut self, zipped: &[u8], limit: Duration) -> Answer;
}

/// The counts of all points by their fate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// All points handed over: the sum of `written`, `kept`, `unfit` and `lost`.
    pub offered: u64,
    /// Points written to the database.
    pub written: u64,
    /// Points kept in the spool.
    pub kept: u64,
    /// Points that the database rejects.
    pub unfit: u64,
    /// Points that are neither written nor kept.
    pub lost: u64,
    /// The database's last error, or the reason why it could not be reached.
    pub why: Option<String>,
    /// The reason why the spool did not keep points, if it should have.
    pub spool: Option<String>,
    /// The files of the spool that are no batches, each with the reason.
    pub unread: Vec<String>,
}

impl Delivered {
    /// True if all points were written.
    pub const fn is_whole(&self) -> bool {
        self.kept == 0 && self.unfit == 0 && self.lost == 0 && self.unread.is_empty()
    }
}

/// The delivery of points: a queue and a thread that posts.
#[derive(Debug)]
pub struct Delivery {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    queue: Queue<Batch>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    spool: Option<Spool>,
    so_far: Delivered,
    /// True if the database accepts nothing from this user.
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

    /// True if a kept batch may still be accepted by the database.
    fn has_kept(&self) -> bool {
        let state = self.state();
        !state.is_refused && state.spool.as_ref().is_some_and(Spool::has_kept)
    }
}

impl Delivery {
    /// Starts a thread that posts by `post`; batches that cannot be posted go to `spool`. Batches
    /// already in `spool` count as offered.
    ///
    /// # Errors
    /// If no thread can be started.
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

    /// A new feed for points of one thread.
    pub fn feed(&self) -> Feed {
        Feed { shared: Arc::clone(&self.shared), batch: Batch::default(), began: Instant::now() }
    }

    /// The counts of the points handed over so far. Points that wait or are being posted count in
    /// `offered` only.
    pub fn so_far(&self) -> Delivered {
        self.shared.state().so_far.clone()
    }

    /// Waits a bounded time for points that are not posted yet, puts the rest aside, and returns
    /// the counts of all points. Points that a [`Feed`] still holds are not included: flush it
    /// first.
    pub fn close(&mut self) -> Delivered {
        self.close_within(DRAIN)
    }

    /// Waits for the spool's batches, as long as the database accepts some of them every 10 s, and
    /// returns the counts of all points.
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
        while let Next::Item(batch) = self.shared.queue.take(|| None) {
            self.shared.put_aside(&batch);
        }
        let state = self.shared.state();
        let spool = state.spool.as_ref().and_then(|spool| spool.trouble.clone());
        let unread = state.spool.as_ref().map_or_else(Vec::new, |spool| spool.unread.clone());
        let mut delivered = Delivered { spool, unread, ..state.so_far.clone() };
        if ended.is_err() {
            // The points of the batch that the thread was posting.
            let known = delivered.written + delivered.kept + delivered.unfit + delivered.lost;
            delivered.lost += delivered.offered.saturating_sub(known);
            delivered.why = Some("memtide's own thread that posts points has panicked".to_owned());
        }
        delivered
    }
}

/// A way in for the points of one thread.
#[derive(Debug)]
pub struct Feed {
    shared: Arc<Shared>,
    batch: Batch,
    began: Instant,
}

impl Feed {
    /// The text of the batch that is being filled: append one whole line, then call
    /// [`Feed::added`].
    pub fn lines(&mut self) -> &mut Vec<u8> {
        if self.batch.lines.is_empty() {
            self.began = Instant::now();
        }
        &mut self.batch.lines
    }

    /// Counts a line that was added.
    pub fn added(&mut self) {
        self.batch.points += 1;
        assert!(self.batch.points <= POINTS_MAX, "a full batch is handed over");
        if self.batch.points >= POINTS_MAX || self.batch.lines.len() >= BYTES_MAX {
            self.flush();
        }
    }

    /// Hands over the batch if it is old enough.
    pub fn tick(&mut self) {
        if self.batch.points > 0 && self.began.elapsed() >= AGE_MAX {
            self.flush();
        }
    }

    /// Hands over the batch, unless it is empty.
    pub fn flush(&mut self) {
        if self.batch.points == 0 {
            return;
        }
        let capacity = self.batch.lines.capacity().min(2 * BYTES_MAX);
        let batch = std::mem::take(&mut self.batch);
        self.batch.lines.reserve(capacity);
        self.shared.state().so_far.offered += batch.points;
        let bytes = batch.lines.len();
        if let Err(batch) = self.shared.queue.offer(batch, bytes, WAITING_BYTES_MAX) {
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

/// The result of posting a batch, with all its retries.
#[derive(Clone, Copy, PartialEq)]
enum Tried {
    Written,
    /// The number of rejected points; `None` for all.
    Unfit(Option<u64>),
    TooLong,
    /// The time is up, or the database accepts nothing.
    NotNow,
}

/// The result of a batch and of the parts into which it was divided.
#[derive(Default)]
struct Outcome {
    written: u64,
    unfit: u64,
    /// Batches that could not be posted now.
    rest: Vec<Batch>,
}

impl Poster {
    fn work(mut self) {
        loop {
            let next = self.shared.queue.take(|| self.shared.has_kept().then(Instant::now));
            match next {
                Next::Item(batch) => self.deliver(batch),
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

    /// Posts the oldest batch that was put aside while the database was unreachable. Returns false
    /// if there is none, or the database does not accept it now. A posted batch is removed from
    /// disk, even if its points are unfit. A batch of which only a part was posted stays whole,
    /// because points that are written again replace themselves.
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
