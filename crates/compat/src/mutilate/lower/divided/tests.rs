//! The originals' arithmetic: every connection offers the same rate, and the sum is exact.

use super::*;
use crate::mutilate::Face;
use crate::mutilate::args::tests::load;
use crate::tests::words;

fn options(line: &str) -> Options {
    load(Face::McperfDynamic, "mcperf", &words(line)).expect("the command line is allowed")
}

fn divided(line: &str, shares: &[u32]) -> Divided {
    divide(&options(line), &[], shares).expect("it can be run")
}

/// The rate of an open loop.
fn rate(settings: &Settings) -> Option<f64> {
    settings.scenario.rate.filter(|rate| *rate > 0.0)
}

/// Rate, threads, connections to each server and depth.
fn facts(settings: &Settings) -> (Option<f64>, Option<u32>, Option<u32>, Option<u32>) {
    let scenario = &settings.scenario;
    (rate(settings), scenario.threads, scenario.connections, scenario.depth)
}

#[test]
fn every_connection_offers_the_same() {
    // Two threads of the master and two agents of four and two shares: 8 of 32 connections each.
    let line = "-s h -a a -a b -T 2 -c 4 -d 3 -q 8000";
    let Divided { agents, own, rate } = divided(line, &[4, 2]);
    assert_eq!(rate, OwnRate::Fraction { own: 8.0, of: 32.0 });
    assert_eq!(facts(&agents), (Some(6000.0), Some(1), Some(24), Some(3)));
    assert_eq!(facts(&own.unwrap()), (Some(2000.0), Some(2), Some(8), Some(3)));
}

#[test]
fn the_masters_own_options_are_of_the_master_alone() {
    let line = "-s h -a a -T 2 -c 4 -d 3 -q 8000 -C 1 -D 2 -Q 100";
    let Divided { agents, own, rate: part } = divided(line, &[4]);
    assert_eq!(part, OwnRate::Fixed(Some(100.0)));
    assert_eq!(facts(&agents), (Some(7900.0), Some(1), Some(16), Some(3)));
    let own = own.unwrap();
    assert_eq!(facts(&own), (Some(100.0), Some(2), Some(2), Some(2)));
    assert_eq!(own.scenario.load, memtide_scenario::Load::Never);
    // The agents at full speed beside a master that measures, and vice versa.
    let at_peak = divided("-s h -a a -q 0 -Q 100", &[1]);
    assert_eq!((rate(&at_peak.agents), rate(&at_peak.own.unwrap())), (None, Some(100.0)));
    let nothing_left = divided("-s h -a a -q 200 -Q 200", &[1]);
    assert_eq!((rate(&nothing_left.agents), rate(&nothing_left.own.unwrap())), (None, Some(200.0)));
    let flat_out = divided("-s h -a a -q 500 -Q 0", &[1]);
    assert_eq!((rate(&flat_out.agents), rate(&flat_out.own.unwrap())), (Some(500.0), None));
}

#[test]
fn a_master_without_threads_makes_nothing() {
    let Divided { agents, own, .. } = divided("-s h -a a -a b -T 0 -q 1000", &[1, 1]);
    assert_eq!((facts(&agents).0, own.is_none()), (Some(1000.0), true));
    let fill = divided("-s h -a a --loadonly", &[1]);
    assert!(fill.own.is_none(), "a fill is of all");
}

#[test]
fn servers_taken_in_turn_have_the_connections_of_each_process() {
    // One agent of one thread has a connection to each of two servers, and so does the other.
    let line = "-s a,b -R -a x -a y -c 1 -q 600";
    let Divided { agents, own, .. } = divided(line, &[1, 1]);
    assert_eq!((facts(&agents).0, facts(&agents).2), (Some(400.0), Some(2)));
    assert_eq!(
        (facts(own.as_ref().unwrap()).0, facts(own.as_ref().unwrap()).2),
        (Some(200.0), Some(1))
    );
}

#[test]
fn a_masters_weight_counts() {
    let Divided { agents, own, .. } = divided("-s h -a a -l 3 -q 800", &[1]);
    assert_eq!((facts(&agents).0, facts(&own.unwrap()).0), (Some(200.0), Some(600.0)));
}

#[test]
fn a_waveform_is_the_agents_beside_a_master_at_its_own_rate() {
    let line = "-s h -a a --qps_interval 2 --qps_target 1000,3000 -Q 400";
    let both = divide(&options(line), &[1000, 3000], &[2]).unwrap();
    assert_eq!(both.agents.scenario.wave.to_string(), "step:600,2600@2s");
    assert_eq!(both.own.unwrap().scenario.rate, Some(400.0));
    let line = "-s h -a a --qps_interval 2 --qps_target 1000,3000";
    let both = divide(&options(line), &[1000, 3000], &[3]).unwrap();
    assert_eq!(both.agents.scenario.wave.to_string(), "step:750,2250@2s");
    assert_eq!(both.own.unwrap().scenario.wave.to_string(), "step:250,750@2s");
}

/// The original's agents get a rate of 0 or less there, at which they never leave the interval.
#[test]
fn an_interval_that_the_master_takes_whole_is_the_agents_last_one() {
    let profile = |words: &str, targets: &[u32]| {
        let line = format!("-s h -a a --qps_interval 2 -Q 1000 {words}");
        divide(&options(&line), targets, &[2]).unwrap()
    };
    for (words, targets, wave) in [
        ("--qps_target 3000,1000,4000", &[3000, 1000, 4000], "step:2000,1000000000,0@2s"),
        ("--qps_target 900,2000,3000", &[900, 2000, 3000], "step:1000000000,0,0@2s"),
        ("--qps_target 3000,2000,0", &[3000, 2000, 0], "step:2000,1000,1000000000@2s"),
    ] {
        let both = profile(words, targets);
        assert_eq!(both.agents.scenario.wave.to_string(), wave);
        assert_eq!(both.own.unwrap().scenario.rate, Some(1000.0), "{words}");
    }
    // Without -Q, a zero is such an interval of all, with any law of gaps.
    for (words, targets, wave, own) in [
        ("", &[3000, 0, 4000], "step:2000,1000000000,0@2s", Some("step:1000,1000000000,0@2s")),
        ("-i fixed", &[0, 300, 0], "step:1000000000,0,0@2s", Some("step:1000000000,0,0@2s")),
        ("-Q 0", &[3000, 0, 4000], "step:3000,1000000000,0@2s", None),
    ] {
        let line = format!("-s h -a a --qps_interval 2 --qps_target 1,1,1 {words}");
        let both = divide(&options(&line), targets, &[2]).unwrap();
        assert_eq!(both.agents.scenario.wave.to_string(), wave, "{line}");
        let master = both.own.unwrap().scenario;
        assert_eq!(master.wave.to_string(), own.unwrap_or("constant"), "{line}");
        assert!(own.is_some() || master.rate.is_none_or(|rate| rate == 0.0), "{line}");
    }
    // Of a profile of zeros, agents never leave the first interval; without -Q, the master follows
    // its connections, which have no rate.
    for (words, own) in [("-Q 1000", Some(1000.0)), ("-Q 0", None), ("", None)] {
        let line = format!("-s h -a a --qps_interval 2 --qps_target 0,0 {words}");
        let both = divide(&options(&line), &[0, 0], &[2]).unwrap();
        assert_eq!(both.agents.scenario.wave.to_string(), "step:1000000000,0@2s", "{line}");
        assert_eq!(rate(&both.own.unwrap()), own, "{line}");
        assert!(super::super::lower(&options(&line), &[0, 0]).is_ok(), "{line}");
    }
    // Nothing that is due there times out while the run lasts.
    let long = "--qps_max 900 --qps_min 10 -t 90";
    let both = profile(long, &[20; 45]);
    assert_eq!(both.agents.scenario.timeout, memtide_base::Span::from_s(90));
}

#[test]
fn a_step_is_divided() {
    let fixed = OwnRate::Fixed(Some(100.0));
    assert_eq!(fixed.divide(Some(1000.0)), (Some(900.0), Some(100.0)));
    assert_eq!(fixed.divide(None), (None, Some(100.0)));
    // To agents that are left nothing, the original sends no rate at all.
    assert_eq!(fixed.divide(Some(100.0)), (None, Some(100.0)));
    assert_eq!(fixed.divide(Some(50.0)), (None, Some(100.0)));
    assert_eq!(
        OwnRate::Fraction { own: 8.0, of: 32.0 }.divide(Some(1000.0)),
        (Some(750.0), Some(250.0))
    );
    assert_eq!(OwnRate::Fraction { own: 8.0, of: 32.0 }.divide(None), (None, None));
}
