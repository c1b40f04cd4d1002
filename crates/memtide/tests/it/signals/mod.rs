//! Ctrl-C, SIGTERM and a closed terminal, at every stage of a run.

mod twice;

use crate::peer::rogue::{Answer, Crowded, Rogue, say};
use crate::prelude::*;

/// Much shorter than the runs below, much longer than an orderly end.
const PROMPTLY: Duration = Duration::from_secs(100);

/// Interrupts a run of `line` once `is_there` is true.
fn interrupted(line: &str, is_there: impl Fn() -> bool) -> Finished {
    let running = Running::start(&format!("run {line} --timeout 10m --duration 10m"));
    let started = Instant::now();
    while !is_there() {
        assert!(started.elapsed() < PROMPTLY, "it does not come so far");
        thread::sleep(Duration::from_millis(5));
    }
    // It waits for something that never comes.
    running.await_handler(Signal::INT);
    thread::sleep(Duration::from_millis(300));
    let asked = Instant::now();
    running.signal(Signal::INT);
    let run = running.finish().exits(130);
    assert!(asked.elapsed() < PROMPTLY, "{run}");
    run
}

#[test]
fn the_first_signal_acts_while_greeting() {
    let _turn = shared();
    let mute = Rogue::new(|_| Answer::Silence);
    let run = interrupted(&format!("-s {}", mute.name), || mute.accepted() > 0);
    assert!(run.err.contains("interrupted") && run.out.is_empty(), "{run}");
    let endless = Rogue::new(|line| match line {
        "stats" => say(&"STAT a 1\r\n".repeat(100)),
        _ => Answer::Silence,
    });
    interrupted(&format!("-s {}", endless.name), || endless.accepted() > 0);
    let crowded = Crowded::new();
    interrupted(&format!("-s {}", crowded.name), || true);
}

#[test]
fn the_first_signal_acts_while_connecting_and_filling() {
    let _turn = shared();
    // It does not reply to gets: the probe before a fill waits for them.
    let mute = Rogue::polite(|_| Answer::Silence);
    interrupted(&format!("-s {} --keys 100", mute.name), || mute.accepted() > 1);
    // It accepts sets and replies to none.
    let deaf = Rogue::polite(|line| match line.starts_with("get") {
        true => say("END\r\n"),
        false => Answer::Silence,
    });
    interrupted(&format!("-s {} --keys 100 --load always", deaf.name), || deaf.accepted() > 1);
    // One of two servers accepts no connection, which shows only when the load begins.
    let crowded = Crowded::new();
    let peer = Peer::memcached("");
    let churn = "--load never --connection-rate 10 --calls 1 --mix get=1";
    interrupted(&format!("-s {},{} {churn}", peer.name, crowded.name), || true);
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let _turn = shared();
    for (signal, number) in
        [(Signal::HUP, libc::SIGHUP), (Signal::INT, libc::SIGINT), (Signal::TERM, libc::SIGTERM)]
    {
        let peer = Peer::memcached("");
        let mut command = program();
        let flags = "--rate 500 --duration 2s --keys 100 --load never --mix get=1 --json -";
        command.args(["run", "-s", &peer.name]).args(flags.split(' '));
        // SAFETY: signal may be called between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::signal(number, libc::SIG_IGN);
                Ok(())
            });
        }
        let running = Running::of(&mut command);
        peer.await_figure("cmd_get", 100);
        running.signal(signal);
        let run = running.finish().exits(0);
        assert!(!run.record().partial, "{run}");
    }
}

#[test]
fn a_second_signal_keeps_what_is_written() {
    let _turn = shared();
    let samples = scratch("second-signal.csv");
    let peer = Peer::memcached("");
    let flags = "--rate 2k --duration 10m --timeout 10m --keys 100 --load never --mix get=1";
    let line = format!("run -s {} {flags} --samples {}", peer.name, samples.display());
    let running = Running::start(&line);
    peer.await_figure("cmd_get", 6_000);
    // The run waits for a stopped server.
    peer.signal(Signal::STOP);
    running.signal(Signal::INT);
    thread::sleep(Duration::from_millis(1_100));
    running.signal(Signal::INT);
    let run = running.finish();
    peer.signal(Signal::CONT);
    run.exits(130);
    let rows = fs::read_to_string(samples).unwrap();
    assert!(rows.lines().count() > 1_000, "{}", rows.len());
}
