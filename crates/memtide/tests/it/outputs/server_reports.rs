//! Reports of servers during the load.

use crate::prelude::*;
use memtide_record::{Figure, ServerReport};

/// Sum of the reports in the seconds, for the only server.
fn of_seconds(record: &Record) -> ServerReport {
    let each = record.seconds.iter().flat_map(|second| second.reports.values());
    each.fold(ServerReport::default(), |sum, of| sum.then(of))
}

fn of_load(record: &Record) -> ServerReport {
    record.server.during.values().next().expect("the server was asked").report
}

#[test]
fn counters_of_each_second_sum_to_those_of_the_whole_run() {
    let _turn = shared();
    for flags in ["--mix set=1", "--protocol binary --mix set=1 --threads 2", "--mix set=3,incr=1"]
    {
        let (peer, table) = (Peer::memcached(""), scratch("server-reports.csv"));
        let out = format!("--json - --out intervals={}", table.display());
        let line = "--rate 2k --duration 2500ms --warmup 300ms --keys 500 --load never";
        let run = memtide(&format!("run -s {} {line} {flags} {out}", peer.name)).exits(0);
        let record = run.record();
        let (seconds, load) = (of_seconds(&record), of_load(&record));
        assert_eq!(seconds, load, "{run}");
        let delta = &record.server.delta[&peer.name];
        let whole = |name: &str| match delta[name] {
            Figure::Whole(count) => count as u64,
            _ => panic!("{name} is no whole number"),
        };
        assert!(whole("cmd_set") > 3_000, "{run}");
        assert_eq!(load.sets, Some(whole("cmd_set")), "{run}");
        assert_eq!(load.gets, Some(whole("cmd_get")), "{run}");
        let operations = ["cmd_get", "cmd_set", "incr_hits", "incr_misses"].map(whole);
        assert_eq!(load.operations, Some(operations.iter().sum()), "{run}");
        assert!(load.cpu_s_per_mops().is_some_and(|cpu_s| cpu_s > 0.0), "{run}");
        assert_eq!((load.restarts, load.resets, load.unanswered), (0, 0, 0), "{run}");
        assert!(record.seconds.iter().filter(|second| !second.reports.is_empty()).count() >= 2);
        // memtide knows its own queries: no other client is suspected.
        let check = record.believable.checks.iter().find(|of| of.message.contains("counters"));
        assert!(check.is_some_and(|check| check.message.contains("equal")), "{run}");
        let rows = fs::read_to_string(&table).unwrap();
        let at = rows.lines().next().unwrap().split(',').position(|name| name == "server_sets");
        let cells =
            rows.lines().skip(1).filter_map(|row| row.split(',').nth(at?)?.parse::<u64>().ok());
        assert_eq!(cells.sum::<u64>(), whole("cmd_set"), "{rows}");
    }
}

#[test]
fn a_restart_in_mid_run_is_one() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let (name, address) = (peer.name.clone(), peer.address());
    let flags = "--rate 500 --duration 10s --timeout 3s --keys 100 --mix set=1 --load never";
    let file = scratch("server-restart.json");
    let json = format!("--json {}", file.display());
    let running = Running::start(&format!("run -s {name} --full {flags} --connections 4 {json}"));
    peer.await_figure("cmd_set", 600);
    peer.kill();
    thread::sleep(Duration::from_millis(300));
    let back = Peer::memcached_at(address, "").expect("the port is free again");
    let run = running.finish().exits(0);
    let record = Record::from_json(&fs::read_to_string(&file).unwrap()).unwrap();
    let (seconds, load) = (of_seconds(&record), of_load(&record));
    assert_eq!(seconds, load, "{run}");
    assert_eq!((load.restarts, load.resets), (1, 0), "{run}");
    let restarts = record.seconds.iter().flat_map(|of| of.reports.values()).map(|of| of.restarts);
    assert_eq!(restarts.filter(|count| *count == 1).count(), 1, "{run}");
    // The first process's counts after its last reply are unknown.
    let least = back.figure("cmd_set");
    let phases = [&record.phases.warmup, &record.phases.measure, &record.phases.cooldown];
    let most: u64 = phases.iter().map(|phase| phase.totals.intended).sum();
    assert!(load.sets.is_some_and(|sets| sets > least && sets <= most), "{run}");
    assert!(run.out.contains("was restarted once"), "{run}");
}

#[test]
fn a_server_that_does_not_answer_costs_only_its_figures_of_that_time() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let flags = "--rate 500 --duration 8s --timeout 400ms --keys 100 --mix set=1 --load never";
    let file = scratch("server-silent.json");
    let flags = format!("{flags} --full --errors-max 1 --json {}", file.display());
    let running = Running::start(&format!("run -s {} {flags}", peer.name));
    peer.await_figure("cmd_set", 600);
    peer.signal(Signal::STOP);
    thread::sleep(Duration::from_millis(1_700));
    peer.signal(Signal::CONT);
    let run = running.finish().exits(0);
    let record = Record::from_json(&fs::read_to_string(&file).unwrap()).unwrap();
    let load = of_load(&record);
    assert!(load.unanswered >= 1 && load.answers >= 2 && load.restarts == 0, "{run}");
    assert!(record.server.during[&peer.name].why_unanswered.is_some(), "{run}");
    assert_eq!(run.out.matches("stats requests failed").count(), 1, "{run}");
}

/// Number of `stats` queries in the server's own log.
fn asked(log: &Path) -> usize {
    let text = String::from_utf8_lossy(&fs::read(log).unwrap()).into_owned();
    text.lines().filter(|line| line.starts_with('<') && line.ends_with(" stats")).count()
}

#[test]
fn neither_the_faces_nor_no_stats_ask_while_the_load_runs() {
    let _turn = shared();
    let log = scratch("server-reports.log");
    let ask = |line: &str| -> (usize, Finished) {
        let peer = Peer::memcached_recording(&log);
        let run = memtide(&line.replace("SERVER", &peer.name)).exits(0);
        drop(peer);
        (asked(&log), run)
    };
    let native = "run -s SERVER --rate 200 --duration 2s --keys 20 --json -";
    let (count, run) = ask(native);
    assert!((3..=12).contains(&count), "{count} questions: {run}");
    let (count, run) = ask(&format!("{native} --no-stats"));
    assert!(count == 0 && run.record().server.during.is_empty(), "{count} questions: {run}");
    let (count, run) = ask("mutilate -s SERVER -q 200 -t 3 -r 20 -c 2");
    assert!(count <= 4, "{count} questions: {run}");
}

/// Items of all servers fell from 407 000 to 204 000 and rose again, because one was stopped.
#[test]
fn rows_of_two_servers_have_no_sum_while_one_is_stopped() {
    let _turn = shared();
    let [one, other] = [Peer::memcached(""), Peer::memcached("")];
    let table = scratch("server-stopped.csv");
    let flags = "--rate 500 --duration 8s --warmup 0 --timeout 400ms --keys 200 --errors-max 1";
    let running = Running::start(&format!(
        "run -s {},{} {flags} --mix get=3,touch=1 --json - --out intervals={}",
        one.name,
        other.name,
        table.display()
    ));
    // The load has begun: nothing else touches.
    other.await_figure("cmd_touch", 60);
    other.signal(Signal::STOP);
    thread::sleep(Duration::from_millis(2_200));
    other.signal(Signal::CONT);
    let run = running.finish().exits(0);
    let rows = crate::law::csv(&fs::read_to_string(&table).unwrap());
    let of_all: Vec<_> = rows.iter().filter(|row| row["kind"] == "all").collect();
    let number = |row: &BTreeMap<String, String>, name: &str| -> Option<u64> {
        row.get(name).map(|cell| cell.parse().unwrap())
    };
    let answered: Vec<_> = of_all.iter().map(|row| number(row, "servers_answered")).collect();
    assert!(answered.contains(&Some(2)) && answered.contains(&Some(1)), "{answered:?}: {run}");
    for row in of_all {
        // Each server holds all keys, whether or not it answers.
        let items = number(row, "server_items");
        match number(row, "servers_answered") {
            Some(2) => assert_eq!(items, Some(400), "{row:?}"),
            _ => assert!(items.is_none() && number(row, "server_gets").is_none(), "{row:?}"),
        }
    }
}
