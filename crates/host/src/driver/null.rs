//! A driver without a world: every request is answered at once, in memory, so that the engine's own
//! work can be timed and its instructions counted. It understands get and set of the text protocol,
//! mg, ms and mn of the meta protocol, and refuses other commands. Nothing is late, lost or closed.

use memtide_base::{ConnectionId, Full, Instant, Span};
use memtide_world::driver::{Completion, Driver, DriverError, Event, Sample, Submitted};
use memtide_world::{Address, Message, SocketOptions};
use std::collections::VecDeque;
use std::io::BufRead;
use std::net::IpAddr;

/// The time by which each wait advances the clock.
const STEP: Span = Span::from_us(1);

/// A driver that answers at once.
pub struct NullDriver {
    now: Instant,
    /// The answer to each key of a get.
    hit: Vec<u8>,
    /// The answer to an mg, without and with its key.
    meta_hits: [Vec<u8>; 2],
    /// Answers of each connection that the worker has not taken yet.
    answers: Vec<Vec<u8>>,
    /// Connections with answers, oldest first.
    answered: VecDeque<ConnectionId>,
    /// The number of connections answered before the last wait: only these complete.
    completing: usize,
    /// Connections that opened and whose event was not taken yet.
    opened: VecDeque<ConnectionId>,
    /// The answers of the completion that was taken last.
    current: Vec<u8>,
}

impl NullDriver {
    /// A driver for `connections` connections. It answers each key of a get with a value of
    /// `value_bytes` bytes, under a key of its own.
    pub fn new(connections: u32, value_bytes: usize) -> Self {
        let heads = [
            format!("VALUE k 0 {value_bytes}\r\n"),
            format!("VA {value_bytes}\r\n"),
            format!("VA {value_bytes} kk\r\n"),
        ];
        let [hit, meta_hit, meta_hit_with_key] = heads.map(|head| {
            let mut hit = head.into_bytes();
            hit.resize(hit.len() + value_bytes, b'v');
            hit.extend_from_slice(b"\r\n");
            hit
        });
        Self {
            now: Instant::ZERO,
            hit,
            meta_hits: [meta_hit, meta_hit_with_key],
            answers: (0..connections).map(|_| Vec::new()).collect(),
            answered: VecDeque::with_capacity(connections as usize),
            completing: 0,
            opened: VecDeque::with_capacity(connections as usize),
            current: Vec::new(),
        }
    }

    /// A function of its own, so that its instructions can be told from the engine's.
    #[inline(never)]
    fn answer(&mut self, id: ConnectionId, mut requests: &[u8]) {
        let answers = &mut self.answers[id.index()];
        if answers.is_empty() {
            self.answered.push_back(id);
        }
        while !requests.is_empty() {
            let mut after = requests;
            let line = after.skip_until(b'\n').expect("memory can always be read");
            let (line, rest) = requests.split_at(line);
            requests = rest;
            match line[0] {
                b'm' if line[1] == b'g' => {
                    let has_key = line.ends_with(b" q\r\n");
                    answers.extend_from_slice(&self.meta_hits[usize::from(has_key)]);
                }
                b'm' if line[1] == b's' => {
                    requests = &requests[data_bytes(line) + 2..];
                    answers.extend_from_slice(b"HD\r\n");
                }
                b'm' => answers.extend_from_slice(b"MN\r\n"),
                b'g' => {
                    let keys = line.iter().filter(|byte| **byte == b' ').count();
                    for _ in 0..keys {
                        answers.extend_from_slice(&self.hit);
                    }
                    answers.extend_from_slice(b"END\r\n");
                }
                b's' => {
                    requests = &requests[data_bytes(line) + 2..];
                    answers.extend_from_slice(b"STORED\r\n");
                }
                _ => panic!("the null driver is asked for reads and sets alone"),
            }
        }
    }
}

/// The last number of a set's line, which is the value's length.
fn data_bytes(line: &[u8]) -> usize {
    let digits = line[..line.len() - 2].rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    digits.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0'))
}

impl Driver for NullDriver {
    fn now(&self) -> Instant {
        self.now
    }

    fn connect(&mut self, id: ConnectionId, _: &Address, _: Option<IpAddr>, _: SocketOptions) {
        self.opened.push_back(id);
    }

    fn send(&mut self, id: ConnectionId, message: Message<'_>) -> Submitted {
        let mut room = Vec::new();
        self.answer(id, message.as_plain().unwrap_or_else(|| message.flat(&mut room)));
        Submitted::Done
    }

    fn close(&mut self, id: ConnectionId, _: Option<Span>) {
        self.answers[id.index()].clear();
    }

    fn has_unsent(&self) -> bool {
        false
    }

    fn wait(&mut self, until: Instant) -> Result<(), DriverError> {
        let idle = self.answered.is_empty() && self.opened.is_empty();
        self.completing = self.answered.len();
        self.now = if idle { self.now.max(until) } else { self.now + STEP };
        Ok(())
    }

    fn completion(&mut self) -> Option<Completion<'_>> {
        if let Some(connection) = self.opened.pop_front() {
            return Some(Completion { connection, at: self.now, event: Event::Connected });
        }
        self.completing = self.completing.checked_sub(1)?;
        let connection = self.answered.pop_front()?;
        self.current.clear();
        std::mem::swap(&mut self.current, &mut self.answers[connection.index()]);
        let event = Event::Received(&self.current);
        Some(Completion { connection, at: self.now, event })
    }

    fn kept(&self) -> Option<Span> {
        None
    }

    fn export(&mut self, _sample: Sample) -> Result<(), Full> {
        Ok(())
    }
}
