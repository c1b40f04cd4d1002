//! Servers with faults: every operation and every fault is counted.

mod silence;

use crate::prelude::*;
use memtide_record::ServerTotals;
use memtide_record::steps::StepsEnd;

const fn s(seconds: u64) -> Instant {
    Instant::from_ns(seconds * 1_000_000_000)
}

fn world() -> World {
    World::of("rate=2k duration=10s keys=1000 connections=8 timeout=2s load=never")
}

#[test]
fn a_server_that_dies_and_returns_costs_only_what_it_carried() {
    // At 2 000/s about ten operations are in flight at any time.
    let mut world = world().behaviour("fixed:5ms");
    world.deaths = vec![(0, s(3), s(4))];
    let rehearsal = world.rehearse();
    let totals = &rehearsal.record.totals;
    assert_eq!(totals.connections.lost, 8);
    assert!(totals.lost > 0 && totals.lost < 50, "{totals:?}");
    // Operations due meanwhile waited until the connections were back: less than the timeout.
    assert_eq!(totals.answered + totals.lost, totals.intended);
    let disconnected = rehearsal.record.lag_split.disconnected.max_ns;
    assert!(disconnected.is_some_and(|ns| ns > 900_000_000), "{disconnected:?}");
    let server = &rehearsal.record.servers[0];
    assert_eq!((server.reconnects.lost, server.reconnects.reconnected), (8, 8));
    let longest = server.reconnects.disconnected_ns_max;
    assert!((1_000_000_000..2_100_000_000).contains(&longest), "{longest}");
    let [away] = server.outages[..] else { panic!("{:?}", server.outages) };
    let length_ms = away.until_unix_ms.expect("it came back") - away.from_unix_ms;
    assert!((1_000..2_100).contains(&length_ms), "{away:?}");
    assert_eq!(away.from_unix_ms - rehearsal.record.started_unix_ms, 3_000, "{away:?}");
    assert!(rehearsal.failure.is_none());
}

/// The reason why the check of errors does not believe a run.
fn doubt(rehearsal: &Rehearsal) -> Option<&str> {
    let believable = &rehearsal.record.believable;
    let reason = believable.reasons.iter().find(|reason| reason.code == CheckKind::Errors);
    assert!(reason.is_none() || believable.verdict == Verdict::No);
    reason.map(|reason| &*reason.message)
}

fn warning<'a>(record: &'a Record, code: &str) -> Option<&'a str> {
    let warning = record.warnings.iter().find(|warning| warning.code == code);
    warning.map(|warning| &*warning.message)
}

/// A run with these faults and words.
fn faulty(faults: &str, words: &[(&'static str, &str)]) -> Rehearsal {
    let mut world = world().with(words).behaviour("fixed:50us");
    world.servers[0].faults = faults.parse().expect("a list of faults");
    world.rehearse()
}

#[test]
fn one_of_two_servers_that_dies_is_named_with_since_when() {
    // With a schedule for each connection, half of the operations have no open connection; with a
    // shared schedule the other server gets them all, which is another load than requested.
    for schedule in ["connection", "shared"] {
        let mut world = world().with(&[("schedule", schedule)]).behaviour("fixed:500us");
        world.servers = vec![ServerProfile::default(), ServerProfile::default()];
        world.deaths = vec![(1, s(3), Instant::NEVER)];
        let rehearsal = world.rehearse();
        assert_eq!(rehearsal.record.ended_by, EndedBy::Duration);
        let gone = warning(&rehearsal.record, "server_gone").expect("it is said");
        assert!(gone.starts_with("sim1 was gone from 2.9"), "{gone}");
        let gone = gone.strip_suffix(", and is lost").expect("it did not come back");
        assert!(gone.ends_with("s to the end"), "{gone}");
        // README: 3, a server is lost.
        assert_eq!(rehearsal.record.exit, 3);
        let why = doubt(&rehearsal).expect("it is not believed");
        assert!(why.ends_with(gone), "{why}");
    }
}

#[test]
fn keys_that_should_be_there_and_are_not_are_warned_of() {
    // Nothing was ever stored.
    let empty = faulty("none", &[("mix", "get=1")]);
    let said = warning(&empty.record, "hit_ratio").expect("it is said");
    assert!(
        said.starts_with("0 of 2") && said.contains("do not hold the keys of this run"),
        "{said}"
    );
    assert_eq!(doubt(&empty), None, "misses are answers");
    let full = [("mix", "get=1"), ("load", "always"), ("load-partial", "true")];
    assert_eq!(warning(&faulty("none", &full).record, "hit_ratio"), None);
    // The probe found that half of the keys are missing, too.
    assert_eq!(warning(&faulty("expire-early:50%", &full).record, "hit_ratio"), None);
    // In a load that deletes keys, misses are intended.
    let deleting = [("mix", "get=1,delete=1"), ("load", "always")];
    assert_eq!(warning(&faulty("none", &deleting).record, "hit_ratio"), None);
}

#[test]
fn a_run_that_makes_no_sense_is_ended_by_its_condition() {
    let words = [("abort-on", "rate<1,errors>50%"), ("duration", "60s")];
    let rehearsal = faulty("server-error:99%", &words);
    let record = &rehearsal.record;
    assert_eq!((record.exit, record.partial, record.ended_by), (1, true, EndedBy::Aborted));
    let aborted = record.aborted.as_ref().expect("it says why");
    assert_eq!(aborted.condition, "errors>50%");
    assert!(aborted.measured.is_some_and(|share| (share - 0.99).abs() < 0.02), "{aborted:?}");
    assert!((5.0..5.2).contains(&aborted.after_s), "{aborted:?}");
    assert!((record.measured_s - aborted.after_s).abs() < 0.2, "{}", record.measured_s);
    assert_eq!(record.check_conservation(), Ok(()));
    assert!(rehearsal.failure.is_none());
}

#[test]
fn a_condition_is_judged_by_the_last_second_and_from_the_warm_up_on() {
    let more =
        [("warmup", "8s"), ("abort-on", "all.p99>1s,errors>40%"), ("schedule", "connection")];
    let mut world = world().with(&more).behaviour("fixed:500us");
    world.servers = vec![ServerProfile::default(), ServerProfile::default()];
    // Half of the operations go to a server that is gone, and time out after 2 s.
    world.deaths = vec![(1, s(5), Instant::NEVER)];
    let record = world.rehearse().record;
    let aborted = record.aborted.expect("it is ended");
    assert_eq!(aborted.condition, "errors>40%");
    assert!((6.9..8.0).contains(&aborted.after_s), "{aborted:?}");
    assert_eq!((record.measured_s, record.believable.verdict), (0.0, Verdict::No));
}

#[test]
fn a_condition_that_never_comes_true_changes_nothing() {
    for words in [
        &[("abort-on", "errors>50%,rate<1k,get.p99>1s")][..],
        // Nothing is sent after the last operation.
        &[("abort-on", "rate<1k"), ("ops-max", "15k"), ("timeout", "3s")],
    ] {
        let rehearsal = faulty("server-error:0.5%", words);
        let record = &rehearsal.record;
        assert!(record.aborted.is_none(), "{:?}", record.aborted);
        let mut without = words.to_vec();
        without[0] = ("errors-max", "1%");
        let again = faulty("server-error:0.5%", &without);
        assert_eq!((record.exit, &record.totals), (0, &again.record.totals));
        assert_eq!(rehearsal.hash, again.hash);
    }
}

#[test]
fn a_step_that_is_aborted_ends_the_scan_with_what_was_found() {
    let more = [("timeout", "100ms"), ("abort-on", "errors>30%"), ("goal", "errors<5%")];
    let mut world = world().with(&more).behaviour("queue:1,fixed:1ms");
    world.words.retain(|(name, _)| *name != "rate");
    let mut scan = Scan::new("500,900,2000,500".parse().expect("rates"), RateUnit::Operations);
    let performed = world.rehearse_steps(&mut scan, Data::Kept);
    let conclusion = performed.conclusion;
    assert_eq!((conclusion.ended_by, conclusion.exit), (StepsEnd::Aborted, 1));
    assert_eq!(performed.steps.len(), 2);
    let why = conclusion.failure.expect("it says why");
    assert!(why.starts_with("step 3 was ended after 5.") && why.contains("errors>30%"), "{why}");
    assert_eq!(conclusion.answer.expect("there were goals").rate_per_s, Some(900.0));
}

#[test]
fn what_servers_are_said_to_have_done_adds_up() {
    let mut world = World::of(
        "rate=5k duration=2s keys=100 multiget=3 mix=get=4,set=2,cas=1 connections=12 \
         timeout=50ms load=never",
    );
    world.servers = vec![world.servers[0].clone(); 3];
    world.servers[1].faults = "reset:1%,stall:1%,server-error:1%".parse().expect("faults");
    let ms = |ms: u64| Instant::from_ns(ms * 1_000_000);
    world.deaths = vec![(2, ms(500), ms(900))];
    let record = world.rehearse().record;
    // Sealing has added everything up; these show that there was something to add.
    let of = |number: usize| &record.servers[number].totals;
    for number in 0..3 {
        assert!(of(number).keys_asked > 0 && of(number).bytes_received > 0);
        assert!(of(number).connections.opened >= 4, "{:?}", of(number).connections);
    }
    let connections = [0, 1, 2].map(|number| &of(number).connections);
    assert_eq!((connections[0].lost, connections[0].failed), (0, 0));
    assert!(connections[1].lost > 4 && connections[2].failed > 0, "{connections:?}");
    let errors = |number: usize, class: &str| of(number).errors[class];
    assert_eq!((errors(0, "closed"), errors(0, "connect")), (0, 0));
    assert!(errors(1, "closed") > 0 && errors(2, "connect") > 0);
    let sum = |count: fn(&ServerTotals) -> u64| {
        record.servers.iter().map(|server| count(&server.totals)).sum::<u64>()
    };
    assert_eq!(sum(|of| of.keys_asked), record.totals.keys_asked);
    assert_eq!(sum(|of| of.connections.lost), record.totals.connections.lost);
}

#[test]
fn what_was_sent_to_no_server_is_said_of_none() {
    let words = "rate=20k duration=500ms connections=2 keys=10 depth=1 on-full=drop";
    let mut world = World::of(words).behaviour("fixed:1ms");
    world.servers = vec![world.servers[0].clone(); 2];
    let record = world.rehearse().record;
    assert!(record.totals.dropped > 0);
    for server in &record.servers {
        assert_eq!((server.totals.dropped, server.totals.intended), (None, None));
        assert_eq!((server.totals.timed_out, server.totals.abandoned), (Some(0), Some(0)));
    }
    let mut alone = World::of(words).behaviour("fixed:1ms");
    alone.keeps_samples = false;
    let record = alone.rehearse().record;
    let server = &record.servers[0].totals;
    assert_eq!(server.dropped, Some(record.totals.dropped));
    assert_eq!(server.intended, Some(record.totals.intended));
}
