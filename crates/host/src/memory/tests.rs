//! Limits of control groups, and those of this machine.

use super::*;

/// A root folder with these files.
fn root(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = std::env::temp_dir().join(format!("memtide-{}-{name}", std::process::id()));
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

#[test]
fn every_group_above_bounds_and_what_is_cached_can_be_had() {
    let second = root(
        "second",
        &[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/memory.current", "5\n"),
            ("sys/fs/cgroup/a/memory.max", "1000\n"),
            ("sys/fs/cgroup/a/memory.current", "700\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 100\n"),
        ],
    );
    assert_eq!(of_groups(&second), Some(400));
    let first = root(
        "first",
        &[
            ("proc/self/cgroup", "5:cpu:/\n4:memory:/outside\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "300\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "400\n"),
        ],
    );
    assert_eq!(of_groups(&first), Some(0));
    let none = root("none", &[("proc/self/cgroup", "0::/\n")]);
    assert_eq!(of_groups(&none), None);
    for root in [second, first, none] {
        fs::remove_dir_all(root).unwrap();
    }
}

#[test]
fn this_machine_says_what_it_has() {
    let Available { bytes, by } = available().expect("it has a /proc");
    assert!(bytes > 0 && !by.is_empty());
}
