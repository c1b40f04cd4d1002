//! What machine this is and how busy it is: facts for the plan and the record.

use crate::pin;
use memtide_base::Span;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;

/// The machine, as far as it matters to a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Operating system and its release.
    pub kernel: String,
    /// The processors' name; empty if unknown.
    pub cpu_model: String,
    /// Processors that are online.
    pub cpus_online: usize,
    /// Processors that this process may use, ascending.
    pub cpus_allowed: Vec<usize>,
    /// The control group's limit, in processors.
    pub cpu_quota: Option<f64>,
    /// Memory in bytes; 0 if unknown.
    pub memory_bytes: u64,
    /// Files that this process may have open, after the limit was raised.
    pub files_max: u64,
}

/// Looks at the machine.
pub fn look() -> Machine {
    let system = rustix::system::uname();
    let word = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    Machine {
        kernel: format!("{} {}", word(system.sysname()), word(system.release())),
        cpu_model: field("/proc/cpuinfo", "model name").unwrap_or_default(),
        cpus_online: pin::online(),
        cpus_allowed: pin::inherited(),
        cpu_quota: pin::quota(),
        memory_bytes: field("/proc/meminfo", "MemTotal")
            .and_then(|text| text.split(' ').next()?.parse::<u64>().ok())
            .map_or(0, |kib| kib * 1024),
        files_max: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
    }
}

/// Raises the soft limit of open files to the hard one: a generator of connections needs them.
/// Returns the limit that now holds.
pub fn raise_file_limit() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // If it cannot be raised the old limit stays, and whoever runs into it says so.
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    (if raised { maximum } else { current }).unwrap_or(u64::MAX)
}

/// The most memory that this program has had, in bytes; zero where the kernel does not say. (What
/// `getrusage` says includes the process that started it, until the moment of the start.)
pub fn rss_max_bytes() -> u64 {
    let peak = field("/proc/self/status", "VmHWM").unwrap_or_default();
    let kib = peak.split(' ').next().and_then(|number| number.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Processor time of the calling thread so far: user, system.
pub(crate) fn thread_cpu() -> (Span, Span) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the right type, and a zeroed `rusage` is valid even if
    // the call should fail.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let span =
        |time: libc::timeval| Span::from_us(time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64);
    (span(usage.ru_utime), span(usage.ru_stime))
}

/// Time in which the calling thread could have run but was given no processor, so far; zero
/// where the kernel does not say.
pub(crate) fn thread_run_delay() -> Span {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let field = text.split(' ').nth(1).and_then(|word| word.parse().ok());
    Span::from_ns(field.unwrap_or(0))
}

/// How busy all processors together have been between readings.
#[derive(Debug, Default)]
pub struct Busyness {
    before: Option<(u64, u64)>,
    readings: Vec<f64>,
}

impl Busyness {
    /// Takes a reading; the share since the one before is kept.
    pub fn read(&mut self) {
        let Some(now) = processor_ticks() else { return };
        if let Some(before) = self.before {
            let all = now.1.saturating_sub(before.1);
            if all > 0 {
                self.readings.push(now.0.saturating_sub(before.0) as f64 / all as f64);
            }
        }
        self.before = Some(now);
    }

    /// Average, smallest and largest share (0 to 1); `None` before there are two readings.
    pub fn summary(&self) -> Option<(f64, f64, f64)> {
        let count = self.readings.len();
        (count > 0).then(|| {
            let sum: f64 = self.readings.iter().sum();
            let min = self.readings.iter().copied().fold(f64::INFINITY, f64::min);
            let max = self.readings.iter().copied().fold(0.0, f64::max);
            (sum / count as f64, min, max)
        })
    }
}

/// Busy and all ticks of all processors since boot.
fn processor_ticks() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<u64> =
        text.lines().next()?.split_whitespace().skip(1).filter_map(|n| n.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guest time is within user.
    let all: u64 = ticks.iter().take(8).sum();
    let idle = ticks.get(3)? + ticks.get(4)?;
    Some((all - idle, all))
}

/// The value of the first line `name: value` in a file of /proc.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}
