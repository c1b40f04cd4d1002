//! Agents on other machines: what users are told who have set up nothing, and names that only the
//! master knows.

use super::User;
use crate::child::{Running, cleared, fresh, fresh_folder, memtide, shared};
use crate::peer::{Peer, free_port};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Far below the time that a master waits for agents.
const AT_ONCE: Duration = Duration::from_secs(60);

/// The flags of `memtide run` and of its agents that no face has.
const NATIVE: [&str; 10] = [
    "--load",
    "--allow-target",
    "--key",
    "--out",
    "--join",
    "--agents",
    "--expect",
    "--rate-max",
    "--value-size",
    "--listen",
];

/// Asserts that a sentence names no flag that its face does not have, outside of quoted commands.
fn assert_in_words_of_face(sentence: &str) {
    let mut parts = sentence.split("'memtide ");
    let unquoted = |part: &str| part.split_once('\'').map_or("", |(_, rest)| rest).to_owned();
    let first = parts.next().unwrap_or_default().to_owned();
    let plain: String = std::iter::once(first).chain(parts.map(unquoted)).collect();
    let words = plain.split(|c: char| !(c.is_alphanumeric() || "-_".contains(c)));
    for word in words {
        assert!(!NATIVE.contains(&word), "{word} is none of the face's flags: {sentence}");
    }
}

#[test]
fn both_ends_say_at_once_what_other_machines_need() {
    let _turn = shared();
    let (user, began) = (User::new(), Instant::now());
    let ran = user.master("mutilate -s 192.0.2.9 -a 192.0.2.7,192.0.2.8:1 -t 1").finish();
    assert!(began.elapsed() < AT_ONCE, "{ran}");
    assert_in_words_of_face(&ran.err);
    ran.complains(
        255,
        &[
            "192.0.2.7 192.0.2.8",
            "'memtide key new lab --agents 192.0.2.7 192.0.2.8 --allow-target 192.0.2.9:11211'",
            "'scp -p lab/agent.join HOST:'",
            "'memtide install-faces --join lab/agent.join ~/bin' here",
            "'memtide install-faces --join agent.join ~/bin' there",
        ],
    );
    let agent = user.agent("mcperf -A");
    let second = user.master(&format!("mutilate -A -p {}", agent.port)).finish();
    assert_in_words_of_face(&second.err);
    second.complains(255, &["in use", "end the program", "--agent_port (-p)", "HOST:PORT"]);
    let said = agent.ended_by(rustix::process::Signal::TERM);
    assert_eq!(said.out, "", "{said}");
    let words = ["waits at 127.0.0.1:", "only masters of its own user on this machine"];
    assert!(words.iter().all(|word| said.err.contains(word)), "{said}");
    assert!(said.err.contains("'memtide key new lab --agents "), "{said}");
    assert_in_words_of_face(&said.err);
    // What key new is told of agents, it answers with commands that can be copied.
    let key = fresh_folder("new-key").join("lab").display().to_string();
    let made =
        memtide(&format!("key new {key} --allow-target 192.0.2.9:1 --agents n1 n2")).exits(0);
    for command in [
        format!("scp -p {key}/agent.join n1:"),
        format!("scp -p {key}/agent.join n2:"),
        format!("memtide install-faces --join {key}/agent.join ~/bin"),
        "memtide install-faces --join agent.join ~/bin".to_owned(),
    ] {
        assert!(made.out.contains(&command), "{command}: {made}");
    }
}

#[test]
fn a_link_to_a_link_finds_the_join_file_beside_the_program() {
    let _turn = shared();
    let (key, bin) = (fresh_folder("linked-key").join("lab"), fresh_folder("linked-bin"));
    memtide(&format!("key new {} --allow-target 127.0.0.1:*", key.display())).exits(0);
    let copy = fresh("linked.join");
    fs::copy(key.join("agent.join"), &copy).unwrap();
    let install = format!("install-faces --join {} {}", copy.display(), bin.display());
    memtide(&install).exits(0);
    let links = fresh_folder("links");
    symlink(bin.join("mutilate"), links.join("first")).unwrap();
    symlink(Path::new("first"), links.join("mutilate")).unwrap();
    // The machine has a join file and no key, which a master needs.
    let mut master = cleared(Command::new(links.join("mutilate")));
    master.env("XDG_STATE_HOME", fresh_folder("linked-state"));
    let ran = Running::of(master.args(["-s", "127.0.0.1", "-a", "127.0.0.1"])).finish();
    assert_in_words_of_face(&ran.err);
    ran.complains(255, &["is for agents", "masters run where memtide key new was called"]);
}

#[test]
fn a_master_tells_apart_why_agents_do_not_come() {
    let _turn = shared();
    let (user, other, peer) = (User::new(), User::new(), Peer::memcached(""));
    let foreign = other.agent("mutilate -A");
    let (away, twice) = (free_port(), free_port());
    let closing = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = closing.local_addr().unwrap().port();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silence = silent.local_addr().unwrap().port();
    thread::spawn(move || closing.incoming().for_each(drop));
    let at = |port: u16| format!("-a 127.0.0.1:{port}");
    let all = [away, twice, closed, silence, foreign.port].map(at).join(" ");
    let ran = user.master(&format!("mcperf -s {} {all} -M 15", peer.name)).finish();
    assert_in_words_of_face(&ran.err);
    let part = |port: u16| {
        let named = format!("127.0.0.1:{port}");
        ran.err.split("; 127").find(|part| format!("127{part}").contains(&named)).unwrap_or("")
    };
    // Each has the sentence of its own reason, and of no other.
    let reasons = [
        "Connection refused",
        "closed the connection before it authenticated",
        "did not authenticate within",
        "copy this master's join file",
    ];
    let ports = [away, closed, silence, foreign.port];
    for (port, reason) in ports.into_iter().zip(reasons).chain([(twice, reasons[0])]) {
        let said: Vec<&str> = reasons.into_iter().filter(|it| part(port).contains(it)).collect();
        assert_eq!(said, [reason], "{port}: {ran}");
    }
    assert!(part(twice).contains("start the agent there, with the join file"), "{ran}");
    assert!(ran.err.contains("0 of 5 agents joined within 15 s (--poll_max (-M))"), "{ran}");
    drop(silent);
}

/// Runs `line` on a machine whose hosts file has `lines`, too; none, and a line on stderr, if there
/// can be none.
fn knowing(user: &User, lines: &str, line: &str) -> Option<Running> {
    const BINDING: &str = "mount --bind \"$1\" /etc/hosts && shift && exec \"$@\"";
    let hosts = fresh("hosts");
    fs::write(&hosts, format!("127.0.0.1 localhost\n{lines}")).unwrap();
    let unshared = || {
        let mut command = cleared(Command::new("unshare"));
        command.args(["--mount", "sh", "-c", BINDING, "sh"]).arg(&hosts);
        command
    };
    if !unshared().arg("true").stderr(Stdio::null()).status().is_ok_and(|it| it.success()) {
        drop(writeln!(std::io::stderr(), "skipped: unshare --mount binds no hosts file here"));
        return None;
    }
    let mut command = unshared();
    command.arg(env!("CARGO_BIN_EXE_memtide")).args(line.split(' '));
    Some(Running::of(command.env("XDG_STATE_HOME", &user.state)))
}

/// The original sends addresses.
#[test]
fn an_agent_loads_a_server_whose_name_only_the_master_knows() {
    let _turn = shared();
    let (user, peer) = (User::new(), Peer::memcached(""));
    let agent = user.agent("mcperf -A");
    let names = "127.0.0.1 node1.of.a.lab\n192.0.2.1 node2.of.a.lab\n";
    let (port, at) = (peer.address().port(), agent.at());
    let line = format!("mcperf -s node1.of.a.lab:{port} {at} -T 0 -t 1 -q 500");
    let Some(run) = knowing(&user, names, &line) else { return };
    let ran = run.finish().exits(0);
    assert!(ran.err.is_empty() && peer.figure("cmd_get") > 0, "{ran}");
    // Its limits are checked on what it would connect to.
    let line = format!("mcperf -s node2.of.a.lab {at} -T 0 -t 1 -q 500");
    let Some(run) = knowing(&user, names, &line) else { return };
    let ran = run.finish();
    assert_in_words_of_face(&ran.err);
    ran.complains(255, &["node2.of.a.lab", "192.0.2.1:11211", "not among the targets"]);
}
