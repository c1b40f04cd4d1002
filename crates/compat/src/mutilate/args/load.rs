//! The requests: keys, values, shares of kinds, and the connections that carry them.

use super::{Reader, Settings, count};
use crate::Stop;
use crate::mutilate::numbers::{Law, LawFault, misread};
use crate::mutilate::options::{Connections, Keys, Load, Multiget};
use crate::number::leading_decimal;

/// mcperf's key cache.
struct Cache {
    /// Keys that a connection draws beforehand.
    capacity: u32,
    /// Passes through them.
    rounds: u32,
    /// The percentage redrawn then.
    percent: u32,
}

/// The defaults of the key cache. They apply unless `--keycache_capacity` is set.
const CACHE: Cache = Cache { capacity: 10_000, rounds: 100, percent: 1 };
/// The cache under a profile: mcperf takes 10 000 for all three, and would divide by zero at the
/// first renewal; 100 % redraws all keys.
const PROFILE_CACHE: Cache = Cache { capacity: 10_000, rounds: 10_000, percent: 100 };

impl Reader<'_> {
    pub(super) fn connections(&mut self, settings: &Settings<'_>, servers: usize) -> Connections {
        let given = self.given;
        // With agents it applies to the master's own load only.
        let measured = self.natural("measure_connections").filter(|_| !self.has_agents());
        if measured.is_some() && settings.qps > 0 {
            self.note(
                "--measure_connections (-C): the total rate is still --qps, spread over these \
                 connections; the original's rate would grow with them.",
            );
        }
        Connections {
            servers: u32::try_from(servers).unwrap_or(u32::MAX),
            threads: self.natural_or_default("threads"),
            each: measured.unwrap_or(settings.connections_each),
            is_roundrobin: given.has("roundrobin"),
        }
    }

    pub(super) fn load(&mut self, settings: &Settings<'_>) -> Result<Load, Stop> {
        let given = self.given;
        let records_each = (settings.records / count(given).max(1)).max(1);
        let (key_word, value_word) = (settings.keysize, settings.valuesize);
        let key_bytes = self.size_law(key_word)?.ok_or_else(|| self.no_law(key_word))?;
        let value_bytes = self.size_law(value_word)?.ok_or_else(|| self.no_law(value_word))?;
        let keys = self.keys(settings, records_each)?;
        self.note_what_is_no_number(settings);
        Ok(Load {
            records_each,
            key_bytes,
            value_bytes,
            keys,
            set_probability: given.float_or_default("update"),
            multiget: self.multiget(),
            is_filled: !given.has("noload"),
            seed: self.natural("seed"),
        })
    }

    /// Notes distributions with text where a number must be, of which the originals read what is
    /// before the text, or 0.
    fn note_what_is_no_number(&mut self, settings: &Settings<'_>) {
        let words = [
            ("--keysize (-K)", settings.keysize),
            ("--keyorder", settings.keyorder),
            ("--valuesize (-V)", settings.valuesize),
            ("--iadist (-i)", settings.iadist),
        ];
        for (option, word) in words {
            let Some(text) = misread(word) else { continue };
            self.note(format!(
                "{option} '{word}': '{text}' is no number; it counts as {}, as in the original.",
                leading_decimal(text)
            ));
        }
    }

    /// The distribution that `word` names; `None` for mcperf's `none`.
    pub(super) fn law(&self, word: &str) -> Result<Option<Law>, Stop> {
        let is_mcperf = !self.face.is_mutilate();
        Law::read(word, is_mcperf).map_err(|fault| self.source.law(fault, word))
    }

    /// The distribution that `word` names, of sizes or of keys.
    fn size_law(&self, word: &str) -> Result<Option<Law>, Stop> {
        let is_original = self.given.has("original-normal");
        let law = self.law(word)?;
        Ok(if is_original { law.map(Law::as_drawn_there) } else { law })
    }

    /// The error if `none` is written where a distribution is required.
    pub(super) fn no_law(&self, word: &str) -> Stop {
        self.source.law(LawFault::Unknown, word)
    }

    fn keys(&mut self, settings: &Settings<'_>, records_each: u32) -> Result<Keys, Stop> {
        if self.face.is_mutilate() {
            return Ok(Keys::Random);
        }
        let law = self.size_law(settings.keyorder)?;
        let Cache { capacity, rounds, percent } = match settings.profile {
            Some(_) => PROFILE_CACHE,
            None => self.cache(),
        };
        let capacity = capacity.min(records_each);
        let renewed = u64::from(capacity) * u64::from(percent.min(100)) / 100;
        let renewed = u32::try_from(renewed).expect("at most the capacity").max(1);
        if law.is_none() && capacity < records_each {
            let remedy = match settings.profile {
                Some(_) => String::new(),
                None => format!("; --keyorder uniform:{records_each} draws from all of them"),
            };
            self.note(format!(
                "--records: of {records_each} keys on each server only the first {capacity} are \
                 asked for, in order, as mcperf does{remedy}."
            ));
        }
        if percent > 100 {
            self.note("--keycache_regen: more than 100 percent is taken for 100.");
        }
        Ok(Keys::Cached { law, capacity, rounds, stride_max: capacity / renewed })
    }

    /// The cache that the options ask for. Passes and percentage count only with a capacity, and
    /// are then 0 if absent.
    fn cache(&mut self) -> Cache {
        let (rounds, percent) = (self.natural("keycache_reuse"), self.natural("keycache_regen"));
        if let Some(capacity) = self.natural("keycache_capacity") {
            let (rounds, percent) = (rounds.unwrap_or(0), percent.unwrap_or(0));
            return Cache { capacity, rounds, percent };
        }
        if rounds.is_some() || percent.is_some() {
            self.note(
                "--keycache_reuse and --keycache_regen are ignored without --keycache_capacity, \
                 as mcperf does.",
            );
        }
        CACHE
    }

    fn multiget(&mut self) -> Option<Multiget> {
        let given = self.given;
        if self.face.is_mutilate() || !given.has("getq_freq") {
            return None;
        }
        let probability = given.float_or_default("getq_freq");
        if probability > 1.0 {
            self.note(format!(
                "--getq_freq {probability}: it is a probability, whatever mcperf's page says, so \
                 every get is a multiget; write 0.5 for half of them."
            ));
        }
        let keys = self.natural_or_default("getq_size");
        (probability > 0.0).then(|| Multiget { probability: probability.min(1.0), keys })
    }
}
