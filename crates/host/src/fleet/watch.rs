//! Servers that are asked for their statistics while a load runs: a thread and a connection for
//! each, beside the workers. A server that does not answer delays nothing but its own thread.

use crate::clock::Clock;
use crate::driver::epoll::EpollDriver;
use crate::driver::guard::ConnectGuard;
use memtide_base::{Instant, ServerId, Span};
use memtide_engine::probe::AskConnection;
use memtide_world::Plan;
use memtide_world::driver::Driver;
use memtide_world::fleet::ServerAnswer;
use memtide_world::question::{Answer, AskError, Question};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The interval between questions to a server.
const EVERY: Span = Span::from_s(1);
/// The time before the end of each second of the load at which the question is sent, so that the
/// answer is there when the second ends.
const EARLIER: Span = Span::from_ms(50);
/// Answers that may wait to be collected. If one finds no room, the next one contains its counters.
const ANSWERS_MAX: usize = 256;
/// The start of the load, while it is unknown.
const UNKNOWN_NS: u64 = u64::MAX;

/// The servers that are watched, and their answers.
pub(crate) struct Watched {
    course: Arc<Course>,
    answers: Receiver<ServerAnswer>,
    threads: Vec<JoinHandle<()>>,
}

/// The facts and commands that the threads share.
struct Course {
    /// The instant at which the load begins.
    begin_ns: AtomicU64,
    is_over: AtomicBool,
}

impl Watched {
    /// Prepares to ask `servers` of `plan`. A server for which the system starts no thread is not
    /// asked.
    pub(crate) fn new(
        plan: &Plan,
        servers: &[ServerId],
        clock: Clock,
        guard: &ConnectGuard,
    ) -> Self {
        let (begin_ns, is_over) = (AtomicU64::new(UNKNOWN_NS), AtomicBool::new(false));
        let course = Arc::new(Course { begin_ns, is_over });
        let (sender, answers) = sync_channel(ANSWERS_MAX);
        let plan = Arc::new(plan.clone());
        let threads = servers.iter().filter_map(|&server| {
            let mut watcher = Watcher {
                plan: Arc::clone(&plan),
                server,
                course: Arc::clone(&course),
                answers: sender.clone(),
                clock,
                guard: guard.clone(),
                asked: None,
                connections: 0,
            };
            let thread = thread::Builder::new().name(format!("stats-{}", server.index()));
            thread.spawn(move || watcher.run()).ok()
        });
        let threads = threads.collect();
        Self { course, answers, threads }
    }

    /// Announces that the load begins at `at`.
    pub(crate) fn begin(&self, at: Instant) {
        self.course.begin_ns.store(at.ns(), Ordering::Release);
        self.wake();
    }

    /// The answers since the last collection.
    pub(crate) fn collect(&self) -> Vec<ServerAnswer> {
        self.answers.try_iter().collect()
    }

    fn wake(&self) {
        self.threads.iter().for_each(|thread| thread.thread().unpark());
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.course.is_over.store(true, Ordering::Release);
        self.wake();
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

/// The thread of one server.
struct Watcher {
    plan: Arc<Plan>,
    server: ServerId,
    course: Arc<Course>,
    answers: SyncSender<ServerAnswer>,
    clock: Clock,
    guard: ConnectGuard,
    /// The instant for which the server was asked last.
    asked: Option<Instant>,
    connections: u64,
}

/// Why a connection is no longer used.
enum Left {
    /// No further question is due.
    Over,
    /// It had been closed since the last question.
    Stale,
    /// The question was not answered.
    Failed,
}

impl Watcher {
    fn run(&mut self) {
        if !self.wait() {
            return;
        }
        loop {
            match self.converse() {
                Ok(Left::Over) => return,
                // The server may have restarted.
                Ok(Left::Stale) => {}
                Ok(Left::Failed) if self.wait() => {}
                Ok(Left::Failed) => return,
                Err(error) => {
                    self.tell(Err(error));
                    if !self.wait() {
                        return;
                    }
                }
            }
        }
    }

    /// Asks over one connection until the connection cannot be used again.
    fn converse(&mut self) -> Result<Left, AskError> {
        let course = Arc::clone(&self.course);
        let is_over = || course.is_over.load(Ordering::Acquire);
        let plan = Arc::clone(&self.plan);
        let server = &plan.servers[self.server.index()];
        let question = Question::Statistics;
        let mut driver = EpollDriver::of_one(self.clock, &self.guard)?;
        let deadline = driver.now() + plan.timeout;
        let opened =
            AskConnection::open((&mut driver, &is_over), &plan, server, question, deadline);
        let mut asker = opened?;
        self.connections += 1;
        let mut is_new = true;
        loop {
            let deadline = self.clock.now() + plan.timeout;
            let answer = match asker.ask(question, deadline) {
                Ok(Answer::Statistics(rows)) => Ok(rows),
                Ok(Answer::Version(line) | Answer::Line(line)) => Err(AskError::Refused(line)),
                Ok(Answer::Found(_)) => Err(AskError::Refused("END".to_owned())),
                Err(AskError::Closed(_)) if !is_new => return Ok(Left::Stale),
                Err(error) => Err(error),
            };
            is_new = false;
            let is_failed = answer.is_err();
            self.tell(answer);
            if is_over() || is_failed || !self.wait() {
                asker.close();
                return Ok(if is_failed && !is_over() { Left::Failed } else { Left::Over });
            }
        }
    }

    fn tell(&self, answer: Result<Vec<(String, String)>, AskError>) {
        let (server, at, connections) = (self.server, self.clock.now(), self.connections);
        if !self.course.is_over.load(Ordering::Acquire) {
            // If it finds no room, the next answer contains the same counters.
            drop(self.answers.try_send(ServerAnswer { server, at, connections, answer }));
        }
    }

    /// Waits until the next question is due; false if none will be.
    fn wait(&mut self) -> bool {
        loop {
            if self.course.is_over.load(Ordering::Acquire) {
                return false;
            }
            match self.course.begin_ns.load(Ordering::Acquire) {
                UNKNOWN_NS => thread::park(),
                begin_ns => {
                    let now = self.clock.now();
                    let due = due(Instant::from_ns(begin_ns), self.asked, now);
                    if now >= due {
                        self.asked = Some(now);
                        return true;
                    }
                    thread::park_timeout(Duration::from_nanos(due.since(now).ns()));
                }
            }
        }
    }
}

/// The instant of the next question in a load that begins at `begin`: shortly before it, and before
/// the end of each of its seconds. Instants up to `asked` and missed ones are skipped.
fn due(begin: Instant, asked: Option<Instant>, now: Instant) -> Instant {
    let first = Instant::from_ns(begin.ns().saturating_sub(EARLIER.ns()));
    let Some(asked) = asked else { return first.max(now) };
    let passed = asked.since(first).ns() / EVERY.ns();
    first + EVERY * (passed + 1)
}

#[cfg(test)]
mod tests;
