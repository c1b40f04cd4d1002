//! First contact: a run without any configuration, help, manual and completions, and precedence
//! when several places set the same field.

mod doctor;

use crate::prelude::*;
use memtide_record::LoopKind;
use memtide_scenario::FIELDS;
use rustix::thread::{CpuSet, sched_getaffinity};

#[test]
fn a_run_without_a_server_brings_its_own_and_ends_with_a_verdict() {
    let run = memtide("run --full --duration 1s").exits(0);
    assert!(run.err.contains("no --server given"), "{run}");
    assert_eq!(run.err.lines().count(), 1, "stderr has only the announcement: {run}");
    let last = run.out.lines().last().unwrap();
    assert!(last.starts_with("believable: "), "{run}");
    assert!(run.out.ends_with('\n'), "{run}");
    assert!(run.out.starts_with("rate "), "stdout begins with the answer: {run}");
    for row in [
        "\nmemtide ",
        "\nserver ",
        "\nall ",
        "\nget ",
        "\nget_hit ",
        "\nset ",
        "\nservice ",
        "\nlag ",
    ] {
        assert!(run.out.contains(row), "no line {row:?}: {run}");
    }
    assert!(!run.out.contains('\x1b'), "no colour and no cursor outside a terminal: {run}");
}

#[test]
fn help_explains_the_code_of_a_warning_or_a_check() {
    let warning = memtide("help cpu_taken").exits(0);
    assert!(warning.out.starts_with("cpu_taken: a warning\n"), "{warning}");
    assert!(warning.out.contains("what to do: stop other programs"), "{warning}");
    let check = memtide("help worker_busy").exits(0);
    assert!(check.out.starts_with("worker_busy: a check of the verdict\n"), "{check}");
    assert!(check.out.contains("if it fails: use more threads"), "{check}");
    memtide("help worker_lazy").exits(2);
}

/// The CPUs that this test may use.
fn allowed() -> Vec<usize> {
    let mask = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect()
}

/// A run of `line` on the first `cpus` CPUs that this test may use.
fn on_cpus(cpus: usize, line: &str) -> Option<Finished> {
    let allowed = allowed();
    let list: Vec<String> = allowed.iter().take(cpus).map(usize::to_string).collect();
    if list.len() < cpus {
        return None; // This machine cannot show it.
    }
    let program = program().get_program().to_owned();
    let mut command = Command::new("taskset");
    command.args(["-c", &list.join(",")]).arg(program).args(line.split_whitespace());
    let _turn = shared();
    Some(Running::of(&mut command).finish())
}

#[test]
fn one_cpu_for_server_and_worker_is_a_no_that_says_why() {
    let run = on_cpus(1, "run --duration 300ms --keys 1k").unwrap().exits(0);
    let last = run.out.lines().last().unwrap();
    assert!(last.starts_with("believable: no — "), "{run}");
    assert!(last.contains("share 1 CPU"), "{run}");
    let run = on_cpus(1, "run --plan").unwrap().exits(0);
    assert!(run.out.contains("wait         sleep"), "{run}");
}

#[test]
fn two_cpus_are_divided_between_the_server_and_the_worker() {
    let Some(run) = on_cpus(2, "run --duration 300ms --keys 1k --json -") else { return };
    let record = run.exits(0).record();
    let plan = &record.plan;
    assert_eq!((plan.wait.as_str(), plan.cpus.len()), ("hybrid", 1), "{:?}", plan.why);
    assert!(plan.server_cpu.is_some_and(|cpu| cpu != plan.cpus[0]), "{:?}", plan.cpus);
    assert!(plan.why["wait"].contains("a CPU of their own"), "{:?}", plan.why);
    let told = on_cpus(2, "run --wait sleep --plan").unwrap().exits(0);
    assert!(told.out.contains("wait         sleep\n"), "{told}");
}

#[test]
fn a_worker_stays_off_the_cpu_to_which_a_server_on_this_machine_is_limited() {
    let [first, second, ..] = allowed()[..] else { return };
    let server = Peer::embedded("");
    let line = format!("run -s {} --threads 1 --duration 300ms --keys 1k --json -", server.name);
    for [its, ours] in [[first, second], [second, first]] {
        let words = ["-acp".to_owned(), its.to_string(), server.id().to_string()];
        let moved = Command::new("taskset").args(words).output().unwrap();
        assert!(moved.status.success(), "{moved:?}");
        let record = on_cpus(2, &line).unwrap().exits(0).record();
        let plan = &record.plan;
        assert_eq!(
            (&*plan.cpus, plan.wait.as_str()),
            (&[ours as u32][..], "hybrid"),
            "{:?}",
            plan.why
        );
        assert!(plan.why["pin"].contains("limited to other CPUs"), "{:?}", plan.why);
    }
}

#[test]
fn a_first_run_tries_how_to_wait_and_says_what_it_chose() {
    let Some(run) = on_cpus(2, "run --duration 5s --keys 1k --json -") else { return };
    let run = run.exits(0);
    let record = run.record();
    let plan = &record.plan;
    assert!(run.err.contains("memtide: tried "), "{run}");
    let server = plan.server_cpu.expect("the server has a CPU of its own");
    let chose =
        format!(" s: wait {}, server on CPU {server}, worker on CPU {}", plan.wait, plan.cpus[0]);
    assert!(run.err.contains(&chose), "{run}");
    assert!(plan.why["wait"].contains("ways tried before the run"), "{:?}", plan.why);
    assert_eq!(record.totals.misses, 0, "the trials leave the server as it was: {run}");
    assert_counters_equal(&record);
}

#[test]
fn a_first_run_measures_until_its_times_are_known() {
    let plan = |words: &str| memtide(&format!("run {words} --plan")).exits(0).out;
    let first = plan("");
    assert!(first.contains("until p50 10%, p90 10%, at most 30 s"), "{first}");
    for other in ["--duration 10s", "--ops-max 100", "-s 127.0.0.1:1", "--repeat 2"] {
        let told = plan(other);
        assert!(!told.contains("until p50"), "{other}: {told}");
    }
}

#[test]
fn a_quiet_run_says_nothing_but_the_result_and_what_it_is_of() {
    let run = memtide("run --ops-max 100 --keys 100 --quiet").exits(0);
    assert!(run.err.contains("no --server given") && run.err.lines().count() == 1, "{run}");
    assert!(run.out.contains("embedded at"), "{run}");
}

#[test]
fn json_on_stdout_is_one_record_and_nothing_else() {
    let run = memtide("run --duration 500ms --keys 1k --json -").exits(0);
    let record = run.record();
    assert!(record.plan.embedded);
    assert_eq!(record.loop_kind, LoopKind::Open);
    assert_eq!(record.plan.rate_per_s, Some(10_000.0));
    assert!(record.totals.answered > 0, "{run}");
    assert_eq!(record.totals.misses, 0, "the server was filled first: {run}");
    assert_eq!(record.exit, 0);
    assert_counters_equal(&record);
}

#[test]
fn a_json_file_leaves_the_report_on_stdout() {
    let path = scratch("beside.json");
    let line = format!("run --ops-max 500 --keys 100 --json {}", path.display());
    let run = memtide(&line).exits(0);
    assert!(run.out.lines().last().unwrap().starts_with("believable: "), "{run}");
    assert_eq!(record_at(&path).totals.intended, 500);
}

#[test]
fn the_plan_is_printed_and_nothing_is_done() {
    // No server has this port: load and queries would be refused.
    let run = memtide("run -s 127.0.0.1:1 --rate 111 --plan").exits(0);
    assert!(run.out.contains("111/s"), "{run}");
    assert!(run.out.contains("127.0.0.1:1"), "{run}");
    assert!(!run.out.contains("believable"), "{run}");
    assert_eq!(run.err, "", "{run}");
}

#[test]
fn flags_beat_the_environment_which_beats_the_file_which_beats_the_default() {
    let path = scratch("precedence.toml");
    fs::write(&path, "rate = 111\nkeys = 123\ndepth = 45\n").unwrap();
    let planned = |environment: Option<&str>, flag: &str| {
        let _turn = shared();
        let mut command = program();
        command.arg("run").arg(&path).args(flag.split_whitespace());
        if let Some(rate) = environment {
            command.env("MEMTIDE_RATE", rate);
        }
        let run = Running::of(command.arg("--plan")).finish().exits(0);
        assert!(run.out.contains("123 of fixed:30"), "keys come from the file: {run}");
        assert!(run.out.contains("depth        45"), "depth comes from the file: {run}");
        run
    };
    let run = planned(None, "");
    assert!(run.out.contains("111/s"), "{run}");
    let run = planned(Some("222"), "");
    assert!(run.out.contains("222/s"), "{run}");
    let run = planned(Some("222"), "--rate 333");
    assert!(run.out.contains("333/s"), "{run}");
}

#[test]
fn the_manual_shows_every_field() {
    let manual = memtide("man").exits(0);
    for field in FIELDS {
        let flag = format!("\\-\\-{}", field.name.replace('-', "\\-"));
        assert!(manual.out.contains(&flag), "the manual page does not show {flag}");
    }
}

#[test]
fn completions_know_every_field_in_every_shell() {
    for (shell, mark) in [("bash", "--"), ("zsh", "--"), ("fish", "-l ")] {
        let script = memtide(&format!("completions {shell}")).exits(0);
        for field in FIELDS {
            let flag = format!("{mark}{}", field.name);
            assert!(script.out.contains(&flag), "{shell} does not complete {flag}");
        }
    }
}
