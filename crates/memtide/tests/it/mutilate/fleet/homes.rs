//! Agents and masters of one user whose environment names no home, or one that cannot be written.

use super::{Agent, User, await_listening, listed};
use crate::child::{Running, fresh_folder, program, shared};
use crate::peer::{Peer, free_port};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// The program with no other variables than a path for temporary files and `more`, as under
/// `env -i`.
fn bare(temporary: &Path, more: &[(&str, &Path)]) -> Command {
    let mut command = program();
    command.env_clear().env("TMPDIR", temporary).envs(more.iter().copied());
    command
}

#[test]
fn processes_of_one_user_without_a_home_find_each_other() {
    let _turn = shared();
    let peer = Peer::memcached("");
    // In /proc no folder can be made, not even by root.
    let (unwritable, nowhere) = (Path::new("/proc"), Path::new("/proc/nowhere"));
    let (temporary, runtime) = (fresh_folder("temporary"), fresh_folder("runtime"));
    let unwritten = [("HOME", unwritable), ("XDG_RUNTIME_DIR", nowhere)];
    let in_runtime = [("HOME", unwritable), ("XDG_RUNTIME_DIR", runtime.as_path())];
    for environment in [&unwritten, &in_runtime] {
        let port = free_port();
        let mut command = bare(&temporary, environment);
        let agent = Running::of(command.args(["mutilate", "-A", "-p", &port.to_string()]));
        let agent = Agent { running: agent, port };
        await_listening(port);
        let line = format!("mutilate -s {} {} -t 1 -q 500", peer.name, agent.at());
        let master = Running::of(bare(&temporary, environment).args(line.split(' ')));
        let ran = master.finish().exits(0);
        assert!(ran.err.is_empty() && ran.out.contains("Total QPS"), "{ran}");
    }
    assert!(runtime.join("memtide/key/master.pem").exists());
    // A folder that another user could change is not used.
    let open = fresh_folder("open");
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    let user = rustix::process::geteuid().as_raw();
    let taken = fresh_folder("taken");
    symlink(&open, taken.join(format!("memtide-{user}"))).unwrap();
    let refused = Running::of(bare(&taken, &unwritten).args(["mutilate", "-A"])).finish();
    refused.complains(255, &["nowhere to keep keys", "other users have access", "HOME"]);
}

/// Scripts start agents in parallel, also the first ones of a user, who has no key yet.
#[test]
fn agents_that_start_at_once_have_one_key() {
    let _turn = shared();
    let (user, peer) = (User::new(), Peer::memcached(""));
    let begin = |_| {
        let port = free_port();
        let running = Running::of(&mut user.command(&format!("mcperf -A -p {port}")));
        Agent { running, port }
    };
    let agents: Vec<Agent> = (0..8).map(begin).collect();
    agents.iter().for_each(|agent| await_listening(agent.port));
    let line = format!("mcperf -s {} --noload {} -t 300 -q 1000", peer.name, listed(&agents));
    let master = user.master(&line);
    // A server that stops ends the run as it does without agents.
    peer.await_figure("cmd_get", 2_000);
    peer.kill();
    let ran = master.finish().exits(255);
    assert!(ran.out.contains("Total QPS") && ran.err.contains("lost a connection"), "{ran}");
}
