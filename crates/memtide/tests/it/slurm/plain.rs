//! Shares without a scheduler: the ssh line of docs/cluster.md and the script that it starts, run
//! unchanged, with a shell in place of ssh. They need neither root nor Slurm.

use crate::child::cleared;
use crate::prelude::*;
use std::os::unix::fs::PermissionsExt;

/// The first block of commands below this heading of docs/cluster.md.
fn block(heading: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cluster.md");
    let text = fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once(heading).unwrap();
    let (_, from) = section.split_once("```sh\n").unwrap();
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
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    for (from, to) in [
        ("deploy/", format!("{}/", deploy.display())),
        ("--server cache", format!("--server {}", peer.name)),
        ("--rate 2M", "--rate 800 --arrival fixed --keys 1000 --connections 8".to_owned()),
        ("--duration 60s", "--duration 1s".to_owned()),
    ] {
        assert!(script.contains(from), "{script}");
        script = script.replace(from, &to);
    }
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = cleared(Command::new("bash"));
    command.args(["-euc", &script]).current_dir(&folder).env("PATH", path).env("DELAY", "10");
    let ran = Running::of(&mut command).finish().exits(0);
    let is_record = |path: &PathBuf| path.display().to_string().contains("records.");
    let found = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let (shares, run): (Vec<_>, Vec<_>) = found.filter(is_record).partition(|path| path.is_dir());
    assert_eq!((shares.len(), run.len()), (1, 1), "{ran}");
    assert_eq!(fs::read_dir(&shares[0]).unwrap().count(), 4, "{ran}");
    let record = record_at(&run[0]);
    assert!(record.totals.intended.abs_diff(800) <= 8, "{ran}");
    assert_eq!(record.totals.misses, 0, "{ran}");
    assert_counters_equal(&record);
    assert!(ran.out.contains("start skew"), "{ran}");
}
