//! Servers that are absent, lie, fall silent, close connections, die and come back: memtide never
//! panics or hangs, and always names the server in a sentence.

use crate::child::{
    Finished, Running, assert_counters_equal, check, memtide, program, read_record, scratch, shared,
};
use crate::peer::Peer;
use crate::peer::rogue::{Answer, Rogue, say};
use memtide_schema::Record;
use memtide_schema::record::{CheckKind, CheckResult, EndedBy, Verdict};
use rustix::process::Signal;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_server_that_cannot_be_found_ends_the_run_before_it_begins() {
    let host = "no-such-host.invalid";
    memtide(&format!("run -s {host}")).complains(3, &[host, "cannot be resolved"]);
    memtide("run -s 127.0.0.1:1").complains(3, &["127.0.0.1:1", "refused"]);
    memtide("load -s 127.0.0.1:1").complains(3, &["127.0.0.1:1", "refused"]);
    memtide("run -s unix:/no-such-path").complains(3, &["unix:/no-such-path", "path"]);
}

#[test]
fn a_run_that_cannot_start_leaves_the_results_of_others_alone() {
    let (old, new) = (scratch("old-result.json"), scratch("new-result.json"));
    fs::write(&old, "kept").expect("it can be written");
    for output in ["--json", "--samples", "--verify 1 --verify-details"] {
        for file in [&old, &new] {
            let line = format!("run -s 127.0.0.1:1 {output} {}", file.display());
            memtide(&line).complains(3, &["refused"]);
        }
        assert_eq!(fs::read_to_string(&old).expect("it is there"), "kept", "{output}");
        assert!(!new.exists(), "{output}: a file was left for nothing");
    }
    // A shorter result leaves nothing of a longer one.
    fs::write(&old, "x".repeat(1 << 20)).expect("it can be written");
    let run = memtide(&format!("run --duration 100ms --json {}", old.display()));
    let text = fs::read_to_string(&old).expect("it is there");
    read_record(&text).unwrap_or_else(|error| panic!("{error}: {run}"));
}

#[test]
fn one_bad_server_among_several_is_the_one_that_is_named() {
    let peer = Peer::memcached("");
    memtide(&format!("run -s {},127.0.0.1:1", peer.name)).complains(3, &["127.0.0.1:1 refused"]);
}

#[test]
fn a_server_of_another_protocol_is_named() {
    let web = Rogue::new(|_| say("HTTP/1.1 400 Bad Request\r\n\r\n"));
    memtide(&format!("run -s {}", web.name)).complains(3, &[&web.name]);
    let noise = Rogue::new(|_| say("\x01\x02\x7f garbage \r\n"));
    memtide(&format!("run -s {}", noise.name)).complains(3, &[&noise.name]);
    // It greets correctly, but its replies to gets are malformed.
    let later = Rogue::polite(|_| say("VALUE what\r\n"));
    memtide(&format!("run -s {}", later.name)).complains(3, &[&later.name]);
}

#[test]
fn garbage_in_mid_run_costs_connections_and_is_counted() {
    let server = Rogue::polite(|_| say("!garbage!\r\n"));
    let flags = "--load never --mix get=1 --connections 2 --rate 500 --duration 500ms --json -";
    let run = memtide(&format!("run -s {} --timeout 1s {flags}", server.name));
    assert!(matches!(run.code, Some(0 | 3)), "{run}");
    let record = run.record();
    assert_eq!(record.totals.answered, 0, "{run}");
    assert!(record.totals.errors["protocol"] > 0, "{run}");
    assert!(record.totals.connections.lost > 0, "{run}");
    assert!(record.warnings.iter().any(|warning| warning.message.contains(&server.name)), "{run}");
}

#[test]
fn a_server_that_never_answers_ends_the_run_after_the_timeout() {
    let server = Rogue::new(|_| Answer::Silence);
    let line = format!("run -s {} --timeout 300ms", server.name);
    memtide(&line).complains(3, &[&server.name, "did not answer", "--timeout"]);
}

#[test]
fn a_server_that_is_silent_about_keys_does_not_get_past_the_probe() {
    let server = Rogue::polite(|_| Answer::Silence);
    let line = format!("run -s {} --timeout 300ms", server.name);
    memtide(&line).complains(3, &[&server.name]);
    let server = Rogue::polite(|_| Answer::Silence);
    let line = format!("load -s {} --timeout 300ms --keys 1k", server.name);
    memtide(&line).complains(3, &[&server.name]);
}

#[test]
fn a_closed_loop_of_a_number_of_operations_ends_when_its_server_falls_silent() {
    let asked = AtomicU64::new(0);
    let server = Rogue::polite(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        0..500 => say("END\r\n"),
        _ => Answer::Silence,
    });
    let flags = "--load never --mix get=1 --ops-max 1k --timeout 300ms --json -";
    let run = memtide(&format!("run -s {} {flags}", server.name));
    assert!(matches!(run.code, Some(0 | 3)), "{run}");
    let totals = run.record().totals;
    assert_eq!(totals.answered, 500, "{run}");
    assert!(totals.timed_out > 0, "{run}");
}

#[test]
fn a_server_that_hangs_up_at_once_is_named() {
    let server = Rogue::raw(drop);
    memtide(&format!("run -s {}", server.name)).complains(3, &[&server.name, "the connection"]);
}

#[test]
fn a_server_that_hangs_up_on_every_request_is_not_hammered() {
    let server = Rogue::polite(|_| Answer::Leave(""));
    let flags = "--load never --mix get=1 --connections 1 --rate 1000 --timeout 5s";
    let line = format!("run -s {} {flags} --duration 1500ms --json -", server.name);
    let run = memtide(&line);
    assert!(matches!(run.code, Some(0 | 3)), "{run}");
    let record = run.record();
    assert!(record.totals.lost > 0, "{run}");
    // 10 ms doubling to 1 s allows eight or nine connects in this time, plus two greetings and two
    // final queries; three times that number is tolerated. A connect every 10 ms would be over a
    // hundred.
    let accepted = server.accepted();
    assert!(accepted <= 40, "{accepted} connections were made: {run}");
}

#[test]
fn a_server_with_too_many_connections_is_told_how_to_allow_more() {
    let peer = Peer::memcached("-c 64");
    let flags = "--connections 200 --rate 500 --duration 500ms --load never --timeout 2s";
    let line = format!("run -s {} {flags}", peer.name);
    let run = memtide(&line);
    assert!(matches!(run.code, Some(0 | 3)), "{run}");
    let said = format!("{}{}", run.out, run.err).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [peer.name.as_str(), "too many", "-c", "--connections"] {
        assert!(said.contains(words), "'{words}' is not said: {run}");
    }
}

/// Waits until a run is well in progress.
fn await_gets(peer: &Peer, count: u64) {
    let started = Instant::now();
    while peer.figure("cmd_get") < count {
        assert!(started.elapsed() < PATIENCE, "the run does not get under way");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_server_that_dies_ends_the_run_with_a_partial_record() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let name = peer.name.clone();
    let flags = "--rate 1000 --duration 30s --timeout 500ms --load never --keys 100 --json -";
    let running = Running::start(&format!("run -s {name} {flags}"));
    await_gets(&peer, 300);
    peer.kill();
    let run = running.finish().exits(3);
    let record = run.record();
    assert!(record.partial, "{run}");
    assert_eq!((record.ended_by, record.exit), (EndedBy::ServersLost, 3), "{run}");
    assert!(record.measured_s < 29.0, "the run went on without a server: {run}");
    assert!(record.totals.answered >= 300, "{run}");
    assert!(record.totals.unanswered() > 0, "{run}");
    assert!(record.totals.connections.lost > 0, "{run}");
    assert!(run.err.contains(&name), "{run}");
    assert!(!run.err.contains("panicked"), "{run}");
}

#[test]
fn servers_are_told_what_they_are_to_do_around_the_load_once_each() {
    let (first, second) = (Peer::memcached(""), Peer::memcached(""));
    let flags = "--rate 500 --duration 500ms --keys 100 --json -";
    for protocol in ["text", "binary"] {
        let line = format!("run -s {},{} {flags} --protocol {protocol}", first.name, second.name);
        let mut command = program();
        command.args(line.split_whitespace());
        command.args(["--before", "incr nothing 1", "--after", "start_trace"]);
        let turn = shared();
        let record = Running::of(&mut command).finish().exits(0).record();
        drop(turn);
        let refused: Vec<&str> = record
            .warnings
            .iter()
            .filter(|warning| warning.code == "line_refused")
            .map(|warning| warning.message.as_str())
            .collect();
        let message =
            |peer: &Peer| format!("{} received 'start_trace' and answered 'ERROR'", peer.name);
        assert_eq!(refused, [message(&first), message(&second)]);
        assert_counters_equal(&record);
    }
    // One in each of the two runs.
    assert_eq!((first.figure("incr_misses"), second.figure("incr_misses")), (2, 2));
}

#[test]
fn with_reconnect_never_a_server_that_dies_ends_the_run_at_once() {
    let _turn = shared();
    for io in ["epoll", "auto"] {
        let (dies, churn) = (Peer::memcached(""), Peer::memcached(""));
        let flags = "--rate 1000 --duration 60s --timeout 50s --load never --keys 100";
        let line = format!("run -s {},{} {flags}", churn.name, dies.name);
        let file = std::env::temp_dir().join(format!("memtide-{}-{io}.json", std::process::id()));
        let json = file.display();
        let line = format!("{line} --io {io} --reconnect never --json {json}");
        let running = Running::start(&line);
        await_gets(&dies, 100);
        let name = dies.name.clone();
        dies.kill();
        // Neither the window's end nor the timeout ends it.
        let run = running.finish().exits(3);
        for words in [&name, "the connection", "reconnect never"] {
            assert!(run.err.contains(words), "'{words}' is not said: {run}");
        }
        assert!(run.out.starts_with("partial: a connection was lost"), "{run}");
        let text = fs::read_to_string(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let record = Record::from_json(&text).unwrap();
        assert_eq!((record.ended_by, record.exit), (EndedBy::ConnectionLost, 3), "{run}");
        assert!(record.partial && record.measured_s < 40.0, "{run}");
        assert!(record.totals.answered > 100 && record.totals.connections.lost > 0, "{run}");
        assert_eq!(record.check_conservation(), Ok(()));
    }
}

#[test]
fn the_faces_end_with_255_and_the_report_so_far_when_a_server_dies() {
    let _turn = shared();
    for face in ["mutilate", "mcperf", "mcperf-dynamic --qps_interval 1 --qps_min 900"] {
        let peer = Peer::memcached("");
        let line = format!("{face} -s {} -q 1000 -c 4 -t 60 -r 100 --noload -B", peer.name);
        let running = Running::start(&line);
        await_gets(&peer, 500);
        let name = peer.name.clone();
        peer.kill();
        let run = running.finish().exits(255);
        assert!(run.err.contains(&name) && run.err.contains("connection"), "{run}");
        let total = run.out.lines().find_map(|line| line.strip_prefix("Total QPS = ")).unwrap();
        // For example "998.7 (1234 / 1.2s)".
        let (rate, counted) = total.split_once(" (").unwrap();
        let (count, length) = counted.split_once(" / ").unwrap();
        let length = length.split('s').next().unwrap();
        assert!(count.parse::<u64>().unwrap() >= 400, "{run}");
        assert!(length.parse::<f64>().unwrap() < 40.0, "{run}");
        assert!(rate.parse::<f64>().unwrap() > 0.0, "{run}");
        assert!(run.out.contains("RX "), "the report is whole: {run}");
    }
}

#[test]
fn the_text_of_a_run_that_lost_its_server_is_marked_partial() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let flags = "--rate 1000 --duration 30s --timeout 500ms --load never --keys 100";
    let running = Running::start(&format!("run -s {} {flags}", peer.name));
    await_gets(&peer, 300);
    peer.kill();
    let run = running.finish().exits(3);
    assert!(run.out.starts_with("partial"), "{run}");
    assert!(run.out.lines().last().unwrap().starts_with("believable: "), "{run}");
}

#[test]
fn a_server_that_comes_back_is_used_again() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let (name, address) = (peer.name.clone(), peer.address());
    let flags = "--rate 1000 --duration 4s --timeout 3s --keys 100 --mix get=1 --connections 4";
    let running = Running::start(&format!("run -s {name} {flags} --json -"));
    // Probes and fill request fewer than 3000 keys.
    await_gets(&peer, 3_500);
    peer.kill();
    thread::sleep(Duration::from_millis(300));
    let _back = Peer::memcached_at(address, "").expect("the port is free again");
    let run = running.finish().exits(0);
    let record = run.record();
    let totals = &record.totals;
    assert_eq!(record.ended_by, EndedBy::Duration, "{run}");
    assert_eq!(totals.connections.lost, 4, "{run}");
    assert_eq!(totals.connections.opened, 8, "{run}");
    assert!(totals.connections.failed > 0, "nobody tried while it was gone: {run}");
    assert!(totals.hits > 0 && totals.misses > 0, "the new server holds nothing: {run}");
    assert!(record.warnings.iter().any(|warning| warning.code == "connections_lost"), "{run}");
}

#[test]
fn the_death_of_one_of_two_servers_does_not_end_the_run() {
    let _turn = shared();
    let (dies, churn) = (Peer::memcached(""), Peer::memcached(""));
    let flags = "--rate 1000 --duration 2s --timeout 300ms --load never --keys 100 --json -";
    let running = Running::start(&format!("run -s {},{} {flags}", dies.name, churn.name));
    await_gets(&dies, 100);
    dies.kill();
    let run = running.finish().exits(0);
    let record = run.record();
    assert!(!record.partial, "{run}");
    assert_eq!(record.ended_by, EndedBy::Duration);
    for row in &record.servers {
        assert!(row.totals.answered > 0, "{run}");
    }
    assert!(record.totals.connections.lost > 0, "{run}");
    assert_deserted(&record, &run);
}

/// Asserts that the run reports a different load: the other server answered operations of the dead
/// one.
fn assert_deserted(record: &Record, run: &Finished) {
    let (result, said) = check(record, CheckKind::Errors);
    assert_eq!(result, CheckResult::Failed, "{said}: {run}");
    assert!(said.starts_with("a server was gone at the end of the measured window"), "{said}");
    assert_eq!(record.believable.verdict, Verdict::No, "{run}");
}

#[test]
fn a_server_that_dies_late_makes_no_run_believable_neither_of_a_face() {
    let _turn = shared();
    let json = scratch("deserted.json");
    let place = json.display();
    // Fewer than 1 % of the operations are lost, also with one schedule for all connections.
    let flags = "--rate 1000 --duration 3s --timeout 300ms --load never --keys 100";
    for line in [
        format!("run {flags} --connections 2 --quiet --json {place}"),
        format!("mutilate -q 1000 -c 1 -t 3 -r 100 --noload --json {place}"),
        format!("memaslap -t 3s -c 2 -T 1 --json {place}"),
    ] {
        let (dies, churn) = (Peer::memcached(""), Peer::memcached(""));
        let servers = match line.starts_with("mutilate") {
            true => format!("-s {} -s {}", dies.name, churn.name),
            false => format!("-s {},{}", dies.name, churn.name),
        };
        let running = Running::start(&format!("{line} {servers}"));
        await_gets(&dies, 700);
        dies.kill();
        let run = running.finish();
        let record = Record::from_json(&fs::read_to_string(&json).unwrap()).unwrap();
        fs::remove_file(&json).unwrap();
        assert_ne!(record.believable.verdict, Verdict::Yes, "{line}: {run}");
        assert_eq!(check(&record, CheckKind::Errors).0, CheckResult::Failed, "{line}: {run}");
    }
}

#[test]
fn a_server_that_stays_stopped_costs_only_timeouts() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let flags = "--rate 1000 --duration 1s --timeout 300ms --load never --keys 100 --json -";
    let running = Running::start(&format!("run -s {} {flags}", peer.name));
    await_gets(&peer, 100);
    peer.signal(Signal::STOP);
    let run = running.finish();
    peer.signal(Signal::CONT);
    assert!(matches!(run.code, Some(0 | 3)), "{run}");
    let record = run.record();
    assert!(record.totals.timed_out > 0, "{run}");
    assert_eq!(record.totals.lost, 0, "{run}");
}

#[test]
fn answers_after_the_deadline_are_discarded_and_counted() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let flags = "--rate 1000 --arrival fixed --duration 2s --timeout 200ms --load never --keys 100";
    let line = format!("run -s {} {flags} --mix get=1 --connections 4 --json -", peer.name);
    let running = Running::start(&line);
    await_gets(&peer, 300);
    peer.signal(Signal::STOP);
    thread::sleep(Duration::from_millis(700));
    peer.signal(Signal::CONT);
    let run = running.finish().exits(0);
    let record = run.record();
    let totals = &record.totals;
    // Of 700 operations due in the pause, those of the last 200 ms still finish in time. 256 are in
    // flight; the others are never sent, but for a few whose deadline is near when the server
    // continues.
    assert!(totals.timed_out >= 400, "{run}");
    let sent_in_vain = totals.timed_out - totals.timed_out_queued;
    assert!((200..=300).contains(&sent_in_vain), "{sent_in_vain}: {run}");
    assert_eq!(totals.late_replies, sent_in_vain, "{run}");
    assert_eq!((totals.lost, totals.connections.lost), (0, 0), "{run}");
    assert_eq!(totals.sent, totals.answered + totals.late_replies, "{run}");
    assert_counters_equal(&record);
}

#[test]
fn refused_stores_are_errors_of_the_run_and_no_lie_of_the_counters() {
    let peer = Peer::memcached("-I 2k -o slab_chunk_max=1");
    let flags =
        "--load never --mix set=1 --value-size fixed:5000 --keys 100 --ops-max 500 --json -";
    let run = memtide(&format!("run -s {} {flags}", peer.name)).exits(0);
    let record: Record = run.record();
    assert_eq!((record.totals.failed, record.totals.errors["server_error"]), (500, 500), "{run}");
    // memcached counts a store in cmd_set only once it has found memory for it.
    let (result, message) = check(&record, CheckKind::ServerCounters);
    assert_ne!(result, CheckResult::Failed, "{message}");
}

/// The program with a limit of open files.
fn limited(limit: &str, line: &str) -> Running {
    let program = program();
    let path = program.get_program().to_str().unwrap();
    let mut shell = Command::new("sh");
    Running::of(shell.arg("-c").arg(format!("ulimit {limit}; exec '{path}' {line}")))
}

#[test]
fn the_soft_limit_of_open_files_is_raised_and_the_hard_one_explained() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let line = format!("run -s {} --connections 200 --keys 100 --ops-max 500", peer.name);
    limited("-n 64", &line)
        .finish()
        .complains(2, &["open files", "64", "ulimit -Hn", "connections"]);
    limited("-Sn 64", &line).finish().exits(0);
}

#[test]
fn where_io_uring_is_forbidden_epoll_does_the_same_and_the_report_says_why() {
    let line = "run --ops-max 1000 --keys 100 --io auto --json -";
    let run = Running::of(forbid_io_uring(program().args(line.split_whitespace()))).finish();
    let record = run.exits(0).record();
    assert_eq!(record.plan.io, "epoll");
    assert!(record.plan.why["io"].contains("forbids io_uring"), "{:?}", record.plan.why);
    assert_eq!(record.totals.answered, 1000);

    let line = "run --ops-max 1000 --io uring";
    let run = Running::of(forbid_io_uring(program().args(line.split_whitespace()))).finish();
    run.complains(2, &["--io", "forbids io_uring", "epoll"]);
}

/// Makes the kernel refuse the set-up of an io_uring with "not permitted", as in containers.
fn forbid_io_uring(command: &mut Command) -> &mut Command {
    let statement =
        |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter { code: code as u16, jt, jf, k };
    let filter = [
        // The number of the system call is the first word of the filter's input.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ, libc::SYS_io_uring_setup as u32, 0, 1),
        statement(libc::BPF_RET, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0, 0),
        statement(libc::BPF_RET, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let forbid = move || {
        let program =
            libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
        // SAFETY: both calls only read their arguments, which outlive them.
        let codes = unsafe {
            let strict: libc::c_ulong = 1;
            let first = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, strict, 0, 0, 0);
            let mode = libc::SECCOMP_MODE_FILTER as libc::c_ulong;
            (first, libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program))
        };
        if codes == (0, 0) { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: only two system calls are made between fork and exec.
    unsafe { command.pre_exec(forbid) }
}
