//! Which masters may command agents, and what agents may be told to do.

use super::{Agent, Lab, is_untouched, record, until};
use crate::child::{memtide, program, shared};
use crate::hostile::peak_kib;
use crate::peer::{Peer, free_port};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::Path;
use std::time::Duration;

const WORDS: &str = "--rate 2k --duration 1s --load never";

/// Writes a join file that only its user can read.
fn write_private(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// The value of a line of the join file.
fn word(join: &str, name: &str) -> String {
    let line = join.lines().find(|line| line.starts_with(name)).unwrap();
    line.split('"').nth(1).unwrap().to_owned()
}

/// An agent with the join file `text`, which is not from this lab.
fn stranger(lab: &Lab, name: &str, text: &str) -> Agent {
    let path = lab.path(&format!("{name}.join"));
    write_private(&path, text);
    Agent::start(lab, name, &format!("agent --join {}", path.display()), program())
}

#[test]
fn an_agent_without_the_right_token_gets_no_work() {
    let peer = Peer::memcached("");
    let lab = Lab::new("token");
    let join = fs::read_to_string(lab.join()).unwrap();
    let token = word(&join, "token");
    let other: String = token.chars().rev().collect();
    let agent = stranger(&lab, "liar", &join.replace(&token, &other));
    let json = lab.path("run.json");
    let run = lab.start(&peer, "1", "--expect 9s", &json).finish();
    run.fails(3, &["0 of 1 agents joined", "token"]);
    for text in [&run.err, &run.out, &agent.said()] {
        assert!(!text.contains(&token) && !text.contains(&other), "{text}");
    }
    is_untouched(&peer);
}

#[test]
fn an_agent_obeys_no_master_with_another_key() {
    let peer = Peer::memcached("");
    let (lab, foreign) = (Lab::new("pin"), Lab::new("pin-other"));
    // It dials this master, but holds the other's fingerprint.
    let join = fs::read_to_string(foreign.join()).unwrap();
    let (theirs, ours) = (foreign.port.to_string(), lab.port.to_string());
    let agent = stranger(&lab, "dials", &join.replace(&theirs, &ours));
    let run = lab.start(&peer, "1", "--expect 9s", &lab.path("run.json")).finish();
    run.fails(3, &["0 of 1 agents joined"]);
    until(|| agent.said().contains("key"), || agent.said());
    // It waits for the other master, and this one dials it.
    let (waits, address) = foreign.listening("waits");
    let run = lab.start(&peer, &address, "--expect 6s", &lab.path("run.json")).finish();
    run.fails(3, &["0 of 1 agents joined", &address]);
    assert!(!waits.said().contains("begins"), "{}", waits.said());
    is_untouched(&peer);
}

#[test]
fn targets_that_are_not_allowed_are_refused_by_the_agent() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let port = peer.address().port();
    let (v4, v6) = (
        Lab::within("v4", "--allow-target 127.0.0.0/8:1"),
        Lab::within("v6", "--allow-target [::]/0:*"),
    );
    let agents = [v4.agent("a0"), v6.agent("a0")];
    for (lab, server) in [
        (&v4, format!("127.0.0.1:{port}")),
        (&v4, format!("localhost:{port}")),
        (&v4, format!("[::ffff:127.0.0.1]:{port}")),
        // All IPv6 addresses are allowed, but this one is IPv4.
        (&v6, format!("[::ffff:127.0.0.1]:{port}")),
        (&v4, "unix:/tmp/memtide-none.sock".to_owned()),
    ] {
        let line = format!("run -s {server} --quiet --keys 50 --agents 1 {WORDS}");
        lab.refuses(&line, 2, &["a0", "not among the targets that this agent allows"]);
    }
    for agent in agents {
        assert!(agent.said().contains("not among the targets"), "{}", agent.said());
    }
    is_untouched(&peer);
}

#[test]
fn limits_hold_whether_they_are_flags_or_in_the_join_file() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let limits = "--rate-max 1k --connections-max 4 --duration-max 2s --threads-max 1";
    let targets = "--allow-target 127.0.0.0/8:*";
    let in_join = Lab::within("limits", &format!("{targets} {limits}"));
    let by_flag = Lab::new("limits-flag");
    let agents = [in_join.agent("a0"), by_flag.agent_with("a0", limits)];
    for lab in [&in_join, &by_flag] {
        for (words, name) in [
            ("--rate 2k --duration 1s", "(rate-max)"),
            ("--rate 0 --duration 1s", "(rate-max)"),
            ("--rate 500 --duration 9s", "(duration-max)"),
            ("--rate 500 --duration 1s --warmup 0 --connections 9", "(connections-max)"),
            ("--rate 500 --duration 1s --warmup 0 --threads 2 --connections 4", "(threads-max)"),
        ] {
            let line =
                format!("run -s {} --quiet --keys 50 --load never --agents 1 {words}", peer.name);
            lab.refuses(&line, 2, &["a0", name]);
        }
        is_untouched(&peer);
    }
    let words = "--rate 500 --duration 1s --warmup 0 --connections 4 --load never --arrival fixed";
    let (_, record) = by_flag.run(&peer, "1", words);
    assert_eq!(record.totals.intended, 500);
    drop(agents);
}

/// The limit of memory was asked after the share was prepared: 3.9 GB and 40 s later.
#[test]
fn memory_beyond_the_limit_is_refused_before_it_is_taken() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("memory-max"), Peer::memcached(""));
    let agent = lab.agent_with("a0", "--memory-max 60M");
    for words in [
        "--value-size 100000000 --value-max 1GiB",
        "--verify 1 --keys 100M --verify-keys 100M",
        "--connections 1000 --depth 4096",
        "--interval 10ms --rate 1M --duration 160s",
        "--clients 100 --window 1M",
    ] {
        let line = format!("run -s {} --quiet --load never --agents 1 {words}", peer.name);
        lab.refuses(&line, 2, &["a0", "(memory-max)"]);
    }
    let kib = peak_kib(agent.id());
    assert!((1..60_000).contains(&kib), "{kib} KiB: {}", agent.said());
    is_untouched(&peer);
    lab.run(&peer, "1", "--rate 500 --duration 1s --warmup 0");
}

/// A resolver may take long, and asks others: what the settings show is refused before.
#[test]
fn what_the_settings_show_is_refused_before_a_name_is_resolved() {
    let _turn = shared();
    let lab = Lab::new("before-names");
    let _agent = lab.agent_with(
        "a0",
        "--memory-max 60M --rate-max 1k --connections-max 4 --duration-max 9s --threads-max 2",
    );
    let refused = |words: &str, code, expected: &str| {
        let line = "run -s nowhere.invalid:1 --quiet --load never --agents 1 --warmup 0";
        lab.refuses(&format!("{line} {words}"), code, &["a0", expected]);
    };
    const FEW: &str = "--connections 4 --threads 2";
    for (words, expected) in [
        ("--rate 500 --duration 1s --value-size 100000000 --value-max 1GiB", "(memory-max)"),
        ("--rate 2k --duration 1s", "(rate-max)"),
        ("--rate 0 --duration 1s", "(rate-max)"),
        ("--rate 500 --duration 10s", "(duration-max)"),
    ] {
        refused(&format!("{FEW} {words}"), 2, expected);
    }
    refused("--connections 5 --threads 1 --rate 500 --duration 1s", 2, "(connections-max)");
    refused("--connections 4 --threads 3 --rate 500 --duration 1s", 2, "(threads-max)");
    // Within the limits, the name is looked for.
    refused(&format!("{FEW} --rate 500 --duration 1s"), 3, "nowhere.invalid");
}

#[test]
fn no_connection_exists_beyond_the_limit() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("connections"), Peer::memcached(""));
    let agent = lab.agent_with("a0", "--connections-max 2");
    // The server may not have noticed yet that an earlier connection was closed.
    let before = (0..5).map(|_| peer.figure("curr_connections")).min().unwrap();
    let words = "--rate 2k --duration 5m --warmup 0 --threads 1 --connections 2 --load never";
    let master = lab.start(&peer, "1", words, &lab.path("run.json"));
    peer.await_figure("cmd_get", 200);
    let look = || {
        std::thread::sleep(Duration::from_millis(100));
        peer.figure("curr_connections") - before
    };
    let seen: Vec<_> = std::iter::repeat_with(look).take(20).collect();
    master.signal(rustix::process::Signal::INT);
    master.finish().exits(130);
    // The server may not always have noticed that the connection of the look before was closed.
    assert_eq!(seen.iter().min(), Some(&2), "{seen:?}: {}", agent.said());
}

/// Sends `bytes` to an address; returns the reply until the other end closes.
fn poke(address: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    drop(stream.write_all(bytes));
    let mut back = Vec::new();
    drop(stream.read_to_end(&mut back));
    back
}

#[test]
fn strangers_learn_nothing_and_disturb_nothing() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("strangers"), Peer::memcached(""));
    let (agent, address) = lab.listening("a0");
    let noise: Vec<u8> =
        (0..4_096_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let pokes: [&[u8]; 4] =
        [b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &noise, b"stats\r\n"];
    let join = fs::read_to_string(lab.join()).unwrap();
    let told = |place: &str| {
        for bytes in pokes {
            let back = poke(place, bytes);
            // At most a TLS alert.
            assert!(back.len() < 32 && !back.windows(3).any(|it| it == b"a0,"), "{back:?}");
        }
    };
    told(&address);
    until(|| agent.said().contains("127.0.0.1:"), || agent.said());
    let other = lab.agent("z");
    drop(other);
    let master = lab.start(&peer, "1", "--rate 1k --duration 500ms --warmup 0", &lab.path("j"));
    let place = format!("127.0.0.1:{}", lab.port);
    until(|| TcpStream::connect(&place).is_ok(), || "the master does not listen".to_owned());
    told(&place);
    is_untouched(&peer);
    // The lab's own agents can still connect.
    let _late = lab.agent("late");
    let finished = master.finish().exits(0);
    assert!(!finished.err.contains(&word(&join, "token")), "{finished}");
    lab.run(&peer, &address, "--rate 1k --duration 500ms --warmup 0");
}

#[test]
fn secrets_are_nowhere_but_in_their_files() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("secrets"), Peer::memcached(""));
    let (join, pem) = (lab.join(), lab.path("key/master.pem"));
    let token = word(&fs::read_to_string(&join).unwrap(), "token");
    let pem_text = fs::read_to_string(&pem).unwrap();
    let key = pem_text.split("PRIVATE KEY-----").nth(1).unwrap().lines().nth(1).unwrap().to_owned();
    assert!(token.len() == 32 && key.len() >= 32);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&join), mode(&pem)), (0o600, 0o600));
    assert_eq!(mode(&lab.path("key")), 0o700);
    let (agent, json) = (lab.agent("a0"), lab.path("run.json"));
    let words = "--rate 2k --duration 2s --mix get=1";
    let master = lab.start(&peer, "1", words, &json);
    peer.await_figure("cmd_get", 2_000);
    let place = format!("/proc/{}", agent.id());
    // An unreadable file contains nothing.
    let read = |name: &str| fs::read(format!("{place}/{name}")).unwrap_or_default();
    let limits = String::from_utf8(read("limits")).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    let shown = [read("cmdline"), read("environ"), read("comm")].concat();
    let finished = master.finish().exits(0);
    record(&json);
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let written = fs::read_to_string(&json).unwrap();
    for text in [&shown, &written, &finished.out, &finished.err, &agent.said()] {
        assert!(!text.contains(&token) && !text.contains(&key), "a secret is in {text}");
    }
}

#[test]
fn files_that_others_can_read_are_refused() {
    let (lab, peer) = (Lab::new("modes"), Peer::memcached(""));
    fs::set_permissions(lab.join(), fs::Permissions::from_mode(0o644)).unwrap();
    let join = lab.join().display().to_string();
    memtide(&format!("agent --join {join}")).complains(2, &[&join, "chmod 600"]);
    let pem = lab.path("key/master.pem");
    fs::set_permissions(&pem, fs::Permissions::from_mode(0o604)).unwrap();
    lab.refuses(&format!("run -s {} --agents 1", peer.name), 2, &["master.pem", "chmod 600"]);
    is_untouched(&peer);
    // Nothing is overwritten, and an agent needs a list of servers that it may load.
    let again = format!("key new {} --address 127.0.0.1:{}", lab.key(), free_port());
    memtide(&again).complains(2, &[&lab.key()]);
    let open = Lab::within("no-targets", "");
    let line = format!("agent --join {}", open.join().display());
    memtide(&line).complains(2, &["allow-target"]);
}

/// Only the folder of the key was looked at; another user could read and replace what lies in the
/// other ones.
#[test]
fn folders_that_others_can_change_are_refused_for_all_that_an_agent_writes() {
    let lab = Lab::new("folders");
    let (open, join) = (lab.path("open"), lab.join().display().to_string());
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let open = open.display().to_string();
    for words in [
        format!("--records {open}"),
        format!("--samples {open}"),
        format!("--influx http://127.0.0.1:1/write?db=x --spool {open},1MB"),
    ] {
        memtide(&format!("agent --join {join} {words}")).complains(2, &[&open, "chmod 700"]);
    }
    // The state folder is chosen: one that others can change is passed over.
    let mut command = program();
    command.args(["agent", "status", "127.0.0.1:1"]).env("XDG_STATE_HOME", &open);
    fs::create_dir(Path::new(&open).join("memtide")).unwrap();
    let place = Path::new(&open).join("memtide");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).unwrap();
    command.output().unwrap();
    assert_eq!(fs::read_dir(place).unwrap().count(), 0, "a key was made where others can read it");
}

/// The mode alone was looked at: another user could own the folder, or the link to it.
#[test]
fn folders_of_another_user_are_refused_for_all_that_an_agent_writes() {
    if !rustix::process::geteuid().is_root() {
        drop(writeln!(std::io::stderr(), "skipped: only root may make a folder of another user"));
        return;
    }
    const OTHER: Option<u32> = Some(65_534);
    let lab = Lab::new("owners");
    let (theirs, link, own) = (lab.path("theirs"), lab.path("link"), lab.path("own"));
    for folder in [&theirs, &own, &theirs.join("memtide")] {
        fs::create_dir(folder).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    chown(&theirs, OTHER, OTHER).unwrap();
    symlink(&own, &link).unwrap();
    lchown(&link, OTHER, OTHER).unwrap();
    let join = lab.join().display().to_string();
    for place in [&theirs, &link].map(|place| place.display().to_string()) {
        for words in [
            format!("--records {place}"),
            format!("--samples {place}"),
            format!("--influx http://127.0.0.1:1/write?db=x --spool {place},1MB"),
        ] {
            let refused = memtide(&format!("agent --join {join} {words}"));
            refused.complains(2, &[&place, "belongs to another user (number 65534)"]);
        }
    }
    // The folder of the state, of records and of the key is chosen: theirs is passed over.
    let state = theirs.join("memtide");
    chown(&state, OTHER, OTHER).unwrap();
    for words in ["agent status 127.0.0.1:1", "run -s 127.0.0.1:1 --agents 1 --expect 10ms"] {
        let mut command = program();
        command.env("XDG_STATE_HOME", &theirs).env("XDG_RUNTIME_DIR", lab.path("runtime"));
        command.args(words.split(' ')).output().unwrap();
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0, "{words}");
    }
    assert_eq!(fs::read_dir(&own).unwrap().count(), 0);
}
