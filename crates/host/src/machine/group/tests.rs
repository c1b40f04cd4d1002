//! Control groups as planted files.

use super::*;

/// A folder with planted files, below the system's folder for such.
fn planted(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = std::env::temp_dir().join(format!("memtide-{}-{name}", std::process::id()));
    for (path, text) in files {
        let file = root.join(path);
        fs::create_dir_all(file.parent().expect("it is in a folder")).expect("it can be made");
        fs::write(file, text).expect("it can be written");
    }
    root
}

fn s(seconds: f64) -> Option<Span> {
    Some(Span::from_s_f64(seconds))
}

#[test]
fn the_tightest_of_all_groups_holds_and_its_stops_are_read() {
    let second = planted(
        "second",
        &[
            ("cpu.stat", "usage_usec 9\n"),
            ("pod/cpu.max", "50000 100000\n"),
            ("pod/cpu.stat", "usage_usec 5\nnr_throttled 3\nthrottled_usec 1500000\n"),
            ("pod/box/cpu.max", "max 100000\n"),
            ("pod/box/cpu.stat", "nr_throttled 0\nthrottled_usec 0\n"),
        ],
    );
    let groups = ControlGroups::of(&second, "0::/pod/box\n");
    assert_eq!((groups.quota(), groups.throttled()), (Some(0.5), s(1.5)));
    // A container sees its own group as the root, or names a path that it cannot see.
    let within = ControlGroups::of(&second.join("pod"), "0::/../pod/elsewhere\n");
    assert_eq!((within.quota(), within.throttled()), (Some(0.5), s(1.5)));
    let other = ControlGroups::of(&second, "0::/other\n");
    assert_eq!((other.quota(), other.throttled()), (None, None));
    fs::remove_dir_all(second).expect("it was made");
}

#[test]
fn the_first_version_of_groups_is_read_too() {
    let first = planted(
        "first",
        &[
            ("cpu/cpu.cfs_quota_us", "-1\n"),
            ("cpu/cpu.cfs_period_us", "100000\n"),
            ("cpu/cpu.stat", "nr_throttled 0\nthrottled_time 0\n"),
            ("cpu/job/cpu.cfs_quota_us", "150000\n"),
            ("cpu/job/cpu.cfs_period_us", "100000\n"),
            ("cpu/job/cpu.stat", "nr_throttled 7\nthrottled_time 250000000\n"),
        ],
    );
    let text = "4:memory:/x\n2:cpuacct:/\n1:cpu:/job\n0::/\n";
    let groups = ControlGroups::of(&first, text);
    assert_eq!((groups.quota(), groups.throttled()), (Some(1.5), s(0.25)));
    let free = ControlGroups::of(&first, "1:cpu:/\n");
    assert_eq!((free.quota(), free.throttled()), (None, None));
    let joined = ControlGroups::of(&first, "1:cpu,cpuacct:/job\n");
    assert_eq!(joined.quota(), Some(1.5), "a link leads from one name to the other");
    fs::remove_dir_all(first).expect("it was made");
}
