//! Servers that ignore `stats` and `version`, as middleware and servers in hardware do: a run does
//! not need them.

use crate::peer::rogue::{Answer, Rogue, say};
use crate::prelude::*;

/// A server that answers sets and gets, and ignores all else. It counts in `asked` how often it was
/// asked for its statistics.
fn mute(asked: &Arc<AtomicU64>) -> Rogue {
    let asked = Arc::clone(asked);
    Rogue::new(move |line| match line.split(' ').next() {
        Some("get") => say("END\r\n"),
        Some("set") => say("STORED\r\n"),
        Some("stats") => {
            asked.fetch_add(1, Ordering::AcqRel);
            Answer::Silence
        }
        _ => Answer::Silence,
    })
}

#[test]
fn a_server_that_ignores_stats_is_measured_and_asked_only_once() {
    let _turn = shared();
    let asked = Arc::default();
    let server = mute(&asked);
    let line = format!("run -s {} --rate 500 --duration 2s --keys 50 --load never", server.name);
    let run = memtide(&format!("{line} --json -")).exits(0);
    let record = run.record();
    assert!(record.totals.answered > 500 && record.totals.failed == 0, "{run}");
    let (result, message) = check(&record, CheckKind::ServerCounters);
    assert!(result == CheckResult::Skipped, "{run}");
    assert!(message.contains("did not answer stats within 1 s"), "{message}");
    assert_eq!(asked.load(Ordering::Acquire), 1, "neither each second nor after the load: {run}");
    let run = memtide(&format!("{line} --full")).exits(0);
    let said = format!("{}{}", run.out, run.err);
    let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "did not answer stats within 1 s; let the server answer the stats command, or skip \
               the comparison with --no-stats";
    assert_eq!(said.matches(why).count(), 1, "{run}");
}

#[test]
fn the_faces_run_against_it_as_their_originals_do() {
    let _turn = shared();
    let server = mute(&Arc::default());
    let (host, port) = server.name.rsplit_once(':').unwrap();
    for line in [
        format!("mutilate -s {} -q 500 -t 1 -r 50 -u 0.1", server.name),
        format!("mcperf -s {} -q 500 -t 1 -r 50 -u 0.1", server.name),
        format!("memaslap -s {} -t 1s -T 1 -c 2", server.name),
        format!("twemperf -s {host} -p {port} -n 2 -N 10 -z 10"),
    ] {
        let run = memtide(&line).exits(0);
        assert!(run.out.contains("QPS") || run.out.contains("TPS: ") || run.out.is_empty());
        assert!(run.err.is_empty() || run.err.starts_with("\nTotal: connections 2"), "{run}");
    }
}

#[test]
fn a_late_answer_never_meets_the_load() {
    let _turn = shared();
    let late = Rogue::polite(|line| match line.split(' ').next() {
        Some("get") => say("END\r\n"),
        _ => Answer::Silence,
    });
    let slow = Rogue::new(|line| match line.split(' ').next() {
        Some("get") => say("END\r\n"),
        Some("stats") => {
            thread::sleep(Duration::from_millis(1_500));
            say("STAT pid 1\r\nEND\r\n")
        }
        _ => Answer::Silence,
    });
    let flags = "--rate 500 --duration 3s --keys 50 --load never --mix get=1 --json -";
    let run = memtide(&format!("run -s {},{} {flags}", slow.name, late.name)).exits(0);
    let totals = run.record().totals;
    assert!(totals.answered > 1_000, "{run}");
    assert_eq!((totals.failed, totals.late_replies, totals.lost), (0, 0, 0), "{run}");
}

#[test]
fn a_server_that_answers_no_get_either_ends_the_run() {
    let _turn = shared();
    let silent = Rogue::new(|_| Answer::Silence);
    let line = format!("run -s {} --keys 50 --duration 1s --timeout 1500ms", silent.name);
    memtide(&line).complains(3, &[&silent.name, "did not answer within 1.5 s", "--timeout"]);
}

#[test]
fn several_servers_are_asked_at_once() {
    let _turn = shared();
    let [open, most] = [0; 2].map(|_| Arc::new(AtomicUsize::new(0)));
    let server = |_| {
        let (open, most) = (Arc::clone(&open), Arc::clone(&most));
        Rogue::raw(move |stream| {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut stream, mut line) = (stream, String::new());
            while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                if line == "stats\r\n" {
                    most.fetch_max(open.fetch_add(1, Ordering::AcqRel) + 1, Ordering::AcqRel);
                    // Until memtide closes the connection.
                    drop(reader.read_line(&mut line));
                    open.fetch_sub(1, Ordering::AcqRel);
                    return;
                }
                drop(stream.write_all(b"END\r\n"));
                line.clear();
            }
        })
    };
    let servers: Vec<Rogue> = (0..6).map(server).collect();
    let names: Vec<&str> = servers.iter().map(|server| &*server.name).collect();
    let flags = "--rate 500 --duration 500ms --warmup 0 --keys 50 --load never --mix get=1";
    memtide(&format!("run -s {} {flags}", names.join(","))).exits(0);
    // A machine that is too busy may begin some only when the first are closed.
    assert!(most.load(Ordering::Acquire) >= 2, "{most:?}");
}
