//! The memory that this process can still take: the least of the machine's available memory, the
//! rest of its control groups' limits, and the rest of its address space limit. What keeps the
//! process itself small is in `memory/resident.rs`.

mod resident;

use crate::machine::field;
pub use resident::{map_blocks, release};
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::path::{Path, PathBuf};

/// An amount of memory, and the bound that limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Available {
    /// The amount in bytes.
    pub bytes: u64,
    /// The bound, for a message.
    pub by: &'static str,
}

/// The memory that this process can still take; `None` if the kernel does not say.
pub fn available() -> Option<Available> {
    let limits = [
        (kib("/proc/meminfo", "MemAvailable"), "free on this machine"),
        (of_groups(Path::new("/")), "left by the control group's limit"),
        (of_addresses(), "left by the limit of addresses, ulimit -v"),
    ];
    let known = limits.into_iter().filter_map(|(bytes, by)| Some(Available { bytes: bytes?, by }));
    known.min_by_key(|available| available.bytes)
}

fn of_addresses() -> Option<u64> {
    let limit = getrlimit(Resource::As).current?;
    Some(limit.saturating_sub(kib("/proc/self/status", "VmSize")?))
}

fn kib(path: &str, name: &str) -> Option<u64> {
    let text = field(path, name)?;
    text.split(' ').next()?.parse::<u64>().ok().map(|kib| kib.saturating_mul(1024))
}

/// The smallest unused part of the limit of any control group above this process; `None` without a
/// limit. `root` is where the file systems are mounted.
fn of_groups(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let places = groups.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let (mount, names) = match controllers {
            "" => ("sys/fs/cgroup", &SECOND),
            names if names.split(',').any(|name| name == "memory") => {
                ("sys/fs/cgroup/memory", &FIRST)
            }
            _ => return None,
        };
        Some((root.join(mount), path.trim_start_matches('/').to_owned(), names))
    });
    places.filter_map(|(mount, path, names)| of_group(&mount, &path, names)).min()
}

/// The files of a control group: its limit, its use, and the part of the use that is only cache.
struct Names {
    limit: &'static str,
    used: &'static str,
    cached: &'static str,
}

const SECOND: Names =
    Names { limit: "memory.max", used: "memory.current", cached: "inactive_file " };
const FIRST: Names = Names {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cached: "total_inactive_file ",
};

/// The smallest unused limit from the group at `path` up to the mount. In a container the path may
/// be one outside of it; then the mount itself is the group.
fn of_group(mount: &Path, path: &str, names: &Names) -> Option<u64> {
    let own: PathBuf = mount.join(path);
    let up = own.ancestors().take_while(|folder| folder.starts_with(mount));
    up.filter_map(|folder| left(folder, names)).min()
}

fn left(folder: &Path, names: &Names) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let limit: u64 = read(names.limit)?.trim().parse().ok()?;
    let used: u64 = read(names.used)?.trim().parse().ok()?;
    let stat = read("memory.stat").unwrap_or_default();
    let cached = stat.lines().find_map(|line| line.strip_prefix(names.cached)?.parse().ok());
    Some(limit.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
}

#[cfg(test)]
mod tests;
