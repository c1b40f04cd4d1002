//! Interpretation of the servers' counters, with figures as memcached reports them.

use super::*;
use crate::lower::{Surroundings, lower};
use memtide_scenario::Scenario;
use memtide_world::driver::Address;

/// The plan of a scenario against one server, on two CPUs.
pub(crate) fn plan_of(scenario: &Scenario) -> Plan {
    let server =
        ServerPlan { name: "one".to_owned(), addresses: vec![Address::Unix("one".to_owned())] };
    lower(scenario, &Surroundings::simulated(vec![server], 2)).expect("it can be run").plan
}

/// Figures of a server with these counts.
fn figures(get: i64, set: i64, connections: i64, open: i64) -> ServerStatistics {
    let figures = [
        ("pid", 1),
        ("uptime", 100),
        ("cmd_get", get),
        ("get_hits", get),
        ("get_misses", 0),
        ("cmd_set", set),
        ("cmd_touch", 0),
        ("delete_hits", 0),
        ("touch_hits", 0),
        ("total_connections", connections),
        ("curr_connections", open),
    ];
    figures.into_iter().map(|(name, count)| (name.to_owned(), Figure::Whole(count))).collect()
}

/// 1 000 gets, all hits, over 4 connections, followed by one query.
fn counters() -> Counters {
    let mut counters = Counters {
        intended: 1_000,
        sent: 1_000,
        keys_asked: 1_000,
        keys: 1_000,
        hits: 1_000,
        ..Counters::default()
    };
    (0..1_000).for_each(|_| {
        counters.settle(OpKind::Get.index(), memtide_metrics::counter::Fate::Answered)
    });
    counters.kinds[OpKind::Get.index()].sent = 1_000;
    counters
}

const OPENED: u64 = 4;

fn differs(theirs: i64, ours: u64) -> Agreement {
    Agreement::Differs("cmd_get".to_owned(), theirs, ours)
}

fn compared(before: ServerStatistics, after: ServerStatistics) -> Agreement {
    survey(before, after, false)
}

fn survey(before: ServerStatistics, after: ServerStatistics, is_moving: bool) -> Agreement {
    let side = |figures| [("one".to_owned(), figures)].into();
    let (before, after) = (side(before), side(after));
    let survey = Survey { before, after, asked_between: 1, is_moving, ..Survey::default() };
    let own = OwnCounts { counters: counters(), opened: OPENED };
    compare(&survey, &plan_of(&Scenario::default()), &own)
}

#[test]
fn counters_that_equal_ours_are_equal_however_many_sockets_listen() {
    for open in [1, 2, 10] {
        let agreement = compared(figures(50, 7, 3, open), figures(1_050, 7, 8, open));
        assert!(matches!(agreement, Agreement::Equal(_)), "{agreement:?}");
    }
}

#[test]
fn a_surplus_without_another_client_is_none_of_another_client() {
    // Two listening sockets, as for IPv4 and IPv6.
    let agreement = compared(figures(50, 7, 3, 2), figures(1_150, 7, 8, 2));
    assert_eq!(agreement, differs(1_100, 1_000));
}

#[test]
fn commands_of_others_are_counted_once() {
    // Another client: 90 gets, all hits, and 10 sets, over a connection opened during the run.
    let agreement = compared(figures(50, 7, 3, 2), figures(1_140, 17, 9, 3));
    assert_eq!(agreement, Agreement::OtherClients(100));
    // The same commands over a connection that was open before and stays open.
    let agreement = survey(figures(50, 7, 3, 2), figures(1_140, 17, 8, 3), true);
    assert_eq!(agreement, Agreement::OtherClients(100));
    // Other clients cannot lower counts.
    let agreement = compared(figures(50, 7, 3, 2), figures(1_040, 27, 9, 3));
    assert_eq!(agreement, differs(990, 1_000));
}

#[test]
fn counters_that_were_reset_are_not_compared() {
    let is_reset = |agreement: &Agreement| match agreement {
        Agreement::Skipped(why) => why.contains("server one") && why.contains("stats reset"),
        _ => false,
    };
    // The counters are lower than before.
    let agreement = compared(figures(9_999, 777, 30, 2), figures(290, 0, 2, 2));
    assert!(is_reset(&agreement), "{agreement:?}");
    // On a server without earlier counts only the connections show it.
    let agreement = compared(figures(0, 0, 3, 2), figures(290, 0, 1, 2));
    assert!(is_reset(&agreement), "{agreement:?}");
    let agreement = compared(figures(0, 0, 1, 2), figures(290, 0, 1, 2));
    assert!(is_reset(&agreement), "{agreement:?}");
    // Missing commands are no reset as long as no connection is missing.
    let agreement = compared(figures(0, 0, 3, 2), figures(990, 0, 8, 2));
    assert_eq!(agreement, differs(990, 1_000));
}

#[test]
fn a_server_that_was_started_anew_is_told_by_its_age() {
    let mut after = figures(290, 0, 1, 2);
    after.insert("uptime".to_owned(), Figure::Whole(3));
    let Agreement::Skipped(why) = compared(figures(50, 7, 3, 2), after) else {
        panic!("it cannot be compared")
    };
    assert!(why.contains("was restarted"), "{why}");
}

#[test]
fn a_counter_that_a_server_does_not_tell_is_no_zero() {
    let without = |mut figures: ServerStatistics, names: &[&str]| {
        figures.retain(|name, _| !names.contains(&name.as_str()));
        figures
    };
    let (before, after) = (figures(50, 7, 3, 2), figures(1_050, 7, 8, 2));
    let names = ["get_hits", "get_misses", "touch_hits", "delete_hits"];
    let some = compared(without(before.clone(), &names), without(after.clone(), &names));
    assert_eq!(some, Agreement::Equal(3));
    let all: Vec<&str> = names.into_iter().chain(["cmd_get", "cmd_set", "cmd_touch"]).collect();
    let none = compared(without(before, &all), without(after, &all));
    assert!(matches!(none, Agreement::Skipped(_)), "{none:?}");
}
