//! Servers and proxies that withhold their statistics, refuse stores or lose them: they can be
//! measured, and missing data are reported.

use crate::peer::rogue::{Answer, Rogue, readable, say};
use crate::prelude::*;

/// A proxy that closes the connection on any command that is not about a key.
fn proxy(asked: &Arc<AtomicU64>) -> Rogue {
    let asked = Arc::clone(asked);
    Rogue::new(move |line| match line.split(' ').next() {
        Some("get") => say("END\r\n"),
        Some("set") => say("STORED\r\n"),
        _ => {
            asked.fetch_add(1, Ordering::Relaxed);
            Answer::Leave("")
        }
    })
}

fn skipped(run: &Finished, words: &str) {
    let record = run.record();
    assert!(record.totals.answered > 0 && record.totals.lost == 0, "{run}");
    let (result, message) = check(&record, CheckKind::ServerCounters);
    assert_eq!(result, CheckResult::Skipped, "{run}");
    assert!(message.contains(words), "'{message}': {run}");
}

#[test]
fn a_proxy_that_hangs_up_on_stats_is_measured_and_it_is_said() {
    let asked = Arc::default();
    let server = proxy(&asked);
    let flags = "--load never --rate 500 --duration 300ms --json -";
    let run = memtide(&format!("run -s {} {flags}", server.name)).exits(0);
    skipped(&run, "when it was asked for stats");
    let record = run.record();
    assert!(record.warnings.iter().any(|warning| warning.code == "stats_unavailable"), "{run}");
    assert_eq!(asked.load(Ordering::Relaxed), 1, "one refusal is enough");
}

#[test]
fn with_no_stats_nobody_is_asked_and_only_the_comparison_is_missing() {
    let asked = Arc::default();
    let server = proxy(&asked);
    let flags = "--no-stats --load never --rate 500 --duration 300ms --json -";
    let run = memtide(&format!("run -s {} {flags}", server.name)).exits(0);
    skipped(&run, "--no-stats");
    let record = run.record();
    assert!(record.warnings.iter().all(|warning| warning.code != "stats_unavailable"), "{run}");
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    // Whether the server is there is checked nevertheless.
    memtide("run --no-stats -s 127.0.0.1:1").complains(3, &["127.0.0.1:1", "refused"]);
    let dead = Rogue::raw(drop);
    memtide(&format!("run --no-stats -s {}", dead.name)).complains(3, &["the connection"]);
}

#[test]
fn stores_that_are_refused_or_lost_in_a_fill_are_accepted_when_the_user_says_so() {
    for what in ["refused", "lost"] {
        let sets = AtomicU64::new(0);
        let server = Rogue::polite(move |line| {
            let nth = sets.fetch_add(1, Ordering::Relaxed);
            match (line.starts_with("set"), nth % 10 == 5) {
                (true, true) if what == "lost" => Answer::Leave(""),
                (true, true) => say("SERVER_ERROR out of memory storing object\r\n"),
                (true, false) => say("STORED\r\n"),
                (false, _) => say("END\r\n"),
            }
        });
        let flags = "--load always --keys 200 --rate 500 --duration 300ms --mix get=1 --json -";
        let line = format!("run -s {} {flags}", server.name);
        memtide(&line).complains(3, &[&server.name, "stored", "of 200 keys", "--load-partial"]);
        let run = memtide(&format!("{line} --load-partial")).exits(0);
        let record = run.record();
        let warned = record.warnings.iter().find(|warning| warning.code == "stores_refused");
        let message = &warned.unwrap_or_else(|| panic!("nothing is said: {run}")).message;
        assert!(message.contains("of 200 keys"), "{message}");
        assert!(record.totals.answered > 0, "{run}");
    }
}

#[test]
fn connections_that_were_opened_are_counted_when_others_were_not() {
    // It accepts ten connections, and then no more; its listen backlog is short.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let name = listener.local_addr().unwrap().to_string();
    rustix::net::listen(&listener, 1).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let end = Arc::clone(&over);
    let server = thread::spawn(move || {
        let mut open = Vec::new();
        while !end.load(Ordering::Acquire) {
            if open.len() == 11 || !readable(&listener) {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            let (mut stream, _) = listener.accept().unwrap();
            if open.is_empty() {
                stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                let mut request = [0; 100];
                let len = stream.read(&mut request).unwrap();
                assert_eq!(&request[..len], b"stats\r\n");
                stream.write_all(b"STAT pid 1\r\nEND\r\n").unwrap();
            }
            open.push(stream);
        }
    });
    let run = memtide(&format!("run -s {name} --load never --connections 60 --timeout 3s"));
    over.store(true, Ordering::Release);
    server.join().unwrap();
    if run.code == Some(0) {
        // A busy kernel can let all shake hands before the backlog is full.
        return assert!(run.err.contains("60 not answered"), "{run}");
    }
    run.complains(3, &[&name, "did not accept", "of 60 connections had been opened"]);
    let (_, told) = run.err.split_once("(when ").unwrap();
    let opened: u64 = told.split(' ').next().unwrap().parse().unwrap();
    // Up to eleven, and a few that wait in the backlog; on a busy machine fewer in that time.
    assert!((1..60).contains(&opened), "{run}");
}

#[test]
fn an_interrupt_ends_a_question_at_once() {
    let server = Rogue::new(|_| Answer::Silence);
    let line = format!("run -s {} --timeout 10m", server.name);
    let running = Running::of(program().args(line.split_whitespace()));
    until("it does not begin", || server.accepted() > 0);
    running.await_handler(Signal::INT);
    running.signal(Signal::INT);
    // `finish` waits for less time than the timeout.
    let run = running.finish();
    assert!(run.err.contains("interrupted") && !run.err.contains("panicked"), "{run}");
}
