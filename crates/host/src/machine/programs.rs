//! The CPU time of the programs of this machine, as far as this user may see them.

use super::pin;
use memtide_base::Span;
use rustix::param::clock_ticks_per_second;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Programs that are looked at; a machine with more is not worth the time.
pub(super) const PROGRAMS_MAX: usize = 4_096;

/// A process, and the CPU time that it used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its process id.
    pub id: u32,
    /// Its name, of at most 15 bytes.
    pub name: String,
    /// CPU time of all its threads.
    pub used: Span,
    /// When it began, in clock ticks after the machine did: with the id, what it is. Threads of the
    /// kernel change their names.
    began: u64,
}

/// A reading of the CPU times of all processes.
#[derive(Clone, Debug, Default)]
pub struct Programs(BTreeMap<u32, Program>);

impl Programs {
    /// Reads them now.
    pub fn read() -> Self {
        let all = numbers("/proc").take(PROGRAMS_MAX).filter_map(|id: u32| {
            let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            Some((id, program(id, &text)?))
        });
        Self(all.collect())
    }

    /// The process that used most CPU time since `before`, other than this one, of those that
    /// `may_be` it by their id; none if all slept.
    pub fn busiest_since(&self, before: &Self, may_be: impl Fn(u32) -> bool) -> Option<Program> {
        let own = std::process::id();
        let others = self.0.values().filter(|program| program.id != own);
        let each = others.map(|program| {
            let earlier = before.0.get(&program.id).filter(|it| it.began == program.began);
            let earlier = earlier.map_or(Span::ZERO, |earlier| earlier.used);
            Program { used: program.used.saturating_sub(earlier), ..program.clone() }
        });
        let mut busy: Vec<Program> = each.filter(|program| !program.used.is_zero()).collect();
        busy.sort_unstable_by_key(|program| Reverse(program.used));
        busy.into_iter().find(|program| may_be(program.id))
    }
}

/// The processors that the threads of a process may use together, ascending; empty if the kernel
/// does not say.
pub fn cpus_of(process: u32) -> Vec<usize> {
    let mut all: BTreeSet<usize> = BTreeSet::new();
    numbers(&format!("/proc/{process}/task")).for_each(|id| all.extend(pin::of(id)));
    all.into_iter().collect()
}

/// The names in a folder that are numbers: ids of processes or of threads.
pub(super) fn numbers(folder: &str) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// A line of `/proc/PID/stat`. The name stands in parentheses and may contain any byte.
fn program(id: u32, text: &str) -> Option<Program> {
    let (begin, rest) = text.rsplit_once(')')?;
    let (_, name) = begin.split_once('(')?;
    // The rest begins with field 3; user time, system time and begin are fields 14, 15 and 22.
    let [user, system, began] =
        [11, 12, 19].map(|nth| rest.split_whitespace().nth(nth)?.parse::<u64>().ok());
    let busy = user?.checked_add(system?)?;
    let used = Span::from_s_f64(busy as f64 / clock_ticks_per_second() as f64);
    Some(Program { id, name: name.to_owned(), used, began: began? })
}

#[cfg(test)]
mod tests;
