//! The seconds of a load: figures of servers and workers, and the backlog.

use crate::world::{Script, Stretch, WatchedFleet, around, closes, ms, run_in, run_toml, scenario};
use memtide_base::Span;
use memtide_record::{SecondRecord, SettledCounts};

/// A server that stalls for longer than its connections have room for.
fn stalled(arrival: &str) -> (f64, Vec<(f64, Option<u64>)>) {
    let script = Script { server_stops: vec![Stretch::ms(1_500, 2_500)], ..Script::default() };
    let toml = format!(
        "server = 'unix:/s'\nrate = 10000\narrival = '{arrival}'\nduration = '4s'\nkeys = 100\n\
         connections = 2\nthreads = 2\ndepth = 4\ntimeout = '3s'\nload = 'never'\n"
    );
    let ran = run_toml(script, &toml);
    let samples = ran.fleet.samples();
    let first = samples.iter().map(|sample| sample.intended).min().expect("some were made");
    let waiting = |at: Span| {
        let at = first + at;
        samples.iter().filter(|of| of.intended < at && of.sent >= at).count() as f64
    };
    let seconds = ran.record().seconds.iter();
    let most = seconds.clone().map(|s| waiting(Span::from_s_f64(s.start_s + s.length_s)));
    let told = seconds.map(|second| {
        (waiting(Span::from_s_f64(second.start_s + second.length_s)), second.under_way.backlog)
    });
    (most.fold(0.0, f64::max), told.collect())
}

#[test]
fn a_backlog_is_counted_by_the_schedule() {
    // A look and the first intended instant may be a few operations apart.
    for (arrival, slack) in [("fixed", 5.0), ("poisson", 400.0)] {
        let (most, told) = stalled(arrival);
        assert!(most > 1_000.0, "{arrival}: {most} waited at the end of some second");
        for (waiting, backlog) in told {
            let backlog = backlog.expect("one schedule tells") as f64;
            assert!((backlog - waiting).abs() <= slack, "{arrival}: {backlog}, not {waiting}");
        }
    }
}

#[test]
fn a_backlog_that_is_not_known_is_none() {
    let usual =
        "server = 'unix:/s'\nduration = '2s'\nkeys = 100\nconnections = 2\nload = 'never'\n";
    let cases = ["rate = 0\n", "rate = 500\nschedule = 'connection'\n"];
    for more in cases.into_iter().chain(["rate = 500\nrate-unit = 'keys'\n"]) {
        let ran = run_toml(Script::default(), &format!("{usual}{more}"));
        let seconds = &ran.record().seconds;
        assert!(!seconds.is_empty(), "{more}");
        assert!(seconds.iter().all(|second| second.under_way.backlog.is_none()), "{more}");
    }
}

#[test]
fn what_each_server_and_no_server_ended_is_what_the_second_did() {
    let mut fleet = WatchedFleet::new(Script {
        closes: closes([(1_500, 1)]),
        refuses: vec![Stretch::ms(1_500, 100_000)],
        ..Script::default()
    });
    fleet.deadline = ms(60_000);
    let toml = "server = 'a,b'\nrate = 1000\nwarmup = '500ms'\nduration = '3s'\nkeys = 100\n\
                connections = 2\nthreads = 2\ntimeout = '500ms'\n";
    let ran = run_in(fleet, &around(2, true), &scenario(toml));
    let record = ran.record();
    let sum = |second: &SecondRecord| {
        let none = second.no_server.unwrap_or_default();
        second.servers.iter().fold(none, |sum, server| sum.plus(&server.counts))
    };
    let mut all = SettledCounts::default();
    for (second, told) in record.seconds.iter().zip(&ran.observer.intervals) {
        assert_eq!((second.servers.len(), &second.servers), (2, &told.servers));
        assert_eq!(sum(second), second.counts, "at {} s", second.start_s);
        assert_eq!(second.workers, told.workers);
        all = all.plus(&sum(second));
    }
    let phases = [&record.phases.warmup, &record.phases.measure, &record.phases.cooldown];
    assert_eq!(all.settled, phases.iter().map(|phase| phase.totals.intended).sum::<u64>());
    assert!(record.phases.warmup.totals.intended > 100, "the warm-up is told too");
    let open = |second: &SecondRecord| -> u64 {
        second.servers.iter().filter_map(|server| server.connections_open).sum()
    };
    let ends = record.seconds.iter().filter(|second| second.under_way.connections_open.is_some());
    let ends: Vec<_> = ends.map(|of| (Some(open(of)), of.under_way.connections_open)).collect();
    assert!(
        ends.len() >= 3 && ends.iter().all(|(servers, workers)| servers == workers),
        "{ends:?}"
    );
    let busy = record.seconds.iter().flat_map(|second| &second.workers).filter_map(|of| of.busy);
    assert!(busy.clone().count() > 0 && busy.clone().all(|busy| (0.0..=1.0).contains(&busy)));
}

#[test]
fn one_server_is_the_second_itself() {
    let ran = run_toml(Script::default(), "server = 'unix:/s'\nrate = 500\nduration = '2s'\n");
    for (second, told) in ran.record().seconds.iter().zip(&ran.observer.intervals) {
        assert!(second.servers.is_empty() && second.no_server.is_none());
        assert_eq!(told.servers.len(), 1);
        assert_eq!(told.servers[0].counts, told.counts);
    }
}
