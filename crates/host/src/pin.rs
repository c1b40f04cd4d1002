//! Which processors this process may use, and keeping a thread on one.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;

/// The processors of the inherited mask, ascending.
pub(crate) fn inherited() -> Vec<usize> {
    let mask = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect()
}

/// How many processors are online in this machine.
pub(crate) fn online() -> usize {
    let list = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let count: usize = list
        .trim()
        .split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(last.parse::<usize>().ok()? + 1 - first.parse::<usize>().ok()?)
        })
        .sum();
    count.max(1)
}

/// The processor time that the control group allows, in processors; `None` without a limit.
pub(crate) fn quota() -> Option<f64> {
    let group = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = group.lines().find_map(|line| line.strip_prefix("0::"))?;
    let limit = fs::read_to_string(format!("/sys/fs/cgroup{path}/cpu.max")).ok()?;
    let (quota, period) = limit.trim().split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

/// Keeps the calling thread on `cpu`.
pub(crate) fn pin(cpu: usize) -> rustix::io::Result<()> {
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only)
}
