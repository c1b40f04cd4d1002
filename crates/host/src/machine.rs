//! Facts about this machine and its load, for the plan and the record.

pub(crate) mod pin;
mod group;
mod kept;
mod local_server;
mod programs;
mod secrecy;
mod second;

pub use group::ControlGroups;
pub(crate) use kept::Kept;
pub use local_server::LocalServer;
pub use programs::{Program, Programs, cpus_of};
pub use second::{MachineSecond, SecondReader};
pub use secrecy::hide_process;

use memtide_base::{Instant, Span};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::termios::tcgetwinsize;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::{env, fs};

/// The properties of the machine that affect a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Operating system and its release.
    pub kernel: String,
    /// The processors' name; empty if unknown.
    pub cpu_model: String,
    /// The number of online processors.
    pub cpus_online: usize,
    /// Processors that this process may use, ascending.
    pub cpus_allowed: Vec<usize>,
    /// The core of each allowed processor, identified by the core's first processor.
    pub cores: BTreeMap<usize, usize>,
    /// The limit of the control group, in processors; `None` without a limit.
    pub cpu_quota: Option<f64>,
    /// The kernel's clock source; `None` if the kernel does not say.
    pub clock_source: Option<String>,
    /// Memory in bytes; 0 if unknown.
    pub memory_bytes: u64,
    /// The limit of open files of this process, after it was raised.
    pub files_max: u64,
}

/// The file with the kernel's clock source.
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The machine's host name.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The number of the user of this process.
pub fn user_number() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The folder that the environment variable `name` holds, if its path is absolute.
pub fn folder_variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
}

/// The folder that the environment variable `name` holds, or else the folder `usual` in the user's
/// home: `HOME`, or the home in the system's list of users, because services have no environment.
pub fn user_folder(name: &str, usual: &str) -> Option<PathBuf> {
    folder_variable(name)
        .or_else(|| Some(folder_variable("HOME").or_else(home_folder)?.join(usual)))
}

/// The home of this process's user in the system's list of users; `None` if the user is not listed
/// there.
fn home_folder() -> Option<PathBuf> {
    let user = user_number().to_string();
    let list = fs::read_to_string("/etc/passwd").ok()?;
    let mut users = list.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = users.find(|cells| cells.len() > 5 && cells[2] == user)?;
    Some(PathBuf::from(found[5])).filter(|home| home.is_absolute())
}

/// Reads the facts of this machine.
pub fn look() -> Machine {
    let system = rustix::system::uname();
    let word = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let cpus_allowed = pin::inherited();
    Machine {
        kernel: format!("{} {}", word(system.sysname()), word(system.release())),
        cpu_model: field("/proc/cpuinfo", "model name").unwrap_or_default(),
        cpus_online: pin::online(),
        cores: pin::cores(&cpus_allowed),
        cpus_allowed,
        cpu_quota: ControlGroups::own().quota(),
        clock_source: fs::read_to_string(CLOCK_SOURCE).ok().map(|word| word.trim().to_owned()),
        memory_bytes: field("/proc/meminfo", "MemTotal")
            .and_then(|text| text.split(' ').next()?.parse::<u64>().ok())
            .map_or(0, |kib| kib * 1024),
        files_max: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
    }
}

/// The path by which this program was started. If it is a link, the link's own path, even if a
/// shell found it in PATH.
pub fn started_as() -> PathBuf {
    PathBuf::from(OsStr::from_bytes(rustix::param::linux_execfn().to_bytes()))
}

/// Raises the soft limit of open files to the hard one: a generator of connections needs them.
/// Returns the limit that now holds.
pub fn raise_file_limit() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // If it cannot be raised, the old limit stays, and an open that exceeds it reports an error.
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    (if raised { maximum } else { current }).unwrap_or(u64::MAX)
}

/// The width of a terminal in characters; `None` if it is unknown or not a terminal.
pub fn terminal_columns(terminal: impl AsFd) -> Option<usize> {
    let size = tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// The most memory that this program has used, in bytes; 0 if the kernel does not say. (The figure
/// of `getrusage` includes the parent process up to the start.)
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

/// Time in which the calling thread was ready to run and had no processor, so far; 0 if the kernel
/// does not say.
pub(crate) fn thread_run_delay() -> Span {
    Kept::default().read().unwrap_or_default()
}

/// The busy shares of the processors since the first reading.
#[derive(Debug, Default)]
pub struct Busyness {
    first: Option<Ticks>,
    last: Option<(Instant, Ticks)>,
    /// The smallest and the largest busy share of all processors together in one second.
    seconds: Option<(f64, f64)>,
}

/// Busy shares of time, each from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Busy {
    /// The share of all processors together.
    pub mean: f64,
    /// The share of the idlest processor.
    pub idlest: f64,
    /// The share of the busiest processor.
    pub busiest: f64,
    /// The shares of all processors together in the idlest and the busiest second; `None` before
    /// there was one.
    pub seconds: Option<(f64, f64)>,
    /// The share of all processors together in which work was ready and the hypervisor ran
    /// something else; a part of the busy time.
    pub stolen: f64,
}

/// The shortest time between two readings whose busy share counts as that of a second.
const SECOND: Span = Span::from_ms(900);

impl Busyness {
    /// Takes a reading at `at`. The time since the last reading counts as a second if it was about
    /// as long.
    pub fn read(&mut self, at: Instant) {
        if let Ok(text) = fs::read_to_string("/proc/stat") {
            self.accept(at, Ticks::of(&text));
        }
    }

    fn accept(&mut self, at: Instant, now: Ticks) {
        if let Some((before_at, before)) = &self.last
            && at.since(*before_at) >= SECOND
            && let Some(share) = now.all.share_since(before.all)
        {
            let (least, most) = self.seconds.unwrap_or((share, share));
            self.seconds = Some((least.min(share), most.max(share)));
        }
        self.first.get_or_insert_with(|| now.clone());
        self.last = Some((at, now));
    }

    /// The shares between the first reading and the last; `None` before there are two.
    pub fn summary(&self) -> Option<Busy> {
        let (first, (_, last)) = (self.first.as_ref()?, self.last.as_ref()?);
        let mean = last.all.share_since(first.all)?;
        // A processor that was added or removed meanwhile counts in the mean only.
        let both = |(number, now): (&u32, &Tick)| now.share_since(*first.each.get(number)?);
        let each = || last.each.iter().filter_map(both);
        Some(Busy {
            mean,
            idlest: each().reduce(f64::min).unwrap_or(mean),
            busiest: each().reduce(f64::max).unwrap_or(mean),
            seconds: self.seconds,
            stolen: last.all.stolen_since(first.all)?,
        })
    }
}

/// The kernel's counters of the processors' time since boot.
#[derive(Clone, Debug, Default)]
struct Ticks {
    all: Tick,
    /// By the processor's number.
    each: BTreeMap<u32, Tick>,
}

impl Ticks {
    /// Parses the text of `/proc/stat`.
    fn of(text: &str) -> Self {
        let mut ticks = Self::default();
        for line in text.lines() {
            let Some((name, times)) = line.split_once(' ') else { continue };
            let Some(number) = name.strip_prefix("cpu") else { continue };
            match number.parse() {
                Ok(number) => drop(ticks.each.insert(number, Tick::of(times))),
                Err(_) => ticks.all = Tick::of(times),
            }
        }
        ticks
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Tick {
    busy: u64,
    stolen: u64,
    all: u64,
}

impl Tick {
    fn of(times: &str) -> Self {
        let times: Vec<u64> = times.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is within user.
        let all: u64 = times.iter().take(8).sum();
        let idle: u64 = times.iter().skip(3).take(2).sum();
        Self { busy: all - idle, stolen: times.get(7).copied().unwrap_or(0), all }
    }

    fn share_since(self, before: Self) -> Option<f64> {
        self.part_since(before, self.busy.saturating_sub(before.busy))
    }

    fn stolen_since(self, before: Self) -> Option<f64> {
        self.part_since(before, self.stolen.saturating_sub(before.stolen))
    }

    /// `ticks` as a share of all ticks since `before`.
    fn part_since(self, before: Self, ticks: u64) -> Option<f64> {
        let all = self.all.saturating_sub(before.all);
        (all > 0).then(|| (ticks as f64 / all as f64).min(1.0))
    }
}

/// The value of the first line `name: value` in a file of /proc.
pub(crate) fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests;
