//! Checks that the original lacks, and without which it crashes, hangs or measures wrongly: the
//! last step from a command line to decided values.

use super::{Draft, TIME_S_MAX, span};
use crate::twemperf::distribution::Distribution;
use crate::twemperf::options::{Keys, Load, Options, Output, Request, Sizes, Socket, Target};

/// The largest value: memcached's own limit, and the original's buffer.
const VALUE_BYTES_MAX: u64 = 1 << 20;
/// The largest amount of `incr` and `decr` that a draw still represents exactly.
const AMOUNT_MAX: u64 = 1 << 53;
/// The largest draw of an exponential law whose unit has 48 bits, in means: 48 · ln 2.
const EXPONENTIAL_MEANS_MAX: f64 = 33.3;
/// The most workers.
const THREADS_MAX: u32 = 1024;
/// The number of distinct keys: the counter has 32 bits, and 0 is not one of them.
const KEYS: u64 = u32::MAX as u64;
/// The shortest mean gap, in seconds: 1 000 000 000 per second.
const GAP_S_MIN: f64 = 1e-9;
/// The verbosity from which on warnings are logged.
const VERBOSITY_WARNING: u32 = 4;

impl Draft {
    /// The decided values of this command line. The error is a line without the program's name.
    pub(super) fn decide(self) -> Result<Options, String> {
        self.check()?;
        let notes = match self.verbosity {
            ..VERBOSITY_WARNING => Vec::new(),
            VERBOSITY_WARNING.. => self.notes(),
        };
        let load = self.load();
        let keys = self.keys(&load)?;
        Ok(Options {
            socket: Socket {
                timeout: (self.timeout_s > 0.0).then(|| span(self.timeout_s)),
                linger_s: self.linger_s,
                send_buffer_bytes: self.send_buffer_bytes,
                receive_buffer_bytes: self.receive_buffer_bytes,
                is_nagle_on: self.has("disable-nodelay"),
            },
            request: Request {
                method: self.method,
                expiry_s: self.expiry_s,
                is_noreply: self.has("use-noreply") && !self.method.is_retrieval(),
                sizes: Sizes { law: self.sizes, size_max: self.size_max() },
            },
            keys,
            load,
            output: Output {
                is_histogram_shown: self.has("print-histogram"),
                is_on_stdout: self.has("report-stdout"),
                is_error_fatal: self.has("fail-on-error"),
                has_notes: self.has("notes"),
                json: self.json,
                log: Some(self.log).filter(|file| !file.is_empty()),
            },
            target: match self.server.starts_with('/') {
                true => Target::Unix(self.server),
                false => Target::Tcp { host: self.server, port: self.port },
            },
            notes,
        })
    }

    fn check(&self) -> Result<(), String> {
        refuse(self.server.is_empty(), "--server: the name is empty; give a host or a path")?;
        refuse(
            self.connections == Some(0),
            "--num-conns: 0 connections make no load; give at least 1, or leave it out with --time",
        )?;
        refuse(
            self.calls_each == Some(0),
            "--num-calls: 0 calls never end; give at least 1, or leave it out with --time",
        )?;
        refuse(
            self.prefix.contains(|letter: char| letter.is_whitespace() || letter.is_control()),
            "--prefix: memcached's keys have no blanks and no control characters",
        )?;
        refuse(
            !(1..=THREADS_MAX).contains(&self.threads),
            &format!("--threads: {} is not allowed; 1 to {THREADS_MAX} are", self.threads),
        )?;
        for (option, seconds) in [("--timeout", Some(self.timeout_s)), ("--time", self.time_s)] {
            let message = format!("{option}: at most {TIME_S_MAX} seconds are allowed");
            refuse(seconds.is_some_and(|seconds| seconds > TIME_S_MAX), &message)?;
        }
        refuse(
            self.time_s.is_some_and(|seconds| seconds < GAP_S_MIN),
            "--time: a run of 0 seconds measures nothing; give more, or leave it out",
        )?;
        for (option, gaps) in
            [("--conn-rate", &self.connection_gaps), ("--call-rate", &self.call_gaps)]
        {
            let Some(gaps) = gaps else { continue };
            // The highest rate itself is allowed, however its inverse was rounded.
            let (least, most) = (GAP_S_MIN * 0.999_999, TIME_S_MAX * 1.000_001);
            let message = format!(
                "{option}: the mean gap is {:e} seconds; {GAP_S_MIN:e} to {TIME_S_MAX:e} are \
                 allowed, which is 1000000000 a second at most",
                gaps.mean()
            );
            refuse(!(least..=most).contains(&gaps.mean()), &message)?;
        }
        self.check_sizes()
    }

    /// Checks that sizes with a bound on every draw are within the allowed range.
    fn check_sizes(&self) -> Result<(), String> {
        let (max, law) = (self.size_max(), self.sizes);
        let largest = match law {
            Distribution::Fixed(size) | Distribution::Uniform(_, size) => size,
            Distribution::Exponential(size) | Distribution::Ascending(size) => size,
        };
        if self.method.is_storage() && largest.round_ties_even() > max as f64 {
            return Err(format!(
                "--sizes: {largest} bytes are more than a value may have; at most {max} (1 MiB)"
            ));
        }
        if self.method.is_arithmetic() && largest > max as f64 {
            return Err(format!("--sizes: {largest} is too much for incr and decr; at most {max}"));
        }
        Ok(())
    }

    fn size_max(&self) -> u64 {
        if self.method.is_arithmetic() { AMOUNT_MAX } else { VALUE_BYTES_MAX }
    }

    /// The keys of this client.
    fn keys(&self, load: &Load) -> Result<Keys, String> {
        let prefix = self.prefix.clone();
        if !self.has("own-keys") {
            return Ok(Keys { prefix, first: 1, count: KEYS });
        }
        let (index, clients) = self.client;
        if index >= clients {
            return Err(format!(
                "--own-keys: there is no client {index} of {clients}; clients are counted from 0 \
                 (--client=0/{})",
                clients.max(1)
            ));
        }
        let count = KEYS / u64::from(clients);
        let calls = load.calls_each.map(u64::from).zip(load.connections.map(u64::from));
        if calls.is_some_and(|(calls, connections)| calls * connections > count) {
            return Err(format!(
                "--own-keys: each of {clients} clients has {count} keys, and this run asks for \
                 more; lower --num-conns, --num-calls or the number of clients"
            ));
        }
        let first = u64::from(index) * count + 1;
        let first = u32::try_from(first).expect("a client's first key is below the last one's");
        Ok(Keys { prefix, first, count })
    }

    fn load(&self) -> Load {
        // Without a time limit, the default is 1.
        let default = if self.time_s.is_some() { None } else { Some(1) };
        let (client, _) = self.client;
        Load {
            connections: self.connections.or(default),
            calls_each: self.calls_each.or(default),
            connection_gaps: self.connection_gaps,
            call_gaps: self.call_gaps,
            time: self.time_s.map(span),
            threads: self.threads,
            // C truncates each to sixteen bits.
            seed_words: [
                (0x1234 ^ client) as u16,
                (0x5678 ^ (client << 8)) as u16,
                (0x9abc ^ !client) as u16,
            ],
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.note_on_sizes().into_iter().collect();
        notes.extend(self.note_on_concurrency());
        if self.has("use-noreply") && self.method.is_retrieval() {
            let note = "--use-noreply: a get has no noreply, so it is passed over, as mcperf does.";
            notes.push(note.to_owned());
        }
        if self.time_s.is_some() && self.timeout_s == 0.0 {
            let note = "--time ends the run here; mcperf read it as an abbreviation of --timeout, \
                        which is to be written in full.";
            notes.push(note.to_owned());
        }
        notes
    }

    fn note_on_sizes(&self) -> Option<String> {
        let draw = self.sizes.mean();
        if let Some(word) = &self.size_rate
            && draw < 1.0
            && !self.method.is_retrieval()
            && self.method.is_storage()
        {
            let size = draw.round_ties_even();
            return Some(format!(
                "--sizes={word} without a letter is a rate, as in mcperf: 1/{word}, which makes \
                 values of {size} bytes; for {word} bytes write --sizes=d{word}."
            ));
        }
        let calls = self.calls_each.unwrap_or(1).max(1);
        let connections = self.connections.unwrap_or(1).max(1);
        let largest = match self.sizes {
            Distribution::Exponential(mean) => mean * EXPONENTIAL_MEANS_MAX,
            Distribution::Ascending(_) if self.time_s.is_some() => f64::INFINITY,
            Distribution::Ascending(first) => first + f64::from(calls) * f64::from(connections),
            Distribution::Fixed(_) | Distribution::Uniform(..) => 0.0,
        };
        (self.method.is_storage() && largest > VALUE_BYTES_MAX as f64).then(|| {
            format!(
                "--sizes: draws above {VALUE_BYTES_MAX} bytes (1 MiB) become {VALUE_BYTES_MAX}, \
                 where mcperf read past its buffer."
            )
        })
    }

    fn note_on_concurrency(&self) -> Option<String> {
        let connections = self.connections.filter(|&connections| connections > 1)?;
        if self.connection_gaps.is_some() {
            return None;
        }
        let at_once = match self.threads.min(connections) {
            1 => "never more than 1 is open".to_owned(),
            threads => format!("never more than {threads} are open, one in each thread"),
        };
        Some(format!(
            "--conn-rate=0 opens each of the {connections} connections when the one before it has \
             ended, so {at_once}; for concurrency give a rate, such as --conn-rate=1000."
        ))
    }
}

/// The error `message` if `holds`.
fn refuse(holds: bool, message: &str) -> Result<(), String> {
    if holds { Err(message.to_owned()) } else { Ok(()) }
}
