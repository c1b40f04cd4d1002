//! twemperf's face as scripts meet it: published command lines, shortened, against Debian's
//! memcached, and their output.

mod endings;
mod native;

use crate::prelude::*;

/// Runs `words` as twemperf against `peer`.
fn twemperf(peer: &Peer, words: &str) -> Finished {
    memtide(&format!("twemperf {} {words}", target(peer)))
}

/// Command-line options that name `peer`.
fn target(peer: &Peer) -> String {
    let address = peer.address();
    format!("--server={} --port={}", address.ip(), address.port())
}

/// The report in `text`, without the text before it.
fn report(text: &str) -> &str {
    text.find("\nTotal: ").map_or("", |at| &text[at..])
}

/// The number after `name` in the line that begins with `line`.
fn figure(report: &str, line: &str, name: &str) -> f64 {
    let lines = report.lines().filter_map(|text| text.strip_prefix(line));
    let mut words = lines.flat_map(str::split_whitespace).skip_while(|word| *word != name);
    let number = words.nth(1).unwrap_or_else(|| panic!("no {line} {name} in {report}"));
    number.parse().unwrap_or_else(|_| panic!("{line} {name} is '{number}'"))
}

fn total(report: &str, name: &str) -> f64 {
    figure(report, "Total:", name)
}

fn errors(report: &str, name: &str) -> f64 {
    figure(report, "Errors:", name)
}

/// Asserts the output of a run in which each of `connections` made `calls` calls.
fn assert_whole(run: &Finished, connections: u32, calls: u32) {
    let text = report(&run.err);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(run.out, "", "{run}");
    let requests = f64::from(connections * calls);
    assert_eq!(total(text, "connections"), f64::from(connections), "{run}");
    assert_eq!(total(text, "requests"), requests, "{run}");
    assert_eq!(total(text, "responses"), requests, "{run}");
    assert_eq!(errors(text, "total"), 0.0, "{run}");
}

#[test]
fn the_first_example_of_its_readme() {
    let peer = Peer::memcached("");
    let run = twemperf(
        &peer,
        "--linger=0 --timeout=5 --conn-rate=1000 --call-rate=1000 --num-calls=10 --num-conns=1000 \
         --sizes=u1,16",
    );
    assert_whole(&run, 1_000, 10);
    let text = report(&run.err);
    // The draws equal the original's, so the sizes do.
    assert!(text.contains("\nRequest size [B]: avg 35.9 min 28.0 max 44.0 stddev"), "{run}");
    assert!(text.contains("\nResponse size [B]: avg 8.0 min 8.0 max 8.0 stddev 0.00\n"), "{run}");
    assert_eq!(figure(text, "Response type:", "stored"), 10_000.0, "{run}");
    // No connection opens before its time.
    assert!(total(text, "test-duration") >= 0.999, "{run}");
}

#[test]
fn the_second_example_of_its_readme() {
    let peer = Peer::memcached("");
    let run = twemperf(
        &peer,
        "--linger=0 --call-rate=0 --num-calls=100 --conn-rate=0 --num-conns=100 --sizes=d1 --notes",
    );
    assert_whole(&run, 100, 100);
    let text = report(&run.err);
    assert!(text.contains(" ms/conn <= 1 concurrent connections)\n"), "{run}");
    assert!(text.contains("\nRequest size [B]: avg 28.0 min 28.0 max 28.0 stddev 0.00\n"), "{run}");
    assert!(run.err.contains("for concurrency give a rate"), "{run}");
}

#[test]
fn eight_instances_side_by_side_merge_to_their_sum() {
    let _turn = shared();
    let peers: Vec<Peer> = (0..8).map(|_| Peer::memcached("-m 16 -t 1")).collect();
    // A tenth of the published rates of calls, for one second and for two and a half.
    let set = merged(&peers, ("set", 100, 100), "avg 129.0 min 129.0 max 129.0 stddev 0.00");
    assert_eq!(set.totals.replies["stored"], 80_000);
    let get = merged(&peers, ("get", 4, 10), "avg 19.0 min 19.0 max 19.0 stddev 0.00");
    assert_eq!((get.totals.hits, get.totals.misses), (8_000, 0));
}

/// Runs a method at a rate of calls, `calls` on each of 100 connections, in parallel on all
/// `peers`; all requests have the same size.
fn merged(peers: &[Peer], (method, rate, calls): (&str, u32, u32), size: &str) -> Record {
    let start = |(number, peer): (usize, &Peer)| {
        let file = scratch(&format!("twemperf-{method}-{number}.json"));
        let line = format!(
            "twemperf --sizes=u100,100 --num-calls={calls} --num-conns=100 --call-rate={rate} \
             --conn-rate=10000 --method={method} {} --json={}",
            target(peer),
            file.display()
        );
        (Running::start(&line), file)
    };
    let running: Vec<_> = peers.iter().enumerate().map(start).collect();
    let mut files = Vec::new();
    for (running, file) in running {
        let run = running.finish();
        assert_whole(&run, 100, calls);
        assert!(run.err.contains(&format!("\nRequest size [B]: {size}\n")), "{run}");
        // No call comes before its time.
        let least_s = f64::from(calls - 1) / f64::from(rate);
        assert!(total(report(&run.err), "test-duration") >= least_s, "{run}");
        files.push(file.display().to_string());
    }
    let merged = Running::start(&format!("merge {} --json -", files.join(" "))).finish().exits(0);
    let record = merged.record();
    let each = u64::from(100 * calls);
    assert_eq!((record.shards.len(), record.totals.answered), (8, 8 * each), "{merged}");
    assert_eq!(record.churn.as_ref().map(|churn| churn.measure.completed), Some(800), "{merged}");
    assert_eq!(record.scenario["server"].as_array().map(Vec::len), Some(8), "{merged}");
    assert!(record.servers.iter().all(|server| server.totals.answered == each), "{merged}");
    assert!(record.warnings.iter().any(|warning| warning.code == "servers_differ"), "{merged}");
    record
}

#[test]
fn every_method_is_answered_as_the_protocol_says() {
    let peer = Peer::memcached("");
    for (method, kind) in [
        ("set", "stored"),
        ("get", "value"),
        ("gets", "value"),
        ("add", "not_stored"),
        ("replace", "stored"),
        ("incr", "num"),
        ("decr", "num"),
        ("append", "stored"),
        ("prepend", "stored"),
        ("cas", "exists"),
        ("delete", "deleted"),
        ("get", "end"),
        ("cas", "not_found"),
    ] {
        let run = twemperf(&peer, &format!("-m {method} -n 2 -N 5 -z d3 -l 0"));
        assert_whole(&run, 2, 5);
        assert_eq!(figure(report(&run.err), "Response type:", kind), 10.0, "{method}: {run}");
    }
}

#[test]
fn long_prefixes_and_expiries_leave_requests_whole() {
    let peer = Peer::memcached("");
    // In 2033: memcached takes an expiry this long as a date.
    for prefix in ["123456789012345", "1234567890123456"] {
        let words = format!("-P {prefix} -n 2 -N 5 -z d3 -e 2000000000");
        assert_whole(&twemperf(&peer, &format!("{words} -m set")), 2, 5);
        let get = twemperf(&peer, &format!("{words} -m get"));
        assert_whole(&get, 2, 5);
        assert_eq!(figure(report(&get.err), "Response type:", "value"), 10.0, "{get}");
        let answer = peer.ask(&format!("get {prefix}0000000a"));
        assert_eq!(answer, [&format!("VALUE {prefix}0000000a 0 3"), "000", "END"]);
        let delete = twemperf(&peer, &format!("{words} -m delete"));
        assert_eq!(figure(report(&delete.err), "Response type:", "deleted"), 10.0, "{delete}");
    }
}

#[test]
fn it_sleeps_while_nothing_is_due() {
    let peer = Peer::memcached("");
    let run = twemperf(&peer, "-r 20 -n 30 -R 20 -N 10");
    assert_whole(&run, 30, 10);
    let text = report(&run.err);
    let cpu_s = figure(text, "CPU time [s]:", "user") + figure(text, "CPU time [s]:", "system");
    // The original uses all of the CPU time, memtide a few thousandths of it.
    assert!(cpu_s < total(text, "test-duration") / 2.0, "{run}");
}

#[test]
fn a_server_may_be_a_unix_socket() {
    let peer = Peer::memcached_unix("twemperf");
    let path = peer.name.strip_prefix("unix:").unwrap();
    for options in ["-n 3", "-D -n 3 -l 0", "-n 30 -r 500 --threads=2"] {
        let run = memtide(&format!("twemperf -s {path} -N 4 -z d3 {options}"));
        assert_whole(&run, if options.contains("30") { 30 } else { 3 }, 4);
    }
}

#[test]
fn what_needs_no_answer_has_none() {
    let peer = Peer::memcached("");
    let run = twemperf(&peer, "-q -m set -n 3 -N 4 -z d3");
    let text = report(&run.err);
    assert_eq!((total(text, "requests"), total(text, "responses")), (12.0, 0.0), "{run}");
    assert!(!text.contains("Response"), "{run}");
    let run = twemperf(&peer, "-q -m get -n 3 -N 4 -H --report-stdout");
    assert_eq!(figure(&run.out, "Response type:", "value"), 12.0, "{run}");
    assert!(run.out.contains("\nResponse time histogram [ms]:\n"), "{run}");
    assert!(!run.err.contains("Total:"), "{run}");
}
