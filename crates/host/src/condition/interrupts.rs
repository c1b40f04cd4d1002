//! Interrupts of each CPU, from the kernel's counters.

use memtide_base::Span;
use std::collections::BTreeMap;
use std::fs;

/// The kernel's counters of interrupts since boot.
#[derive(Clone, Debug, Default)]
pub struct Interrupts {
    cpus: Vec<usize>,
    /// Counts by source, one for each of the CPUs.
    by_source: BTreeMap<String, Vec<u64>>,
}

/// The interrupts of one CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuInterrupts {
    /// The CPU.
    pub cpu: usize,
    /// Interrupts per second.
    pub per_s: f64,
    /// The source of most of them, as the kernel names it.
    pub source: String,
}

impl Interrupts {
    /// Reads the counters; there are none if the kernel does not show them.
    pub fn read() -> Self {
        Self::of(&fs::read_to_string("/proc/interrupts").unwrap_or_default())
    }

    /// Parses the text of `/proc/interrupts`: a heading with the CPUs, then a line for each source.
    fn of(text: &str) -> Self {
        let mut lines = text.lines();
        let heading = lines.next().unwrap_or_default();
        let numbers = heading.split_whitespace().map(|word| word.trim_start_matches("CPU").parse());
        let cpus: Vec<usize> = numbers.map_while(Result::ok).collect();
        let by_source = lines.filter_map(|line| {
            let (number, rest) = line.split_once(':')?;
            let mut words = rest.split_whitespace();
            let counts: Vec<u64> =
                words.by_ref().take(cpus.len()).map_while(|word| word.parse().ok()).collect();
            let name = words.next_back().unwrap_or(number).trim();
            (counts.len() == cpus.len()).then(|| (format!("{} {name}", number.trim()), counts))
        });
        let by_source = by_source.collect();
        Self { cpus, by_source }
    }

    /// The interrupts of each CPU since `before`, which was `length` ago.
    pub fn since(&self, before: &Self, length: Span) -> Vec<CpuInterrupts> {
        let none = vec![0; self.cpus.len()];
        let mut each = Vec::new();
        for (at, &cpu) in self.cpus.iter().enumerate() {
            let sources = self.by_source.iter().map(|(name, now)| {
                let earlier = before.by_source.get(name).unwrap_or(&none);
                let more = now[at].saturating_sub(earlier.get(at).copied().unwrap_or(0));
                (more, name.clone())
            });
            let sources: Vec<(u64, String)> = sources.collect();
            let all: u64 = sources.iter().map(|(count, _)| count).sum();
            let Some((_, source)) = sources.into_iter().max() else { continue };
            each.push(CpuInterrupts { cpu, per_s: all as f64 / length.as_s_f64(), source });
        }
        each
    }
}

#[cfg(test)]
mod tests;
