//! The control groups of this process: how much CPU time they allow, and for how long they stopped
//! its threads because it was used up. Nothing here judges.

use memtide_base::Span;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the kernel shows control groups.
const ROOT: &str = "/sys/fs/cgroup";
/// The controller that limits CPU time, in the first version of control groups.
const CONTROLLER: &str = "cpu";

/// The control groups whose CPU limits hold for this process: its own and all those above.
#[derive(Clone, Debug, Default)]
pub struct ControlGroups(Vec<PathBuf>);

impl ControlGroups {
    /// The groups of this process.
    pub fn own() -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self::of(Path::new(ROOT), &groups)
    }

    /// The groups of a process whose `/proc/PID/cgroup` is `text`, if the kernel shows groups at
    /// `root`. Folders that do not exist are skipped: a container sees its own group as the root.
    fn of(root: &Path, text: &str) -> Self {
        let mut folders = Vec::new();
        for line in text.lines() {
            let mut cells = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (cells.next(), cells.next()) else { continue };
            let mounts: &[&str] = match controllers {
                "" => &["", "unified"],
                some if some.split(',').any(|name| name == CONTROLLER) => &[some, CONTROLLER],
                _ => continue,
            };
            for mount in mounts {
                let whole = root.join(mount);
                let group = whole.join(path.trim_start_matches('/'));
                let above = group.ancestors().take_while(|folder| folder.starts_with(&whole));
                folders.extend(above.map(Path::to_owned));
            }
        }
        folders.sort_unstable();
        folders.dedup();
        Self(folders)
    }

    /// The smallest limit of all groups, in processors; none without a limit.
    pub fn quota(&self) -> Option<f64> {
        self.0.iter().filter_map(|folder| quota(folder)).reduce(f64::min)
    }

    /// For how long a group has stopped its threads so far, added up over all processors; of
    /// several groups with a limit the one that did it longest. None without a limit.
    pub fn throttled(&self) -> Option<Span> {
        let limited = self.0.iter().filter(|folder| quota(folder).is_some());
        limited.filter_map(|folder| throttled(folder)).max()
    }
}

/// The limit of one group, in processors.
fn quota(group: &Path) -> Option<f64> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let (quota, period) = match read("cpu.max") {
        Some(both) => {
            let (quota, period) = both.trim().split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        }
        None => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
    };
    let quota: f64 = quota.trim().parse().ok()?;
    let period: f64 = period.trim().parse().ok()?;
    // Without a limit the first version says -1, the second one "max".
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// For how long one group has been stopped. The first version says it in nanoseconds.
fn throttled(group: &Path) -> Option<Span> {
    let text = fs::read_to_string(group.join("cpu.stat")).ok()?;
    text.lines().find_map(|line| match line.split_once(' ')? {
        ("throttled_usec", us) => us.trim().parse().ok().map(Span::from_us),
        ("throttled_time", ns) => ns.trim().parse().ok().map(Span::from_ns),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
