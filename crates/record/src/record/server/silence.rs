//! Times in which a server sent no reply although operations were in flight to it: which of them
//! count, what several processes have in common, and whether they come at regular intervals.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A server is silent after this many usual reply times without a reply, …
const REPLY_TIMES: u64 = 20;
/// … and after this time at the earliest, in ns.
const SILENT_NS_MIN: u64 = 100_000_000;
/// The fewest stalls that can show a rhythm.
const STALLS_MIN: usize = 4;
/// The largest coefficient of variation of the times between stalls that have a rhythm.
const VARIATION_MAX: f64 = 0.2;

/// The silences of one server in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ServerSilence {
    /// Median time from sending an operation to its reply, in ns, at most 1.5 times too large;
    /// 0 if no reply came.
    pub reply_ns: u64,
    /// Times without a reply, in order and without overlap, each of 100 ms or longer.
    pub times: Vec<SilentTime>,
}

/// A time without a reply, in ns after the measured window began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SilentTime {
    /// Beginning.
    pub from_ns: u64,
    /// End: a reply came, or the window ended.
    pub until_ns: u64,
}

/// Stalls of about one length at about equal distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rhythm {
    /// Number of stalls.
    pub count: usize,
    /// Their median length in seconds.
    pub each_s: f64,
    /// Mean time from the beginning of one to that of the next, in seconds.
    pub every_s: f64,
}

impl SilentTime {
    fn length_ns(self) -> u64 {
        self.until_ns.saturating_sub(self.from_ns)
    }
}

impl ServerSilence {
    /// The silences among `times`, which are in order; none if no time is long enough.
    pub fn of(reply_ns: u64, mut times: Vec<SilentTime>) -> Option<Self> {
        let silent_ns = SILENT_NS_MIN.max(reply_ns.saturating_mul(REPLY_TIMES));
        times.retain(|time| time.length_ns() >= silent_ns);
        (!times.is_empty()).then_some(Self { reply_ns, times })
    }

    /// The times of `self` in which another process had no reply either; none if there are none.
    pub fn common(&self, other: &Self) -> Option<Self> {
        let (mut ours, mut theirs) = (self.times.iter().peekable(), other.times.iter().peekable());
        let mut times = Vec::new();
        while let (Some(one), Some(two)) = (ours.peek(), theirs.peek()) {
            let from_ns = one.from_ns.max(two.from_ns);
            times.push(SilentTime { from_ns, until_ns: one.until_ns.min(two.until_ns) });
            let passed = if one.until_ns < two.until_ns { &mut ours } else { &mut theirs };
            passed.next();
        }
        times.retain(|time| time.length_ns() >= SILENT_NS_MIN);
        let reply_ns = self.reply_ns.max(other.reply_ns);
        (!times.is_empty()).then_some(Self { reply_ns, times })
    }

    /// Total time in seconds.
    pub(crate) fn total_s(&self) -> f64 {
        self.times.iter().map(|time| time.length_ns() as f64 / 1e9).sum()
    }

    /// The rhythm of the stalls, if they have one.
    pub(crate) fn rhythm(&self) -> Option<Rhythm> {
        let starts_s = self.times.iter().map(|time| time.from_ns as f64 / 1e9);
        let gaps_s: Vec<f64> =
            starts_s.clone().zip(starts_s.skip(1)).map(|(one, next)| next - one).collect();
        if self.times.len() < STALLS_MIN {
            return None;
        }
        let count = gaps_s.len() as f64;
        let mean = gaps_s.iter().sum::<f64>() / count;
        let squares: f64 = gaps_s.iter().map(|gap| (gap - mean).powi(2)).sum();
        let variation = (squares / (count - 1.0)).sqrt() / mean;
        let mut lengths: Vec<u64> = self.times.iter().map(|time| time.length_ns()).collect();
        lengths.sort_unstable();
        let each_s = lengths[lengths.len() / 2] as f64 / 1e9;
        let rhythm = Rhythm { count: self.times.len(), each_s, every_s: mean };
        (variation < VARIATION_MAX).then_some(rhythm)
    }
}
