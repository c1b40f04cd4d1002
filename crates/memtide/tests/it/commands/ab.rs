//! `memtide ab` as its user meets it: a slower server is worse, a server is equal to itself, and
//! what cannot be compared is refused.

use crate::prelude::*;
use memtide_record::compare::{Trial, TrialEnd, TrialFinding};

const FLAGS: &str = "--rate 400 --keys 100 --duration 400ms --warmup 0s --quiet";

fn trial(path: &Path) -> Trial {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The exit code of a trial without a rule: a busy machine can spoil all of its pairs.
fn code(trial: &Trial) -> i32 {
    i32::from(trial.ended_by == Some(TrialEnd::Lost) || trial.has_lost_all())
}

pub(crate) fn a_slower_server_is_worse() {
    let quick = Peer::embedded("--behaviour fixed:5ms");
    let slow = Peer::embedded("--behaviour fixed:8ms");
    let (json, page, html) = (scratch("ab.json"), scratch("ab.md"), scratch("ab.html"));
    let line = format!(
        "ab --a server={} --b server={} {FLAGS} --duration 200ms --figures all.p50 \
         --difference 20% --at-most 60s --json {} --out md={} --out html={}",
        quick.name,
        slow.name,
        json.display(),
        page.display(),
        html.display()
    );
    let run = Running::start(&line).finish();
    let trial = trial(&json);
    let run = run.exits(code(&trial));
    let counted = trial.pairs.len() - trial.left_out();
    // On a busy machine the time can be over before six pairs count.
    if trial.ended_by == Some(TrialEnd::Exact) {
        assert!(counted >= 6, "{run}");
        assert_eq!(trial.figures[0].finding, TrialFinding::Worse, "{run}");
        let [low, high] = trial.figures[0].range.unwrap();
        assert!(low > 0.0 && high < 1.0, "8 ms are 60 % more than 5 ms: {run}");
        assert!(run.out.contains("worse"), "{run}");
    }
    assert_eq!(run.out.matches("\npair ").count(), trial.pairs.len(), "{run}");
    assert!(fs::read_to_string(page).unwrap().contains("| all.p50 |"), "{run}");
    let html = fs::read_to_string(html).unwrap();
    assert!(html.contains("A against B") && html.contains("Pair by pair"), "{run}");
    // Each run finds the items of the first one: only the gaps differ from pair to pair.
    for peer in [&quick, &slow] {
        let items: Vec<_> = ["curr_items", "cmd_set"].map(|name| peer.figure(name)).into();
        assert!(items[0] <= 100, "the keys are the same in all pairs: {items:?}\n{run}");
    }
    // Both runs of a pair have the same arrivals, and pairs differ.
    let seeds: std::collections::BTreeSet<u64> = trial.pairs.iter().map(|pair| pair.seed).collect();
    assert_eq!(seeds.len(), trial.pairs.len(), "{run}");
    for two in trial.pairs.chunks_exact(2) {
        assert_ne!(two[0].first, two[1].first, "each arm is first in one of two pairs: {run}");
    }
}

#[test]
fn a_command_before_a_run_can_fail_and_is_named() {
    let _turn = shared();
    let server = Peer::embedded("");
    let json = scratch("commands.json");
    let line = format!("ab {FLAGS} -s {} --at-most 1s --json {}", server.name, json.display());
    let with = |flag: &str, command: &str| {
        let words = line.split(' ').chain([flag, command]);
        Running::of(program().args(words)).finish()
    };
    with("--a-before", "exit 7").complains(1, &["--a-before 'exit 7'", "7"]);
    let marks = scratch("marks");
    let mark = format!("echo mark >> {}", marks.display());
    let run = with("--b-before", &mark);
    let run = run.exits(code(&trial(&json)));
    let count = fs::read_to_string(marks).unwrap().lines().count();
    assert_eq!(count, run.out.matches("\npair ").count(), "{run}");
}

#[test]
fn a_signal_ends_a_command_that_hangs_and_the_result_has_no_pair() {
    let _turn = shared();
    let (json, mark) = (scratch("hanging.json"), scratch("hanging"));
    let line = format!("ab {FLAGS} --json {} --a-before", json.display());
    let hangs = format!("echo > {}; sleep 600", mark.display());
    let running = Running::of(program().args(line.split(' ').chain([&*hangs])));
    let started = Instant::now();
    while !mark.exists() {
        assert!(started.elapsed() < Duration::from_secs(30), "the command is not carried out");
        thread::sleep(Duration::from_millis(5));
    }
    running.signal(Signal::TERM);
    let run = running.finish().exits(130);
    assert!(run.err.contains("--a-before 'echo") && run.out.is_empty(), "{run}");
    let trial = trial(&json);
    assert_eq!((trial.pairs.len(), trial.ended_by), (0, Some(TrialEnd::Interrupted)), "{run}");
}

#[test]
fn a_wrong_place_is_found_before_the_first_of_several_runs() {
    let _turn = shared();
    let old = scratch("old-pairs.json");
    fs::write(&old, "kept").unwrap();
    for command in ["ab", "run --repeat 2"] {
        let places = format!("--json {} --out md=/no-such-folder/x.md", old.display());
        let run = Running::start(&format!("{command} {FLAGS} {places}")).finish();
        run.complains(2, &["--out md '/no-such-folder/x.md' cannot be written"]);
        assert_eq!(fs::read_to_string(&old).unwrap(), "kept", "{run}");
    }
}

#[test]
fn pairs_have_the_seed_of_the_gaps_that_the_user_sets() {
    let _turn = shared();
    let (server, json) = (Peer::embedded(""), scratch("seeds.json"));
    let own = format!("-s {} --gap-seed 7 --json {}", server.name, json.display());
    let run = Running::start(&format!("ab {FLAGS} --at-most 100ms {own}")).finish();
    let trial = trial(&json);
    let run = run.exits(code(&trial));
    assert!(!trial.pairs.is_empty() && trial.pairs.iter().all(|pair| pair.seed == 7), "{run}");
}

#[test]
fn repeats_have_a_median_and_one_file_with_all_records() {
    let _turn = shared();
    let server = Peer::embedded("");
    let (json, md, marks) = (scratch("repeats.json"), scratch("repeats.md"), scratch("between"));
    let line = format!(
        "run {FLAGS} -s {} --repeat 3 --json {} --out md={} --between",
        server.name,
        json.display(),
        md.display()
    );
    let mark = format!("echo mark >> {}", marks.display());
    let words = line.split(' ').chain([&*mark]);
    let run = Running::of(program().args(words)).finish().exits(0);
    let repeats: memtide_record::compare::Repeats =
        serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!((repeats.runs.len(), repeats.asked), (3, 3), "{run}");
    let names: Vec<&str> = repeats.figures.iter().map(|figure| &*figure.name).collect();
    assert_eq!(names, ["all.p50", "all.p99", "rate"]);
    if repeats.left_out.is_empty() {
        let rate = &repeats.figures[2];
        // A busy machine sends fewer in the window, and none sends more than are due.
        assert!((1.0..520.0).contains(&rate.median.unwrap()), "{run}");
        assert_eq!((rate.runs, rate.confidence), (3, Some(0.75)), "{run}");
    }
    assert_eq!(fs::read_to_string(marks).unwrap().lines().count(), 2, "{run}");
    assert!(run.out.contains("run 3 of 3: all.p50 ") && run.out.contains("between runs"), "{run}");
    assert!(fs::read_to_string(md).unwrap().contains("| all.p99 |"), "{run}");
    for (words, named) in [
        ("--repeat 1", "1"),
        ("--between true", "--repeat"),
        ("--repeat 2 --strict", "strict"),
        ("--repeat 2 --full", "full"),
        ("--repeat 2 --fresh process --ui", "--ui"),
        ("--repeat 2 --out html=x.html", "json=FILE"),
    ] {
        let run = Running::start(&format!("run {words} --duration 100ms")).finish();
        run.complains(2, &[named]);
    }
}

/// A run pins its thread, and the next one of the same process must not inherit that.
#[test]
fn repeats_of_a_first_run_have_the_same_cpus_and_their_goals_are_judged() {
    let _turn = shared();
    let repeats = |goal: &str, code| {
        let line = format!("run {FLAGS} --repeat 3 --json - --goal {goal}");
        let run = Running::start(&line).finish().exits(code);
        serde_json::from_str::<memtide_record::compare::Repeats>(&run.out).unwrap()
    };
    // Errors are judged of all runs, also where the machine spoils them.
    let met = repeats("errors<50%", 0);
    let cpus: Vec<_> = met.runs.iter().map(|run| (&run.plan.cpus, run.plan.server_cpu)).collect();
    assert!(cpus.iter().all(|of| *of == cpus[0]), "{cpus:?}");
    let sent: std::collections::BTreeSet<_> =
        met.runs.iter().map(|of| of.totals.intended).collect();
    assert!(sent.len() > 1, "poisson arrivals of other gaps are not as many: {sent:?}");
    let result = |of: &memtide_record::compare::Repeats| of.goals[0].result;
    assert_eq!(result(&met), GoalResult::Met);
    let missed = repeats("all.p50<1ns", 1);
    if missed.left_out.len() < missed.runs.len() {
        assert_eq!(result(&missed), GoalResult::Missed);
    }
}

#[test]
fn a_run_that_ends_a_trial_says_why() {
    let _turn = shared();
    let server = Peer::embedded("--behaviour fixed:5ms");
    // Conditions are looked at from 5 s on.
    let line = format!("ab {FLAGS} --duration 9s -s {} --abort-on all.p50>1ms", server.name);
    let run = Running::start(&line).finish().exits(1);
    assert!(run.err.contains("--abort-on all.p50>1ms ended the run"), "{run}");
}

/// Errors of 0 % and 27 % had no ratio, and a trial that lost all its pairs ended with 0.
#[test]
fn errors_are_compared_as_shares_and_pairs_that_are_all_lost_end_a_trial() {
    let _turn = shared();
    let (sound, faulty) = (Peer::embedded(""), Peer::embedded("--fault server-error:27%"));
    let json = scratch("errors.json");
    let ab = |figures: &str| {
        let arms = format!("--a server={} --b server={}", sound.name, faulty.name);
        let line =
            format!("ab {FLAGS} {arms} --duration 200ms --floor=off --load-partial {figures}");
        let run = Running::start(&format!("{line} --json {}", json.display())).finish();
        (run.exits(1), trial(&json))
    };
    let (run, found) = ab("--figures errors --at-most 30s --fail-on errors>+0.1");
    // On a busy machine pairs do not count.
    if found.ended_by == Some(TrialEnd::Exact) {
        let figure = &found.figures[0];
        assert_eq!((figure.finding, figure.in_unit), (TrialFinding::Worse, true), "{run}");
        assert!(run.out.contains("fail-on: errors>+0.1 failed for B: +"), "{run}");
        assert!(run.out.contains(" points"), "{run}");
    }
    // No time counts beside that number of errors.
    let (run, found) = ab("--figures all.p50 --at-most 30s");
    assert!(found.has_lost_all(), "{run}");
    if found.pairs.iter().all(|pair| pair.cause == found.pairs[0].cause) {
        assert_eq!((found.pairs.len(), found.ended_by), (5, Some(TrialEnd::Lost)), "{run}");
        assert!(run.err.contains("five pairs in a row were lost to one cause: "), "{run}");
    }
}

#[test]
fn what_is_about_a_single_run_is_refused() {
    let _turn = shared();
    for (words, named) in [
        ("--a server", "NAME=VALUE"),
        ("--b speed=1", "no field speed"),
        ("--b rate=fast", "rate"),
        ("--difference 0", "difference"),
        ("--difference 200%", "difference"),
        ("--figures speed", "speed"),
        ("--goal all.p99<1ms", "--figures"),
        ("--samples x.csv", "memtide run"),
        ("--a json=x.json", "output"),
        ("--plan", "memtide run --plan"),
        ("--full", "memtide run --full"),
        ("--shard 0/2", "ab"),
    ] {
        let run = Running::start(&format!("ab {words}")).finish();
        run.complains(2, &[named]);
    }
    let gone = Running::start("ab --a server=127.0.0.1:1 --b server=127.0.0.1:2 --quiet").finish();
    gone.complains(3, &["127.0.0.1:"]);
}
