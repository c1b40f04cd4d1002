//! When a server's answers leave: how long a request takes, which requests wait for others, and
//! when nothing leaves at all. Instants are computed from (seed, request number, arrival); no clock
//! is read.

use crate::word::{Word, WordError};
use memtide_base::rng::{self, Stream};
use memtide_base::units::span_word;
use memtide_base::{Instant, Law, Span};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::str::FromStr;

/// The times at which a server's answers leave. Written as parts joined by `+`, each at most once:
///
/// - `instant`; or a law of service times under which requests do not disturb each other,
///   `fixed:SPAN`, `exponential:MEAN` or `lognormal:MEDIAN,SIGMA` (of the logarithm); or
///   `queue:K,LAW`, one queue for the whole server in which K servers take requests as they came.
///   A request begins at its arrival, or when the first of the K is free; its answer leaves when it
///   is done.
/// - `slowing:PERCENT/s`: service times grow each second by this percentage of their value at the
///   server's start. Without a law they start at 10 us.
/// - `warming:PERCENT,SPAN`: at the server's start service times are longer by this percentage of
///   their later value; the excess falls to 37 % in each SPAN. It goes with a law.
/// - `pause:EVERY,LENGTH`: answers due within a pause leave at its end; work continues. The first
///   pause begins EVERY after the server's start. `pause:AT,LENGTH,once` is a single pause.
///
/// A span is at most an hour, K at most 1 024, SIGMA at most 10, PERCENT at most 1 000 000.
#[derive(Clone, Debug, PartialEq)]
pub struct Behaviour {
    service: Service,
    /// The growth of service times per second, in percent; 0 for none.
    slowing_percent: f64,
    warming: Option<Warming>,
    pause: Option<Pause>,
}

/// An excess of service times that fades.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Warming {
    percent: f64,
    span: Span,
}

#[derive(Clone, Debug, PartialEq)]
enum Service {
    Instant,
    Independent(ServiceLaw),
    Queue(u32, ServiceLaw),
}

/// A law of service times.
#[derive(Clone, Debug, PartialEq)]
enum ServiceLaw {
    Fixed(Span),
    Exponential(Span),
    Lognormal(Span, f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pause {
    every: Span,
    length: Span,
    once: bool,
}

const WORD: Word = Word {
    what: "a behaviour",
    forms: "instant, fixed:SPAN, exponential:MEAN, lognormal:MEDIAN,SIGMA, queue:K,LAW with one \
            of these three laws, slowing:PERCENT/s, warming:PERCENT,SPAN, pause:EVERY,LENGTH or \
            pause:AT,LENGTH,once, or several joined by + (such as \
            queue:1,exponential:1ms+pause:2s,500ms)",
};
/// The longest span that a behaviour may name.
const SPAN_MAX: Span = Span::from_s(3600);
const SERVERS_MAX: u32 = 1024;
const SIGMA_MAX: f64 = 10.0;
const PERCENT_MAX: f64 = 1e6;
/// The law that is slowed if none was given.
const SLOWED: ServiceLaw = ServiceLaw::Fixed(Span::from_us(10));

impl Behaviour {
    /// Every answer leaves at once.
    const INSTANT: Self =
        Self { service: Service::Instant, slowing_percent: 0.0, warming: None, pause: None };

    /// True if every answer leaves at once.
    pub fn is_instant(&self) -> bool {
        *self == Self::INSTANT
    }
}

impl Default for Behaviour {
    fn default() -> Self {
        Self::INSTANT
    }
}

impl FromStr for Behaviour {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        let (mut service, mut slowing, mut warming, mut pause) = (None, None, None, None);
        for part in word.split('+').map(str::trim) {
            let (name, arguments) = part.split_once(':').unwrap_or((part, ""));
            let again = match name.trim() {
                "slowing" => slowing.replace(read_slowing(word, arguments)?).is_some(),
                "warming" => warming.replace(read_warming(word, arguments)?).is_some(),
                "pause" => pause.replace(read_pause(word, arguments)?).is_some(),
                _ => service.replace(read_service(word, part)?).is_some(),
            };
            if again {
                let reason = format!("'{part}' repeats the kind of an earlier part");
                return Err(WORD.wrong(word, reason));
            }
        }
        let service = match (service, slowing) {
            (None, Some(_)) => Service::Independent(SLOWED),
            (Some(Service::Instant), Some(_)) => {
                return Err(WORD.wrong(word, "a service time of 0 cannot grow"));
            }
            (None | Some(Service::Instant), None) if warming.is_some() => {
                return Err(WORD.wrong(word, "warming needs a law of service times"));
            }
            (service, _) => service.unwrap_or(Service::Instant),
        };
        Ok(Self { service, slowing_percent: slowing.unwrap_or(0.0), warming, pause })
    }
}

fn read_service(word: &str, part: &str) -> Result<Service, WordError> {
    if part == "instant" {
        return Ok(Service::Instant);
    }
    let Some(arguments) = part.strip_prefix("queue:") else {
        return read_law(word, part).map(Service::Independent);
    };
    let Some((servers, law)) = arguments.split_once(',') else {
        return Err(WORD.wrong(word, "a queue needs a number of servers and a law"));
    };
    match servers.trim().parse() {
        Ok(count @ 1..=SERVERS_MAX) => Ok(Service::Queue(count, read_law(word, law.trim())?)),
        _ => {
            let reason = format!("'{}' must be 1 to {SERVERS_MAX} servers", servers.trim());
            Err(WORD.wrong(word, reason))
        }
    }
}

fn read_law(word: &str, text: &str) -> Result<ServiceLaw, WordError> {
    let (name, arguments) = text.split_once(':').unwrap_or((text, ""));
    match name.trim() {
        "fixed" => WORD.span(word, arguments, SPAN_MAX).map(ServiceLaw::Fixed),
        "exponential" => WORD.span(word, arguments, SPAN_MAX).map(ServiceLaw::Exponential),
        "lognormal" => {
            let Some((median, sigma)) = arguments.split_once(',') else {
                return Err(WORD.wrong(word, "a lognormal law needs a median and a sigma"));
            };
            let median = WORD.span(word, median, SPAN_MAX)?;
            Ok(ServiceLaw::Lognormal(median, WORD.number(word, sigma, SIGMA_MAX)?))
        }
        "" => Err(WORD.wrong(word, "a name is missing")),
        name => Err(WORD.wrong(word, format!("there is no '{name}'"))),
    }
}

fn read_slowing(word: &str, text: &str) -> Result<f64, WordError> {
    let Some(percent) = text.trim().strip_suffix("/s") else {
        return Err(WORD.wrong(word, "slowing needs a number of percent per second"));
    };
    let percent = percent.strip_suffix('%').unwrap_or(percent);
    WORD.number(word, percent, PERCENT_MAX)
}

fn read_warming(word: &str, text: &str) -> Result<Warming, WordError> {
    let Some((percent, span)) = text.split_once(',') else {
        return Err(WORD.wrong(word, "warming needs a number of percent and a span"));
    };
    let percent = percent.trim();
    let percent = percent.strip_suffix('%').unwrap_or(percent);
    let percent = WORD.number(word, percent, PERCENT_MAX)?;
    match WORD.span(word, span, SPAN_MAX)? {
        Span::ZERO => Err(WORD.wrong(word, "the span of a warming is above 0")),
        span => Ok(Warming { percent, span }),
    }
}

fn read_pause(word: &str, text: &str) -> Result<Pause, WordError> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let (every, length, once) = match parts[..] {
        [every, length] => (every, length, false),
        [at, length, "once"] => (at, length, true),
        _ => return Err(WORD.wrong(word, "a pause needs two spans, and may end in ',once'")),
    };
    let every = WORD.span(word, every, SPAN_MAX)?;
    let length = WORD.span(word, length, SPAN_MAX)?;
    if !once && length >= every {
        let reason = "a repeated pause must be shorter than EVERY";
        return Err(WORD.wrong(word, reason));
    }
    Ok(Pause { every, length, once })
}

impl fmt::Display for Behaviour {
    /// Writes the word that parses to this behaviour.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.service {
            Service::Instant => f.write_str("instant")?,
            Service::Independent(law) => write!(f, "{law}")?,
            Service::Queue(servers, law) => write!(f, "queue:{servers},{law}")?,
        }
        if self.slowing_percent > 0.0 {
            write!(f, "+slowing:{}%/s", self.slowing_percent)?;
        }
        if let Some(Warming { percent, span }) = self.warming {
            write!(f, "+warming:{percent}%,{}", span_word(span))?;
        }
        if let Some(Pause { every, length, once }) = self.pause {
            let once = if once { ",once" } else { "" };
            write!(f, "+pause:{},{}{once}", span_word(every), span_word(length))?;
        }
        Ok(())
    }
}

impl fmt::Display for ServiceLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fixed(span) => write!(f, "fixed:{}", span_word(span)),
            Self::Exponential(mean) => write!(f, "exponential:{}", span_word(mean)),
            Self::Lognormal(median, sigma) => write!(f, "lognormal:{},{sigma}", span_word(median)),
        }
    }
}

impl ServiceLaw {
    /// The value, in nanoseconds, for a uniform `u` in (0, 1).
    fn draw_ns(&self, u: f64) -> f64 {
        match *self {
            Self::Fixed(span) => span.ns() as f64,
            Self::Exponential(mean) => Law::Exponential(mean.ns() as f64).quantile(u),
            Self::Lognormal(median, sigma) => {
                median.ns() as f64 * Law::Normal(0.0, sigma).quantile(u).exp()
            }
        }
    }
}

impl Pause {
    /// The instant at which an answer due at `at` leaves.
    fn hold(self, at: Instant) -> Instant {
        let Self { every, length, once } = self;
        let begin = match at.ns() / every.ns() {
            0 => return at,
            _ if once => Instant::ZERO + every,
            number => Instant::ZERO + every * number,
        };
        at.max(begin + length)
    }
}

/// The state of a behaviour: when each server of the queue is free.
#[derive(Debug)]
pub(crate) struct ReplyTiming {
    behaviour: Behaviour,
    seed: u64,
    free: BinaryHeap<Reverse<Instant>>,
}

impl ReplyTiming {
    /// The state before the first request.
    pub fn new(behaviour: Behaviour, seed: u64) -> Self {
        let servers = match behaviour.service {
            Service::Queue(servers, _) => servers,
            _ => 0,
        };
        let free = (0..servers).map(|_| Reverse(Instant::ZERO)).collect();
        Self { behaviour, seed, free }
    }

    /// The instant at which the answer to request `number`, received at `arrival`, leaves. Requests
    /// of a queue must come in the order of their arrivals.
    pub fn finish(&mut self, number: u64, arrival: Instant) -> Instant {
        let done = match &self.behaviour.service {
            Service::Instant => arrival,
            Service::Independent(law) => arrival + self.draw(law, number, arrival),
            Service::Queue(_, law) => {
                let Reverse(free) = *self.free.peek().expect("a queue has a server");
                let start = arrival.max(free);
                let done = start + self.draw(law, number, start);
                self.free.pop();
                self.free.push(Reverse(done));
                done
            }
        };
        self.hold(done)
    }

    /// The instant at which an answer without service time leaves, for a request received at `at`:
    /// `at`, or the end of a pause.
    pub fn hold(&self, at: Instant) -> Instant {
        self.behaviour.pause.map_or(at, |pause| pause.hold(at))
    }

    fn draw(&self, law: &ServiceLaw, number: u64, start: Instant) -> Span {
        let u = rng::unit(rng::hash(self.seed, Stream::SERVICE, number));
        let mut growth = 1.0 + self.behaviour.slowing_percent / 100.0 * (start.ns() as f64 / 1e9);
        if let Some(Warming { percent, span }) = self.behaviour.warming {
            growth += percent / 100.0 * (-(start.ns() as f64) / span.ns() as f64).exp();
        }
        // The cast saturates if the tail of a lognormal law exceeds all bounds.
        Span::from_ns((law.draw_ns(u) * growth).round() as u64)
    }
}

#[cfg(test)]
mod tests;
