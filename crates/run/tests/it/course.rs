//! The course of a run: greeting, filling, measuring, taking leave.

use crate::world::{
    Notes, Script, Stretch, WatchedFleet, around, ms, run_in, run_toml, scenario, setting,
};
use memtide_base::Law;
use memtide_record::{CheckKind, EndedBy, Grade, Phase, Verdict};
use memtide_run::{lower, run};
use memtide_scenario::{Kind, Measure};
use memtide_sim::{Network, Setting};

const SHORT: &str = "server = 'unix:/s'\nrate = 1000\narrival = 'fixed'\nduration = '2s'\n\
                     keys = 2000\nconnections = 8\nthreads = 2\n";

#[test]
fn an_empty_server_is_filled_measured_and_believed() {
    let ran = run_toml(Script::default(), &format!("{SHORT}warmup = '500ms'"));
    let record = ran.record();
    assert_eq!(ran.observer.started, 1);
    assert_eq!(ran.observer.done.len(), 1);
    let mut phases = ran.observer.phases.clone();
    phases.retain(|phase| *phase != Phase::Cooldown);
    assert_eq!(phases, [Phase::Load, Phase::Warmup, Phase::Measure]);
    let ticks = &ran.observer.ticks;
    assert_eq!(ticks.len(), 3, "a beginning, a second and an end: {ticks:?}");
    let ticked = ticks[2].since(ticks[0]).as_s_f64();
    assert!((1.85..2.15).contains(&ticked), "from the window's beginning to its end: {ticks:?}");
    // The last operation is due at 1.999 s, and the server is near.
    let until_s = record.answered_until_s.expect("there were answers");
    assert!((1.999..2.01).contains(&until_s), "{until_s} s");
    assert_eq!(record.phases.load.totals.replies["stored"], 2_000);
    assert_eq!(record.phases.load.totals.keys, 2_000, "a probe before and one after");
    assert_eq!(record.phases.warmup.totals.intended, 500);
    assert_eq!(record.totals.intended, 2_000);
    assert_eq!(record.totals.misses, 0);
    assert_eq!(record.believable.verdict, Verdict::Yes, "{:?}", record.believable.reasons);
    assert_eq!((record.exit, record.partial), (0, false));
    assert_eq!(record.ended_by, EndedBy::Duration);
    assert_eq!(record.rate.target_per_s, Some(1_000.0));
    assert_eq!(record.measured_s, 2.0);
    assert_eq!(ran.fleet.server_says("curr_items"), 2_000);
}

#[test]
fn progress_says_how_long_a_phase_takes_and_how_fast_it_is() {
    let ran = run_toml(Script::default(), &format!("{SHORT}warmup = '500ms'"));
    let (mut rates, mut seen) = (Vec::new(), Vec::new());
    for progress in &ran.observer.progress {
        let length_s = match progress.phase {
            Phase::Warmup => Some(0.5),
            Phase::Measure => Some(2.0),
            // These end when everything is stored or answered.
            Phase::Load | Phase::Cooldown => None,
        };
        assert_eq!(progress.length_s, length_s, "{progress:?}");
        if progress.phase != Phase::Load {
            rates.push(progress.rate_per_s);
        }
        seen.push(progress.phase);
    }
    seen.dedup();
    assert_eq!(seen, [Phase::Load, Phase::Warmup, Phase::Measure, Phase::Cooldown]);
    let known = rates.iter().position(Option::is_some).expect("it comes to be known");
    assert!((1..8).contains(&known), "not at once, and within half a second or so: {rates:?}");
    let close = |rate: &Option<f64>| rate.is_some_and(|rate| (900.0..1_100.0).contains(&rate));
    assert!(rates[known..rates.len() - 1].iter().all(close), "{rates:?}");
}

#[test]
fn a_filled_server_is_not_filled_again() {
    let first = run_toml(Script::default(), SHORT);
    let second = run_in(first.fleet, &around(1, true), &scenario(SHORT));
    let record = second.record();
    assert_eq!(record.phases.load.totals.replies.get("stored").copied().unwrap_or(0), 0);
    assert_eq!(record.phases.load.totals.keys, 1_000);
    assert_eq!(record.totals.misses, 0);
}

#[test]
fn a_sample_of_large_values_is_small() {
    // 64 MiB are 74 values of 900 kB, or 6 of 10 MB; 8 keys are always read. No key is read twice
    // if all can be read.
    for (keys, bytes, read) in [(20, 900_000, 20), (100, 900_000, 74), (10, 10_000_000, 8)] {
        let toml = format!(
            "server = 'unix:/s'\nrate = 2\nduration = '1s'\nthreads = 1\nvalue-max = '16M'\n\
             keys = {keys}\nvalue-size = {bytes}\n"
        );
        let mut setting = setting(Script::default());
        setting.servers[0].store.memory_bytes_max = 1 << 30;
        setting.servers[0].store.item_bytes_max = 16 << 20;
        let first = run_in(WatchedFleet::within(setting), &around(1, true), &scenario(&toml));
        let second = run_in(first.fleet, &around(1, true), &scenario(&toml));
        let load = &second.record().phases.load.totals;
        assert_eq!((load.keys, load.hits), (read, read), "{keys} keys: {load:?}");
    }
}

#[test]
fn load_never_and_always_do_as_they_say() {
    let ran = run_toml(Script::default(), &format!("{SHORT}load = 'never'"));
    assert_eq!(ran.record().phases.load.totals.intended, 0);
    assert!(ran.record().totals.misses > 0);
    let ran = run_in(ran.fleet, &around(1, true), &scenario(&format!("{SHORT}load = 'always'")));
    assert_eq!(ran.record().phases.load.totals.replies["stored"], 2_000);
}

#[test]
fn loading_alone_measures_nothing() {
    let mut fleet = WatchedFleet::new(Script::default());
    let scenario = scenario(SHORT);
    let lowered = lower(&scenario, &around(1, true)).expect("it can be run");
    let mut observer = Notes::default();
    let outcome =
        run(&mut fleet, &scenario, &lowered, true, None, &mut observer).expect("it fills");
    assert_eq!(outcome.record.phases.load.totals.replies["stored"], 2_000);
    assert_eq!(outcome.record.totals.intended, 0);
    assert_eq!(fleet.server_says("curr_items"), 2_000);
}

#[test]
fn somebody_elses_items_are_not_evicted_unasked() {
    let first = run_toml(Script::default(), SHORT);
    let other = format!("{SHORT}seed = 5\n");
    let far = run_in(first.fleet, &around(1, false), &scenario(&other));
    let (exit, message) = far.failure();
    assert_eq!(exit, 2);
    assert!(message.contains("2000 items") && message.contains("--load always"), "{message}");
    assert_eq!(far.fleet.server_says("curr_items"), 2_000);
    let near = run_in(far.fleet, &around(1, true), &scenario(&other));
    assert_eq!(near.record().totals.misses, 0);
    assert_eq!(near.fleet.server_says("curr_items"), 4_000);
    let asked = format!("{other}load = 'always'\n");
    let far = run_in(near.fleet, &around(1, false), &scenario(&asked));
    assert_eq!(far.record().totals.misses, 0);
}

#[test]
fn numeric_keys_are_filled_with_numbers() {
    let ran = run_toml(Script::default(), &format!("{SHORT}mix = 'incr=1,decr=1'"));
    assert_eq!(ran.record().totals.replies["number"], 2_000);
    assert_eq!(ran.record().totals.failed, 0);
}

#[test]
fn ops_max_ends_a_run_by_itself() {
    let toml = "server = 'unix:/s'\nrate = 1000\narrival = 'fixed'\nops-max = 1500\nkeys = 100\n\
                threads = 3\n";
    let ran = run_toml(Script::default(), toml);
    let record = ran.record();
    assert_eq!(record.ended_by, EndedBy::Operations);
    assert_eq!(record.totals.intended, 1_500);
    assert_eq!(record.totals.answered, 1_500);
    assert!((1.499..1.51).contains(&record.measured_s), "{} s", record.measured_s);
    assert_eq!(record.phases.cooldown.totals.intended, 0);
    assert_eq!(record.believable.verdict, Verdict::Yes, "{:?}", record.believable.reasons);
}

#[test]
fn an_interrupted_run_still_has_a_record() {
    let setting = Setting { interrupt_at: ms(1_500), ..setting(Script::default()) };
    let fleet = WatchedFleet::within(setting);
    let toml = SHORT.replace("2s", "60s");
    let ran = run_in(fleet, &around(1, true), &scenario(&toml));
    let record = ran.record();
    assert_eq!((record.exit, record.partial), (130, true));
    assert_eq!(record.ended_by, EndedBy::Interrupted);
    assert!(record.measured_s < 1.6);
    let expected = record.measured_s * 1_000.0;
    assert!((record.totals.intended as f64 - expected).abs() <= 12.0);
    assert_eq!(record.totals.answered + record.totals.abandoned, record.totals.intended);
    assert!(record.totals.abandoned <= 2, "at most what was due just then");
}

#[test]
fn an_interrupt_while_filling_ends_the_run() {
    let network = Network { delay: Law::Fixed(0.05), ..Network::default() };
    let interrupt_at = ms(1_000);
    let setting = Setting { network, interrupt_at, ..setting(Script::default()) };
    let fleet = WatchedFleet::within(setting);
    let toml = SHORT.replace("keys = 2000", "keys = 100000");
    let ran = run_in(fleet, &around(1, true), &scenario(&toml));
    let record = ran.record();
    assert_eq!((record.exit, record.partial), (130, true));
    assert_eq!(record.totals.intended, 0);
    assert!(record.phases.load.totals.answered > 0);
}

#[test]
fn a_closed_loop_says_what_it_is() {
    let toml = "server = 'unix:/s'\nduration = '1s'\nkeys = 100\nconnections = 4\nthreads = 1\n";
    let ran = run_toml(Script::default(), toml);
    let record = ran.record();
    assert_eq!(record.rate.target_per_s, None);
    assert!((record.rate.achieved_per_s - 40_000.0).abs() < 100.0);
    assert_eq!(record.believable.verdict, Verdict::Yes, "{:?}", record.believable.reasons);
}

#[test]
fn a_client_that_stands_still_is_not_believed() {
    let stops = (0..40).map(|nth| Stretch::ms(nth * 250, nth * 250 + 100)).collect();
    let ran = run_toml(Script { worker_stops: stops, ..Script::default() }, SHORT);
    let record = ran.record();
    let believable = &record.believable;
    assert!(believable.verdict == Verdict::Within && !believable.holds() && !record.stands());
    let p99 = record.response_figure(Kind::All, Measure::Percentile(99.0)).unwrap();
    assert!(p99.grade == Grade::No && p99.own.is_some_and(|own| own > 0.99), "{p99:?}");
    let late = [CheckKind::GeneratorP50, CheckKind::GeneratorP99];
    assert!(believable.reasons.iter().any(|reason| late.contains(&reason.code)));
    assert!(ran.record().warnings.iter().any(|warning| warning.code == "generator_late"));
}
