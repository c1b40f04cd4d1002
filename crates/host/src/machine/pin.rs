//! The processors that this process may use, and pinning of threads.

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeMap;
use std::fs;

/// The processors of the inherited affinity mask, ascending.
pub(crate) fn inherited() -> Vec<usize> {
    allowed(None)
}

/// The processors that the thread with this id, of any process, may use, ascending; empty if there
/// is none.
pub(crate) fn of(thread: u32) -> Vec<usize> {
    let id = i32::try_from(thread).ok().and_then(Pid::from_raw);
    id.map_or_else(Vec::new, |id| allowed(Some(id)))
}

fn allowed(thread: Option<Pid>) -> Vec<usize> {
    let mask = sched_getaffinity(thread).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect()
}

/// The core of each of `cpus`, if the kernel names it: the first processor of that core.
pub fn cores(cpus: &[usize]) -> BTreeMap<usize, usize> {
    let cores = cpus.iter().filter_map(|&cpu| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let list = fs::read_to_string(path).ok()?;
        let first = list.trim().split([',', '-']).next()?.parse().ok()?;
        Some((cpu, first))
    });
    cores.collect()
}

/// The number of online processors.
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

/// Pins the calling thread to `cpu`.
pub(crate) fn pin(cpu: usize) -> rustix::io::Result<()> {
    keep(None, &[cpu])
}

/// Keeps a thread of this process on `cpus`; `None` is the calling one.
pub(crate) fn keep(thread: Option<Pid>, cpus: &[usize]) -> rustix::io::Result<()> {
    sched_setaffinity(thread, &mask(cpus))
}

fn mask(cpus: &[usize]) -> CpuSet {
    let mut mask = CpuSet::new();
    cpus.iter().for_each(|&cpu| mask.set(cpu));
    mask
}

/// Restricts all threads that this process has now to `cpus`; threads that they start inherit this.
/// With empty `cpus` nothing changes. A thread for which this is forbidden stays where it is, which
/// costs little because threads beside the workers sleep.
pub fn keep_process_on(cpus: &[usize]) {
    if cpus.is_empty() {
        return;
    }
    let mask = mask(cpus);
    for thread in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let number = thread.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(thread) = number.and_then(Pid::from_raw) {
            let _ = sched_setaffinity(Some(thread), &mask);
        }
    }
}

/// Keeps the calling thread, and the threads that it starts, off `cpus`, if another processor is
/// left. If that is forbidden, the thread stays where it is, which costs little because it sleeps.
pub fn stay_off(cpus: &[usize]) {
    let mut left = CpuSet::new();
    inherited().into_iter().filter(|cpu| !cpus.contains(cpu)).for_each(|cpu| left.set(cpu));
    if left.count() > 0 {
        let _ = sched_setaffinity(None, &left);
    }
}

/// Calls `does` while the calling thread may use all of `cpus`, which processes that it starts
/// inherit. With empty `cpus`, or if that is forbidden, the thread keeps its own.
pub fn with_cpus<T>(cpus: &[usize], does: impl FnOnce() -> T) -> T {
    let own = sched_getaffinity(None).ok().filter(|_| !cpus.is_empty());
    let Some(own) = own else { return does() };
    let is_wider = sched_setaffinity(None, &mask(cpus)).is_ok();
    let done = does();
    if is_wider {
        let _ = sched_setaffinity(None, &own);
    }
    done
}
