//! Servers that are absent, disappear, or are silent.

use crate::world::{
    Ran, Script, Stretch, WatchedFleet, around, closes, ms, run_in, run_toml, scenario, setting,
};
use memtide_record::{EndedBy, GoalResult, Verdict};

const PACED: &str = "server = 'unix:/s'\nrate = 1000\narrival = 'fixed'\nduration = '3s'\n\
                     keys = 100\nconnections = 4\nthreads = 2\ntimeout = '500ms'\n";

#[test]
fn a_refused_connection_is_said_so() {
    let script = Script { refuses: vec![Stretch::ms(0, 10_000)], ..Script::default() };
    let ran = run_toml(script, PACED);
    let (exit, message) = ran.failure();
    assert_eq!(exit, 3);
    assert!(message.starts_with("server server-0 refused the connection"), "{message}");
}

#[test]
fn a_server_that_says_nothing_is_said_so() {
    let script = Script { server_stops: vec![Stretch::ms(0, 100_000)], ..Script::default() };
    let ran = run_toml(script, PACED);
    let (exit, message) = ran.failure();
    assert_eq!(exit, 3);
    assert!(message.contains("did not answer within 500 ms"), "{message}");
}

#[test]
fn what_is_no_memcached_is_said_so() {
    for says in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"-ERR unknown command\r\n"] {
        let ran = run_toml(Script { says: Some((ms(0), says)), ..Script::default() }, PACED);
        assert_eq!(ran.failure().0, 3, "{}", ran.failure().1);
    }
}

#[test]
fn a_server_that_falls_silent_while_it_is_filled_does_not_hang_the_run() {
    for from in [3, 20, 60, 120] {
        let script =
            Script { server_stops: vec![Stretch::ms(from, 1_000_000)], ..Script::default() };
        let ran = run_toml(script, PACED);
        assert_eq!(ran.failure().0, 3, "silent from {from} ms: {}", ran.failure().1);
    }
}

#[test]
fn a_closed_loop_of_so_many_operations_does_not_hang_on_a_silent_server() {
    let toml = "server = 'unix:/s'\nrate = 0\nops-max = 1000000\nkeys = 100\nload = 'never'\n\
                connections = 4\nthreads = 2\ntimeout = '500ms'\n";
    let script = Script { server_stops: vec![Stretch::ms(500, 1_000_000)], ..Script::default() };
    let ran = run_toml(script, toml);
    assert_eq!(ran.failure().0, 3, "{}", ran.failure().1);
}

#[test]
fn a_server_that_dies_ends_the_run_after_the_timeout_with_a_partial_record() {
    let script = Script {
        closes: closes([0, 1, 2, 3].map(|nth| (1_500, nth))),
        refuses: vec![Stretch::ms(1_500, 100_000)],
        ..Script::default()
    };
    let ran = run_toml(script, PACED);
    let (exit, message) = ran.failure();
    assert_eq!(exit, 3);
    assert!(message.contains("gone for longer than the timeout of 500 ms"), "{message}");
    let record = ran.record();
    assert_eq!((record.exit, record.partial), (3, true));
    assert_eq!(record.ended_by, EndedBy::ServersLost);
    assert!(record.totals.answered > 500);
    assert!(record.totals.timed_out + record.totals.abandoned > 300);
}

#[test]
fn with_reconnect_never_the_first_lost_connection_ends_the_run() {
    let script = Script { closes: closes([(1_500, 1)]), ..Script::default() };
    let toml = PACED.replace("threads = 2", "threads = 1");
    let ran = run_toml(script, &format!("{toml}reconnect = 'never'\n"));
    let (exit, message) = ran.failure();
    assert_eq!(exit, 3);
    assert!(message.starts_with("server server-0 closed the connection"), "{message}");
    assert!(message.ends_with("reconnect never"), "{message}");
    let record = ran.record();
    assert_eq!((record.exit, record.partial), (3, true));
    assert_eq!(record.ended_by, EndedBy::ConnectionLost);
    assert_eq!(record.totals.connections.lost, 1);
    assert_eq!(record.totals.connections.opened, 4, "none was opened again");
    assert!(record.measured_s < 2.0, "it went on for {} s", record.measured_s);
    assert!(record.totals.answered > 500);
    assert_eq!(record.check_conservation(), Ok(()));
}

#[test]
fn a_server_that_does_not_know_what_it_is_told_is_loaded_all_the_same() {
    let toml = format!("{PACED}before = 'start_trace'\nafter = 'stop_trace'\n");
    let ran = run_toml(Script::default(), &toml);
    let record = ran.record();
    assert_eq!((record.exit, record.totals.answered), (0, 3_000));
    let refused: Vec<&str> = record
        .warnings
        .iter()
        .filter(|warning| warning.code == "line_refused")
        .map(|warning| warning.message.as_str())
        .collect();
    assert_eq!(
        refused,
        [
            "server-0 received 'start_trace' and answered 'ERROR'",
            "server-0 received 'stop_trace' and answered 'ERROR'"
        ]
    );
    // The queries are known to be memtide's: no other client is suspected.
    assert_eq!(record.warnings.len(), 2, "{:?}", record.warnings);
}

#[test]
fn servers_are_told_between_the_fill_and_the_load_and_after_it() {
    // The command before the load reaches full servers, and empties them.
    let told = "before = 'flush_all'\nafter = 'set mark 0 0 0'\nmix = 'get=1'\n";
    let ran = run_toml(Script::default(), &format!("{PACED}{told}"));
    let record = ran.record();
    assert_eq!((record.exit, record.totals.misses), (0, 3_000));
    let told = "before = 'set mark 0 0 0'\nafter = 'flush_all'\nmix = 'get=1'\n";
    let ran = run_toml(Script::default(), &format!("{PACED}{told}"));
    assert_eq!(ran.failure().0, 3, "a line that is not whole is never answered");
    let told = "after = 'flush_all'\nmix = 'get=1'\n";
    let ran = run_toml(Script::default(), &format!("{PACED}{told}"));
    let record = ran.record();
    assert_eq!((record.exit, record.totals.misses), (0, 0));
}

#[test]
fn counters_that_a_line_has_changed_are_not_held_against_anybody() {
    let ran = run_toml(Script::default(), &format!("{PACED}before = 'get mark'\n"));
    let record = ran.record();
    let codes: Vec<&str> = record.warnings.iter().map(|warning| &*warning.code).collect();
    assert_eq!((record.exit, &codes[..]), (0, &["stats_unavailable"][..]));
    assert_eq!(record.believable.verdict, Verdict::Yes, "{:?}", record.believable);
}

#[test]
fn a_server_that_comes_back_costs_losses_only() {
    let script = Script {
        closes: closes([0, 1, 2, 3].map(|nth| (1_500, nth))),
        refuses: vec![Stretch::ms(1_500, 1_700)],
        ..Script::default()
    };
    let ran = run_toml(script, PACED);
    let record = ran.record();
    assert_eq!((record.exit, record.partial), (0, false));
    assert_eq!(record.totals.connections.lost, 4);
    assert_eq!(record.totals.intended, 3_000);
    assert!(record.lag_split.disconnected.max_ns > Some(150_000_000));
    assert!(record.warnings.iter().any(|warning| warning.code == "connections_lost"));
}

#[test]
fn a_missed_goal_is_exit_1_and_unanswered_operations_are_no_short_cut() {
    let goals = "goal = ['all.p99<100ms', 'errors<50%']\n";
    let script = Script { says: Some((ms(1_500), b"SERVER_ERROR busy\r\n")), ..Script::default() };
    let ran = run_toml(script, &format!("{PACED}load = 'never'\n{goals}"));
    let record = ran.record();
    assert!(record.totals.failed > 500);
    let results: Vec<_> = record.goals.iter().map(|goal| goal.result).collect();
    assert_eq!(results[0], GoalResult::Missed, "fast errors do not improve a percentile");
    assert_eq!(record.exit, 1);
    assert_eq!(record.response[&memtide_scenario::Kind::All].p99_ns, None);
}

#[test]
fn a_server_that_evicts_items_of_the_load_is_warned_of() {
    let evictions = |memory_bytes_max| {
        let mut setting = setting(Script::default());
        setting.servers[0].store.memory_bytes_max = memory_bytes_max;
        let toml = PACED.replace("rate = 1000", "rate = 3000").replace("= 100\n", "= 100000\n");
        let toml = format!("{toml}mix = 'set=1'\nload = 'never'\n");
        let ran = run_in(WatchedFleet::within(setting), &around(1, true), &scenario(&toml));
        ran.record().warnings.iter().any(|warning| warning.code == "evictions")
    };
    assert!(evictions(1 << 20) && !evictions(64 << 20));
}

/// Loads that store long values, each in a way of its own.
const LONG: [&str; 5] = [
    "mix = 'set=1'\n",
    "mix = 'get=1'\n",
    "mix = 'set=1'\nload = 'never'\n",
    "clients = 2\nwindow = 4\nmix = 'get=1'\n",
    "mix = 'get=1,set=1'\nprotocol = 'binary'\n",
];

fn long(bytes: u64, more: &str) -> Ran {
    let toml = format!(
        "server = 'unix:/s'\nrate = 0\nops-max = 20\nkeys = 10\nthreads = 1\nkey-size = 30\n\
         value-size = {bytes}\nvalue-max = '4MiB'\ntimeout = '500ms'\n{more}"
    );
    run_toml(Script::default(), &toml)
}

#[test]
fn a_length_that_a_server_refuses_ends_the_run_before_its_load() {
    for more in LONG {
        let ran = long(2 << 20, more);
        let (exit, message) = ran.failure();
        let answer = match more.contains("binary") {
            true => "SERVER_ERROR Too large.",
            false => "SERVER_ERROR object too large for cache",
        };
        let words = format!(
            "server server-0 answered '{answer}' to a value of 2097152 bytes; the longest that \
             fits is 1048487 bytes: use a smaller --value-size, or start the server with -I 3m"
        );
        assert_eq!((exit, message), (3, words), "{more}");
        assert!(ran.fleet.plans.len() <= 2, "{more}: a sample and one set");
        // What is said to fit does fit, and no more.
        assert_eq!(long(1_048_487, more).record().totals.failed, 0, "{more}");
        assert_eq!(long(1_048_488, more).failure().0, 3, "{more}");
    }
    let without = long(2 << 20, "mix = 'set=1'\nno-stats = true\n").failure().1;
    assert!(without.contains("; without -I, memcached takes 1047552 bytes: use"), "{without}");
}

#[test]
fn a_length_is_tried_only_where_all_stores_would_be_refused() {
    for more in ["load-partial = true\n", "count-refused = true\n"] {
        assert!(long(2 << 20, &format!("mix = 'set=1'\n{more}")).result.is_ok(), "{more}");
    }
    let sets = |bytes: u64| long(bytes, "mix = 'set=1'\n").fleet.plans.len();
    assert_eq!([sets(100), sets(65_535), sets(65_536)], [1, 1, 2]);
}
