//! Agents in trouble: a full disk, a time of day that jumps, a flood of connections.

use super::{Agent, Lab, is_untouched, record, until};
use crate::child::{cleared, shared};
use crate::peer::{Peer, free_port};
use memtide_record::EndedBy;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn skip(why: &str) {
    drop(writeln!(std::io::stderr(), "skipped: {why}"));
}

/// Runs the program in an environment where the folder `$1` is a full disk.
const ON_A_FULL_DISK: &str = r#"
mount -t tmpfs -o size=64k,mode=700 none "$1" || exit 99
head -c 1000000 /dev/zero >"$1/filler" 2>/dev/null
program=$2
shift 2
exec "$program" "$@"
"#;

/// An agent whose folder for records is a full disk.
pub(super) fn on_a_full_disk(lab: &Lab, name: &str, words: &str) -> Agent {
    let folder = lab.path(&format!("{name}.kept"));
    drop(fs::create_dir(&folder));
    let mut command = cleared(Command::new("unshare"));
    command.args(["--mount", "sh", "-c", ON_A_FULL_DISK, "sh"]).arg(&folder);
    command.arg(env!("CARGO_BIN_EXE_memtide"));
    let line = format!("agent --join {} {words}", lab.join().display());
    Agent::start(lab, name, &line, command)
}

#[test]
fn a_full_disk_at_the_agent_does_not_cost_the_master_its_record() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("disk"), Peer::memcached(""));
    let folder = lab.path("a0.kept");
    fs::create_dir(&folder).unwrap();
    let mut tried = Command::new("unshare");
    tried.args(["--mount", "sh", "-c", ON_A_FULL_DISK, "sh"]).arg(&folder).arg("true");
    if !tried.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return skip("unshare --mount cannot mount a tmpfs here");
    }
    let agent = on_a_full_disk(&lab, "a0", &format!("--samples {}", folder.display()));
    let words = "--rate 1k --duration 1s --warmup 0 --arrival fixed";
    let (finished, record) = lab.run(&peer, "1", words);
    assert_eq!((record.totals.intended, record.ended_by), (1_000, EndedBy::Duration), "{finished}");
    agent.await_log("its record could not be stored until the master has it: No space left");
    // The requested samples are missing, so the run fails; its figures are complete.
    let json = lab.path("samples.json");
    let sampled = lab.start(&peer, "1", &format!("{words} --samples agents"), &json).finish();
    assert!(sampled.code == Some(1), "{sampled}");
    assert!(sampled.err.contains("No space left") && sampled.err.contains("a0"), "{sampled}");
    let (_, next) = lab.run(&peer, "1", words);
    assert_eq!(next.totals.intended, 1_000, "{}", agent.said());
}

/// The library that gives a program another time of day.
fn faketime() -> Option<PathBuf> {
    let of_machine = |folder: fs::DirEntry| folder.path().join("faketime/libfaketimeMT.so.1");
    fs::read_dir("/usr/lib").ok()?.flatten().map(of_machine).find(|path| path.exists())
}

/// Gives `command` a time of day that `file` controls. Its monotonic clock is unchanged.
fn with_time_of_day(mut command: Command, library: &Path, file: &Path) -> Command {
    command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", file);
    command.envs([("FAKETIME_NO_CACHE", "1"), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")]);
    command
}

#[test]
fn a_time_of_day_that_jumps_by_hours_changes_nothing() {
    let _turn = shared();
    let Some(library) = faketime() else { return skip("libfaketime is not installed") };
    let (lab, peer) = (Lab::new("jumps"), Peer::memcached(""));
    let file = lab.path("time");
    let jump = |by: &str| fs::write(&file, by).unwrap();
    let seconds = || {
        let date = with_time_of_day(Command::new("date"), &library, &file).arg("+%s").output();
        String::from_utf8(date.unwrap().stdout).unwrap().trim().parse::<i64>().unwrap()
    };
    jump("+0");
    let before = seconds();
    jump("+7h");
    if seconds() - before < 6 * 3_600 {
        return skip("libfaketime does not move the time of day here");
    }
    jump("+0");
    let program = cleared(Command::new(env!("CARGO_BIN_EXE_memtide")));
    let program = with_time_of_day(program, &library, &file);
    let line = format!("agent --join {}", lab.join().display());
    let _agent = Agent::start(&lab, "a0", &line, program);
    let words = "--rate 1k --duration 4s --warmup 0 --arrival fixed --mix get=1";
    let json = lab.path("run.json");
    let running = lab.start(&peer, "1", words, &json);
    let start = peer.figure("cmd_get") + 2_000;
    for (by, count) in [("+7h", 1_000), ("-5h", 2_000), ("+0", 3_000)] {
        peer.await_figure("cmd_get", start + count);
        jump(by);
    }
    let finished = running.finish().exits(0);
    let record = record(&json);
    let totals = &record.totals;
    assert_eq!((totals.intended, totals.answered), (4_000, 4_000), "{finished}");
    assert_eq!(record.ended_by, EndedBy::Duration, "{finished}");
    let clock = record.shards[0].clock.clone().unwrap().reference.unwrap();
    // It is much less than the jumps, however busy the machine is.
    assert!(clock.error_max_ns < 60_000_000_000, "{clock:?}: {finished}");
}

/// Number of simultaneous connections, if the limit of open files allows it.
const HALF_OPEN: u64 = 10_000;

#[test]
fn ten_thousand_half_open_connections_keep_no_master_away() {
    let _turn = shared();
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let _ = setrlimit(Resource::Nofile, raised);
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    // Other tests run at the same time.
    let count = HALF_OPEN.min(allowed.saturating_sub(1_000));
    if count < HALF_OPEN {
        drop(writeln!(std::io::stderr(), "{count} of {HALF_OPEN}: {allowed} files may be open"));
    }
    let (lab, peer) = (Lab::new("half-open"), Peer::memcached(""));
    let (agent, address) = lab.listening("a0");
    let place: SocketAddr = address.parse().unwrap();
    let (started, mut held) = (Instant::now(), Vec::new());
    while (held.len() as u64) < count {
        assert!(started.elapsed() < Duration::from_secs(120), "{} connections", held.len());
        let Ok(mut stream) = TcpStream::connect_timeout(&place, Duration::from_secs(30)) else {
            continue;
        };
        // Half of them begin a handshake and do not continue it.
        if held.len() % 2 == 0 {
            drop(stream.write_all(&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
        }
        held.push(stream);
    }
    let (_, record) = lab.run(&peer, &address, "--rate 1k --duration 500ms --warmup 0");
    assert_eq!(record.ended_by, EndedBy::Duration);
    assert_eq!(held.len() as u64, count);
    until(|| agent.said().contains("done with share"), || agent.said());
}

/// Runs the program in an environment where the file `$1` defines host names.
const WITH_NAMES: &str = r#"
mount --bind "$1" /etc/hosts || exit 99
program=$2
shift 2
exec "$program" "$@"
"#;

#[test]
fn a_name_that_changes_its_address_does_not_lead_past_the_limits() {
    let _turn = shared();
    let lab = Lab::within("names", "--allow-target 127.0.0.1/32:*");
    let hosts = lab.path("hosts");
    // The file is rewritten in place, because this file is mounted.
    let name = |address: &str| fs::write(&hosts, format!("{address} cache.example\n")).unwrap();
    name("127.0.0.1");
    let words = ["--mount", "sh", "-c", WITH_NAMES, "sh"];
    let mut tried = Command::new("unshare");
    tried.args(words).arg(&hosts).args(["getent", "hosts", "cache.example"]);
    if !tried.output().is_ok_and(|tried| tried.stdout.starts_with(b"127.0.0.1")) {
        return skip("names cannot be given by a file of hosts here");
    }
    let near = Peer::memcached("");
    let far = Peer::memcached_at(SocketAddr::from(([127, 0, 0, 2], free_port())), "").unwrap();
    let mut command = cleared(Command::new("unshare"));
    command.args(words).arg(&hosts).arg(env!("CARGO_BIN_EXE_memtide"));
    let line = format!("agent --join {}", lab.join().display());
    let agent = Agent::start(&lab, "a0", &line, command);
    let run = |port: u16| {
        format!(
            "run -s cache.example:{port} --quiet --keys 50 --agents 1 --rate 1k --duration 500ms \
             --warmup 0 --arrival fixed"
        )
    };
    lab.master(&run(near.address().port())).finish().exits(0);
    assert!(near.figure("cmd_get") > 0, "{}", agent.said());
    name("127.0.0.2");
    let words =
        ["a0", "cache.example", "127.0.0.2:", "not among the targets that this agent allows"];
    lab.refuses(&run(far.address().port()), 2, &words);
    is_untouched(&far);
}
