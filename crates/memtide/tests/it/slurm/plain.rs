//! Shares without a scheduler: the lines of docs/cluster.md for ssh, run as they stand there, with
//! a shell in place of ssh. They need neither root nor Slurm.

use crate::child::{Running, assert_counters_equal, cleared, read_record, scratch};
use crate::peer::Peer;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The first block of commands below this heading of docs/cluster.md.
fn block(heading: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cluster.md");
    let text = fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once(heading).unwrap();
    let (_, from) = section.split_once("```bash\n").unwrap();
    from.split_once("```").unwrap().0.to_owned()
}

#[test]
fn the_lines_for_ssh_divide_a_run_and_merge_it() {
    let peer = Peer::memcached("");
    let folder = scratch("cluster-ssh");
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(folder.join("bin")).unwrap();
    let ssh = folder.join("bin/ssh");
    fs::write(&ssh, "#!/bin/sh\nshift\nexec sh -c \"$*\"\n").unwrap();
    fs::set_permissions(&ssh, PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_memtide"), folder.join("bin/memtide")).unwrap();
    let mut script = block("\n## ssh\n");
    assert!(script.lines().count() <= 10, "ten lines are promised: {script}");
    for (from, to) in [
        ("--server cache", format!("--server {}", peer.name)),
        ("--rate 2M", "--rate 800 --arrival fixed --keys 1000 --connections 8".to_owned()),
        ("--duration 60s", "--duration 1s".to_owned()),
    ] {
        assert!(script.contains(from), "{script}");
        script = script.replace(from, &to);
    }
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = cleared(Command::new("bash"));
    command.args(["-euc", &script]).current_dir(&folder).env("PATH", path);
    let ran = Running::of(&mut command).finish().exits(0);
    assert_eq!(fs::read_dir(folder.join("records")).unwrap().count(), 4, "{ran}");
    let record = read_record(&fs::read_to_string(folder.join("run.json")).unwrap()).unwrap();
    assert!(record.totals.intended.abs_diff(800) <= 8, "{ran}");
    assert_eq!(record.totals.misses, 0, "{ran}");
    assert_counters_equal(&record);
    assert!(ran.out.contains("start skew"), "{ran}");
}
