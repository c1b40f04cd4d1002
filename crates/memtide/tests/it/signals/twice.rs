//! Signals that come twice within milliseconds, as timeout(1), sudo and supervisors send them: the
//! second one costs no result. One that comes later ends the program at once.

use crate::child::within_turn;
use crate::prelude::*;

/// How a command ends that was interrupted.
enum Ends {
    /// With this exit code.
    Exits(i32),
    /// By its first signal.
    Dies,
}

use Ends::{Dies, Exits};

/// Long runs of `@`, how each ends, and what it prints when it is interrupted. `%` is a file that
/// is written then.
const LONG: [(&str, Ends, &str); 8] = [
    ("run -s @ --rate 2k --duration 5m", Exits(130), "partial"),
    ("scan -s @ --duration 300ms --rates 2k..2k+0 --goal rate>1", Exits(130), "partial"),
    (
        "ab -s @ --rate 2k --duration 5m --floor off --a depth=1 --b depth=2 --json %",
        Exits(130),
        "",
    ),
    ("run -s @ --rate 2k --duration 5m --repeat 2 --json %", Exits(130), ""),
    ("mutilate -s @ -q 2000 -t 300 -r 100 --noload", Dies, "Total QPS"),
    ("mcperf -s @ -q 2000 -t 300 -r 100 --noload", Dies, "Total QPS"),
    ("memaslap -s @ -T 1 -c 4 -t 300s", Exits(1), "Run time: "),
    ("twemperf -s @h -p @p -m get -n 4 -r 100 -R 500 -N 100000", Dies, "Total: connections 4"),
];

/// Flags of memtide's own commands.
const LOAD: &str = "--warmup 0s --keys 100 --load never --mix get=1";

fn interrupted(row: usize) {
    let (line, ends, said) = &LONG[row];
    let (peer, file) = (Peer::memcached(""), fresh(&format!("twice-{row}.json")));
    let address = peer.address();
    let line = line.replace("@h", &address.ip().to_string());
    let line = line.replace("@p", &address.port().to_string()).replace('@', &peer.name);
    let is_native = matches!(ends, Exits(130));
    let line = line.replace('%', &file.display().to_string());
    let running = Running::start(&format!("{line} {}", if is_native { LOAD } else { "" }));
    peer.await_figure("cmd_get", 800);
    // Another kind of signal counts as the first, too.
    let second = if row.is_multiple_of(2) { Signal::INT } else { Signal::TERM };
    running.signal(Signal::INT);
    thread::sleep(Duration::from_millis(5));
    running.signal(second);
    let run = running.finish();
    let run = match ends {
        Exits(code) => run.exits(*code),
        Dies => run.dies_by(Signal::INT),
    };
    assert!(run.out.contains(said) || run.err.contains(said), "{run}");
    assert!(!line.contains("--json") || file.exists(), "{run}");
}

#[test]
fn a_signal_that_is_sent_twice_costs_no_result() {
    let _turn = shared();
    thread::scope(|scope| {
        for row in 0..LONG.len() {
            scope.spawn(move || within_turn(|| interrupted(row)));
        }
    });
}

#[test]
fn a_server_ends_as_after_one_signal() {
    let _turn = shared();
    let port = free_port();
    let running = Running::start(&format!("serve --port {port}"));
    let started = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(started.elapsed() < Duration::from_secs(120), "it does not serve");
        thread::sleep(Duration::from_millis(5));
    }
    running.signal(Signal::TERM);
    running.signal(Signal::INT);
    running.finish().exits(0);
}

#[test]
fn a_later_signal_ends_a_run_whose_report_is_not_read() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let line = format!("run -s {} --rate 20k --duration 10m {LOAD} --samples -", peer.name);
    let mut command = program();
    command.args(line.split(' ')).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    peer.await_figure("cmd_get", 20_000);
    let (started, mut count) = (Instant::now(), 0);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(started.elapsed() < Duration::from_secs(150), "it does not end");
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::INT)
            .unwrap();
        count += 1;
        thread::sleep(Duration::from_millis(1_100));
    };
    assert!(status.code() == Some(130) && count >= 2, "{status}, {count}");
}

/// A shell starts what runs in the background with SIGINT ignored.
#[test]
fn in_the_background_only_memaslap_catches_an_interrupt() {
    let _turn = shared();
    for (line, code) in [
        ("memaslap -s @ -T 1 -c 4 -t 300s", 1),
        ("mutilate -s @ -q 2000 -t 1 -r 100 --noload", 0),
        ("mcperf -s @ -q 2000 -t 1 -r 100 --noload", 0),
        ("twemperf -s @h -p @p -m get -n 1 -r 1 -R 1000 -N 1000", 0),
    ] {
        let peer = Peer::memcached("");
        let address = peer.address();
        let line = line.replace("@h", &address.ip().to_string());
        let line = line.replace("@p", &address.port().to_string()).replace('@', &peer.name);
        let running = start_after("trap '' INT", &line);
        peer.await_figure("cmd_get", 200);
        running.signal(Signal::INT);
        let run = running.finish().exits(code);
        assert_eq!(run.err.contains("SIGINT handled."), code == 1, "{run}");
    }
}
