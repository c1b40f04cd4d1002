//! Servers that are absent, lie, fall silent, close connections, die and come back: memtide never
//! panics or hangs, and always names the server in a sentence.

use crate::child::fresh_folder;
use crate::peer::rogue::{Answer, Rogue};
use crate::prelude::*;
use memtide_record::steps::{Steps, StepsEnd};

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
    let (old, new) = (scratch("old-result.csv"), scratch("new-result.csv"));
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
    assert!(record_at(&old).totals.answered > 0, "{run}");
}

#[test]
fn one_bad_server_among_several_is_the_one_that_is_named() {
    let peer = Peer::memcached("");
    memtide(&format!("run -s {},127.0.0.1:1", peer.name)).complains(3, &["127.0.0.1:1 refused"]);
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
fn a_server_that_dies_ends_the_run_with_a_partial_record() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let name = peer.name.clone();
    let json = scratch("dies.json");
    let flags = "--rate 1000 --duration 5m --warmup 0s --timeout 500ms --load never --keys 100";
    let running = Running::start(&format!("run -s {name} {flags} --json {}", json.display()));
    peer.await_figure("cmd_get", 300);
    peer.kill();
    let run = running.finish().exits(3);
    assert!(run.out.starts_with("partial"), "{run}");
    assert!(run.out.lines().last().unwrap().starts_with("believable: "), "{run}");
    let record = record_at(&json);
    assert!(record.partial, "{run}");
    assert_eq!((record.ended_by, record.exit), (EndedBy::ServersLost, 3), "{run}");
    assert!(record.measured_s < 200.0, "the run went on without a server: {run}");
    assert!(record.totals.answered >= 300, "{run}");
    assert!(record.totals.unanswered() > 0, "{run}");
    assert!(record.totals.connections.lost > 0, "{run}");
    assert!(run.err.contains(&name), "{run}");
    assert!(!run.err.contains("panicked"), "{run}");
}

#[test]
fn a_server_that_dies_late_makes_no_run_believable_neither_of_a_face() {
    let _turn = shared();
    let json = scratch("deserted.json");
    let place = json.display();
    // Fewer than 1 % of the operations are lost, also with one schedule for all connections.
    let flags = "--rate 1000 --duration 6s --timeout 300ms --load never --keys 100";
    for line in [
        format!("run {flags} --connections 2 --quiet --json {place}"),
        format!("mutilate -q 1000 -c 1 -t 6 -r 100 --noload --json {place}"),
        format!("memaslap -t 6s -c 2 -T 1 --json {place}"),
    ] {
        let (dies, churn) = (Peer::memcached(""), Peer::memcached(""));
        let servers = match line.starts_with("mutilate") {
            true => format!("-s {} -s {}", dies.name, churn.name),
            false => format!("-s {},{}", dies.name, churn.name),
        };
        let running = Running::start(&format!("{line} {servers}"));
        dies.await_figure("cmd_get", 700);
        dies.kill();
        let run = running.finish();
        let record = record_at(&json);
        fs::remove_file(&json).unwrap();
        // The faces keep the codes of their originals.
        assert_eq!(run.code == Some(3), line.starts_with("run"), "{line}: {run}");
        assert_ne!(record.believable.verdict, Verdict::Yes, "{line}: {run}");
        assert_eq!(check(&record, CheckKind::Errors).0, CheckResult::Failed, "{line}: {run}");
    }
}

#[test]
fn a_server_that_stays_stopped_costs_only_timeouts() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let flags = "--rate 1000 --duration 4s --timeout 300ms --load never --keys 100 --json -";
    let running = Running::start(&format!("run -s {} {flags}", peer.name));
    peer.await_figure("cmd_get", 100);
    peer.signal(Signal::STOP);
    let run = running.finish();
    peer.signal(Signal::CONT);
    assert!(matches!(run.code, Some(0 | 3)), "{run}");
    let record = run.record();
    assert!(record.totals.timed_out > 0, "{run}");
    assert_eq!(record.totals.lost, 0, "{run}");
    // What was sent cost CPU time, answered or not.
    let client = &record.client;
    let cpu_s = client.cpu_user_s.unwrap() + client.cpu_system_s.unwrap();
    let sent: u64 = record.sent_in_window.values().sum();
    assert!(sent > record.totals.answered, "{run}");
    let paid = client.cpu_s_per_mops.unwrap() * sent as f64 / 1e6;
    assert!((paid / cpu_s - 1.0).abs() < 1e-9, "{paid} s of {cpu_s} s: {run}");
}

#[test]
fn a_server_that_is_stopped_ends_each_command_with_what_there_is() {
    let _turn = shared();
    let words = "--timeout 300ms";
    // The words of a command, and the counter that says that its load has begun; none to stop the
    // server before.
    for (command, begun) in [
        ("run --rate 1k --duration 1s --keys 100", None),
        ("load --keys 100", None),
        ("load --keys 400k --depth 4", Some("cmd_set")),
        ("search --goal all.p99<1s --rate-max 1k --duration 2s --keys 100", Some("cmd_get")),
        ("scan --rates 500,1k,2k --duration 2s --keys 100", Some("cmd_get")),
    ] {
        let peer = Peer::memcached("-m 1024");
        let folder = fresh_folder("stopped");
        let outs = match command.starts_with('s') {
            true => "--out json=r.json --out md=r.md --out junit=r.xml --out html=r.html",
            false => "",
        };
        let line = format!("{command} -s {} {words} {outs}", peer.name);
        if begun.is_none() {
            peer.signal(Signal::STOP);
        }
        let mut program = program();
        program.current_dir(&folder).args(line.split_whitespace());
        let running = Running::of(&mut program);
        if let Some(counter) = begun {
            peer.await_figure(counter, 450);
            peer.signal(Signal::STOP);
        }
        let run = running.finish().exits(3);
        peer.signal(Signal::CONT);
        assert!(run.err.contains("did not answer") && run.err.contains(&peer.name), "{run}");
        let Ok(json) = fs::read_to_string(folder.join("r.json")) else { continue };
        let steps = Steps::from_json(&json).unwrap();
        assert_eq!(steps.conclusion.ended_by, StepsEnd::Failed, "{run}");
        assert!(!steps.steps.is_empty() && run.out.contains("partial: a step failed"), "{run}");
        for (name, sign) in [("r.md", "**failed:** "), ("r.xml", "type=\"failed\""), ("r.html", "")]
        {
            let text = fs::read_to_string(folder.join(name)).unwrap();
            assert!(text.contains(sign), "{name}: {text}");
            assert!(text.contains("did not answer within"), "{name}: {text}");
        }
    }
}

#[test]
fn answers_after_the_deadline_are_discarded_and_counted() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let flags = "--rate 1000 --arrival fixed --duration 7s --timeout 1s --load never --keys 100";
    let more = "--warmup 0 --mix get=1 --connections 4 --json -";
    let running = Running::start(&format!("run -s {} {flags} {more}", peer.name));
    peer.await_figure("cmd_get", 300);
    peer.signal(Signal::STOP);
    thread::sleep(Duration::from_millis(2_500));
    peer.signal(Signal::CONT);
    let run = running.finish().exits(0);
    let record = run.record();
    let totals = &record.totals;
    // Of 2 500 operations due in the pause, those of the last second still finish in time. 256 are
    // in flight; the others are never sent, but for a few whose deadline is near when the server
    // continues.
    assert!(totals.timed_out >= 1_200 && totals.timed_out_queued >= 800, "{run}");
    let sent_in_vain = totals.timed_out - totals.timed_out_queued;
    assert!(sent_in_vain >= 200, "{sent_in_vain}: {run}");
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

#[test]
fn the_soft_limit_of_open_files_is_raised_and_the_hard_one_explained() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let line = format!("run -s {} --connections 200 --keys 100 --ops-max 500", peer.name);
    let words = ["open files", "64", "ulimit -Hn", "connections"];
    start_after("ulimit -n 64", &line).finish().complains(2, &words);
    start_after("ulimit -Sn 64", &line).finish().exits(0);
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
pub(crate) fn forbid_io_uring(command: &mut Command) -> &mut Command {
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
