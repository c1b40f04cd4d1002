//! The requests: keys, values, shares of kinds, and the connections that carry them.

use super::{Reader, Settings, count, not_negative};
use crate::Stop;
use crate::mutilate::numbers::{Connections, Law, LawFault, misread};
use crate::mutilate::options::{Keys, Load, Multiget};
use crate::number::leading_decimal;

/// The defaults of mcperf's key cache: keys that a connection draws beforehand, passes through
/// them, and the percentage redrawn. They apply unless `--keycache_capacity` is set.
const CACHE: (u32, u32, u32) = (10_000, 100, 1);
/// The cache under a profile: mcperf takes 10 000 for all three, and would divide by zero at the
/// first renewal; 100 % redraws all keys.
const PROFILE_CACHE: (u32, u32, u32) = (10_000, 10_000, 100);

impl Reader<'_> {
    pub(super) fn connections(&mut self, settings: &Settings<'_>, servers: usize) -> Connections {
        let given = self.given;
        // With agents it applies to the master's own load only.
        let measured = given.int("measure_connections").filter(|_| !self.has_agents());
        let measured = measured.map(not_negative);
        if measured.is_some() && settings.qps > 0 {
            self.note(
                "--measure_connections (-C): the total rate is still --qps, spread over these \
                 connections; the original's rate would grow with them.",
            );
        }
        Connections {
            servers: u32::try_from(servers).unwrap_or(u32::MAX),
            threads: not_negative(given.int_or_default("threads")),
            each: measured.unwrap_or(settings.connections_each),
            is_roundrobin: given.has("roundrobin"),
        }
    }

    pub(super) fn load(&mut self, settings: &Settings<'_>) -> Result<Load, Stop> {
        let given = self.given;
        let records_each = (settings.records / count(given).max(1)).max(1);
        let law = |word: &str| self.size_law(word)?.ok_or_else(|| self.no_law(word));
        let (key_bytes, value_bytes) = (law(settings.keysize)?, law(settings.valuesize)?);
        let keys = self.keys(settings, records_each)?;
        self.note_what_is_no_number(settings);
        let seed = given.int("seed").map(not_negative);
        Ok(Load {
            records_each,
            key_bytes,
            value_bytes,
            keys,
            set_probability: given.float_or_default("update"),
            multiget: self.multiget(),
            is_filled: !given.has("noload"),
            seed,
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
        let (asked, rounds, percent) = match settings.profile {
            Some(_) => PROFILE_CACHE,
            None => self.cache(),
        };
        let capacity = asked.min(records_each);
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

    /// Keys drawn beforehand, passes, and percentage redrawn. The latter two count only with the
    /// first, and are then 0 if absent.
    fn cache(&mut self) -> (u32, u32, u32) {
        let number = |long: &str| self.given.int(long).map(not_negative);
        let (rounds, percent) = (number("keycache_reuse"), number("keycache_regen"));
        if let Some(capacity) = number("keycache_capacity") {
            return (capacity, rounds.unwrap_or(0), percent.unwrap_or(0));
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
        let keys = not_negative(given.int_or_default("getq_size"));
        (probability > 0.0).then(|| Multiget { probability: probability.min(1.0), keys })
    }
}
