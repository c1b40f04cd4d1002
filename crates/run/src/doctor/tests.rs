//! Each check, just inside and just outside its bound.

use super::*;
use crate::prose::flaw;
use crate::survey::tests::plan_of;
use memtide_base::choice::RateUnit;
use memtide_base::{Instant, Span};
use memtide_metrics::{ChurnCounters, ChurnFate, Counters, Fate};
use memtide_scenario::Scenario;
use memtide_workload::Arrival;
use memtide_world::Stage;
use memtide_world::fleet::CpuTime;

fn in_operations(per_s: f64) -> Rate {
    Rate::new(per_s, RateUnit::Operations)
}

/// A plan of 1 000 operations per second, or a closed loop.
fn plan(rate: f64, arrival: Arrival) -> Plan {
    let scenario = Scenario { rate: Some(rate), arrival, keys: 100, ..Scenario::default() };
    plan_of(&scenario)
}

/// Findings without a fault; each test changes some.
struct Case {
    plan: Plan,
    target_per_s: Option<f64>,
    sent_per_s: f64,
    response: Histogram<u64>,
    unanswered: u64,
    ideal: Histogram<u64>,
    busy: Vec<f64>,
    kept: Vec<f64>,
    still: Vec<f64>,
    stopped: (f64, Span),
    stolen: Option<f64>,
    throttled: Option<f64>,
    worker_cpus: Vec<usize>,
    beside: Option<ProgramCpu>,
    server: Option<ServerCpu>,
    shared_cpus: Option<f64>,
    agreement: Agreement,
    counted: Counters,
    churn: Option<ChurnCounters>,
    errors_max: f64,
    gone: Vec<String>,
    missed: Missed,
    several_servers: bool,
    servers_lost: bool,
}

impl Case {
    fn new() -> Self {
        Self {
            plan: plan(1_000.0, Arrival::Fixed),
            target_per_s: Some(1_000.0),
            sent_per_s: 1_000.0,
            response: times(10_000, 100_000),
            unanswered: 0,
            ideal: times(10_000, 100_000),
            busy: vec![0.1, 0.2],
            kept: vec![0.0, 0.01],
            still: vec![0.0, 0.0],
            stopped: (0.0, Span::ZERO),
            stolen: None,
            throttled: None,
            worker_cpus: Vec::new(),
            beside: None,
            server: None,
            shared_cpus: None,
            agreement: Agreement::Equal(5),
            counted: counted(10_000, &[]),
            churn: None,
            errors_max: 0.01,
            gone: Vec::new(),
            missed: Missed::default(),
            several_servers: false,
            servers_lost: false,
        }
    }

    fn findings(&self) -> Findings<'_> {
        Findings {
            plan: &self.plan,
            measured_s: 10.0,
            target: self.target_per_s.map(in_operations),
            sent: in_operations(self.sent_per_s),
            connections: None,
            none_opened: false,
            is_aborted: false,
            errors: Errors {
                operations: &self.counted,
                connections: self.churn.as_ref(),
                allowed: self.errors_max,
                gone: &self.gone,
                missed: self.missed,
                several_servers: self.several_servers,
                refusal: None,
                servers_lost: self.servers_lost,
            },
            response: (&self.response, self.unanswered),
            punctual: &self.ideal,
            kept: &self.kept,
            still: &self.still,
            stopped: self.stopped,
            stolen: self.stolen,
            throttled: self.throttled,
            worker_cpus: &self.worker_cpus,
            beside: self.beside.as_ref(),
            server: self.server.as_ref(),
            shared_cpus: self.shared_cpus,
            busy: &self.busy,
            agreement: &self.agreement,
        }
    }

    fn result(&self, code: CheckKind) -> CheckResult {
        self.check(code).result
    }

    fn check(&self, code: CheckKind) -> Check {
        let checks = examine(&self.findings());
        let flaws = checks.iter().filter_map(|check| flaw(&check.message));
        assert_eq!(flaws.collect::<Vec<_>>(), Vec::<String>::new());
        checks.into_iter().find(|check| check.code == code).expect("every check is made")
    }

    fn warned_of(&self) -> Vec<Warning> {
        let findings = self.findings();
        warnings(&findings, &examine(&findings))
    }
}

/// Counters of `answered` answered operations and of others by fate.
fn counted(answered: u64, others: &[(Fate, u64)]) -> Counters {
    let mut counters = Counters::default();
    let all = others.iter().copied().chain([(Fate::Answered, answered)]);
    for fate in all.flat_map(|(fate, count)| (0..count).map(move |_| fate)) {
        counters.intended += 1;
        counters.settle(0, fate);
    }
    counters
}

fn times(count: u64, ns: u64) -> Histogram<u64> {
    let mut times = Histogram::new();
    (0..count).for_each(|_| times.record(ns));
    times
}

#[test]
fn a_run_without_fault_passes_everything() {
    let case = Case::new();
    let checks = examine(&case.findings());
    assert_eq!(checks.len(), 8);
    // Without an embedded server, no CPU is shared.
    let (skipped, made): (Vec<_>, Vec<_>) =
        checks.iter().partition(|check| check.code == CheckKind::OwnCpus);
    assert!(made.iter().all(|check| check.result == CheckResult::Passed), "{checks:?}");
    assert!(skipped.iter().all(|check| check.result == CheckResult::Skipped), "{checks:?}");
    assert_eq!(case.warned_of(), []);
}

#[test]
fn the_rate_may_be_off_by_half_a_percent() {
    for (sent, result) in [
        (995.1, CheckResult::Passed),
        (994.9, CheckResult::Failed),
        (1_004.9, CheckResult::Passed),
        (1_005.1, CheckResult::Failed),
    ] {
        let case = Case { sent_per_s: sent, ..Case::new() };
        assert_eq!(case.result(CheckKind::Rate), result, "{sent} of 1000");
    }
}

#[test]
fn one_operation_in_a_hundred_may_go_wrong_in_whatever_way() {
    for fate in [Fate::Failed, Fate::TimedOut, Fate::Lost, Fate::Abandoned] {
        for (ill, result) in [(100, CheckResult::Passed), (101, CheckResult::Failed)] {
            let case = Case { counted: counted(10_000 - ill, &[(fate, ill)]), ..Case::new() };
            assert_eq!(case.result(CheckKind::Errors), result, "{ill} {fate:?}");
        }
    }
    let counted = || counted(950, &[(Fate::Failed, 30), (Fate::Lost, 20)]);
    let failed = Case { counted: counted(), ..Case::new() }.check(CheckKind::Errors);
    assert_eq!((failed.measured, failed.allowed), (Some(0.05), Some(0.01)));
    assert_eq!(
        failed.message,
        "50 of 1000 operations had errors (5 %, limit 1 %): 30 failed, 20 lost"
    );
    let allowed = Case { counted: counted(), errors_max: 0.05, ..Case::new() };
    assert_eq!(allowed.result(CheckKind::Errors), CheckResult::Passed);
}

#[test]
fn what_needs_no_answer_and_what_is_dropped_as_asked_are_no_errors() {
    let others = [(Fate::Unacknowledged, 500), (Fate::Dropped, 9_000), (Fate::Failed, 1)];
    let check = Case { counted: counted(99, &others), ..Case::new() }.check(CheckKind::Errors);
    assert_eq!(check.result, CheckResult::Passed);
    assert_eq!(
        check.message,
        "1 of 100 operations had errors (1 %, limit 1 %): 1 failed; on-full dropped 9000 more"
    );
    let mut cut = counted(95, &[(Fate::Dropped, 15)]);
    cut.dropped_at_end = 5;
    let check = Case { counted: cut, ..Case::new() }.check(CheckKind::Errors);
    assert!(
        check
            .message
            .starts_with("5 of 100 operations had errors (5 %, limit 1 %): 5 not sent before"),
        "{}",
        check.message
    );
    let nothing = Case { counted: counted(0, &others[..2]), ..Case::new() };
    assert_eq!(nothing.result(CheckKind::Errors), CheckResult::Skipped);
}

#[test]
fn connections_that_are_the_load_are_judged_as_operations_are() {
    let churn = |failed| {
        let mut churn = ChurnCounters { intended: 1_000, ..ChurnCounters::default() };
        churn.opened = 900 - failed;
        churn.fates[ChurnFate::Completed as usize] = 900 - failed;
        churn.fates[ChurnFate::Refused as usize] = failed;
        churn.fates[ChurnFate::Dropped as usize] = 100;
        Some(churn)
    };
    for (failed, result) in [(9, CheckResult::Passed), (10, CheckResult::Failed)] {
        let case = Case { churn: churn(failed), ..Case::new() };
        assert_eq!(case.result(CheckKind::Errors), result, "{failed} of 900");
    }
    let none = Case { churn: churn(900), counted: counted(0, &[]), ..Case::new() };
    assert!(none.check(CheckKind::Errors).message.starts_with("900 of 900 connections could not"));
}

#[test]
fn a_run_that_lost_its_servers_is_not_believed_and_says_which() {
    let gone = vec!["a:1 was gone from 3 s to the end".to_owned()];
    for counted in [counted(10_000, &[]), counted(0, &[])] {
        let case = Case { counted, gone: gone.clone(), servers_lost: true, ..Case::new() };
        let check = case.check(CheckKind::Errors);
        assert_eq!(check.result, CheckResult::Failed);
        assert!(check.message.starts_with("all servers were gone"), "{}", check.message);
        assert!(check.message.ends_with("; a:1 was gone from 3 s to the end"), "{}", check.message);
    }
}

#[test]
fn the_rate_of_a_random_law_may_be_off_by_four_deviations() {
    // Ten thousand Poisson operations have a deviation of one hundred: 1 %.
    for (sent, result) in [(961.0, CheckResult::Passed), (959.0, CheckResult::Failed)] {
        let plan = plan(1_000.0, Arrival::Poisson);
        let case = Case { plan, sent_per_s: sent, ..Case::new() };
        assert_eq!(case.result(CheckKind::Rate), result, "{sent} of 1000");
    }
}

#[test]
fn the_generator_may_add_a_tenth_to_the_median_and_to_the_p99() {
    for (ideal, result) in [(91_000, CheckResult::Passed), (88_000, CheckResult::Failed)] {
        let case = Case { ideal: times(10_000, ideal), ..Case::new() };
        assert_eq!(case.result(CheckKind::GeneratorP50), result);
        assert_eq!(case.result(CheckKind::GeneratorP99), result);
    }
    // Only the tail is late: the median passes.
    let mut response = times(9_800, 100_000);
    response.absorb(&times(200, 500_000));
    let case = Case { response, ..Case::new() };
    assert_eq!(case.result(CheckKind::GeneratorP50), CheckResult::Passed);
    assert_eq!(case.result(CheckKind::GeneratorP99), CheckResult::Failed);
    let [Warning::GeneratorLate { percentile, seen_ns, ideal_ns, cause: LateCause::Wake }] =
        case.warned_of()[..]
    else {
        panic!("the generator was late")
    };
    assert_eq!(percentile, Percentile::P99);
    assert!(seen_ns.abs_diff(500_000) < 4_000 && ideal_ns.abs_diff(100_000) < 1_000);
    // If only the median is late, the figures name the median.
    let half = |low, high| {
        let mut both = times(5_100, low);
        both.absorb(&times(4_900, high));
        both
    };
    let (response, ideal) = (half(100_000, 900_000), half(50_000, 890_000));
    let case = Case { response, ideal, ..Case::new() };
    assert_eq!(case.result(CheckKind::GeneratorP99), CheckResult::Passed);
    let [Warning::GeneratorLate { percentile, seen_ns, ideal_ns, cause: LateCause::Wake }] =
        case.warned_of()[..]
    else {
        panic!("the generator was late")
    };
    assert_eq!(percentile, Percentile::P50);
    assert!(seen_ns.abs_diff(100_000) < 1_000 && ideal_ns.abs_diff(50_000) < 500);
}

#[test]
fn percentiles_that_are_not_known_are_not_judged() {
    let few = Case { response: times(367, 1), ideal: times(367, 1), ..Case::new() };
    assert_eq!(few.result(CheckKind::GeneratorP99), CheckResult::Skipped);
    assert_eq!(few.result(CheckKind::GeneratorP50), CheckResult::Passed);
    let enough = Case { response: times(368, 1), ideal: times(368, 1), ..Case::new() };
    assert_eq!(enough.result(CheckKind::GeneratorP99), CheckResult::Passed);
    let failing = Case { unanswered: 500, ..Case::new() };
    assert_eq!(failing.result(CheckKind::GeneratorP99), CheckResult::Skipped);
    assert_eq!(failing.result(CheckKind::GeneratorP50), CheckResult::Passed);
}

#[test]
fn a_worker_may_be_busy_below_seventy_percent() {
    for (busy, result) in [(0.699, CheckResult::Passed), (0.7, CheckResult::Failed)] {
        let case = Case { busy: vec![0.1, busy, 0.2], ..Case::new() };
        assert_eq!(case.result(CheckKind::WorkerBusy), result);
        let warned = case.warned_of();
        let expected = Warning::ClientSaturated { worker: 1, busy };
        assert_eq!(warned.contains(&expected), result == CheckResult::Failed);
    }
}

#[test]
fn a_closed_loop_is_judged_by_its_workers_and_counters_alone() {
    let plan = plan(0.0, Arrival::Fixed);
    let case = Case {
        plan,
        target_per_s: None,
        sent_per_s: 5.0,
        ideal: times(10_000, 1),
        busy: vec![0.95],
        ..Case::new()
    };
    for code in [CheckKind::Rate, CheckKind::GeneratorP50, CheckKind::GeneratorP99] {
        assert_eq!(case.result(code), CheckResult::Skipped);
    }
    let checks = examine(&case.findings());
    let busy = checks.iter().find(|check| check.code == CheckKind::WorkerBusy).expect("made");
    assert_eq!(busy.result, CheckResult::Failed);
    assert!(busy.message.starts_with("memtide is the limit"), "{}", busy.message);
}

#[test]
fn counters_that_differ_fail_and_those_of_others_do_not() {
    let with = |agreement| Case { agreement, ..Case::new() }.result(CheckKind::ServerCounters);
    assert_eq!(with(Agreement::Differs("cmd_get".to_owned(), 9, 10)), CheckResult::Failed);
    assert_eq!(with(Agreement::OtherClients(3)), CheckResult::Skipped);
    assert_eq!(with(Agreement::Skipped("no".to_owned())), CheckResult::Skipped);
}

/// A worker that waited for `idle_ms` of a second and used this CPU time.
fn report(idle_ms: u64, cpu_ms: Option<u64>, run_delay_ms: Option<u64>) -> WorkerReport {
    let cpu = |ms: u64| CpuTime { user: Span::from_ms(ms / 2), system: Span::from_ms(ms / 2) };
    WorkerReport {
        at: Instant::ZERO,
        stage: Stage::Finished,
        measured_done: true,
        idle: Span::from_ms(idle_ms),
        cpu: cpu_ms.map(cpu),
        run_delay: run_delay_ms.map(Span::from_ms),
        ..WorkerReport::default()
    }
}

#[test]
fn busy_is_what_is_not_idle_or_what_the_processor_says_if_it_sleeps() {
    let mut plan = plan(1_000.0, Arrival::Fixed);
    let share = |plan: &Plan, report: &WorkerReport| busy_share(plan, report, 1.0);
    plan.wait = Wait::Sleep;
    assert!((share(&plan, &report(700, None, None)) - 0.3).abs() < 1e-9);
    assert!((share(&plan, &report(700, Some(400), None)) - 0.4).abs() < 1e-9);
    let contended = share(&plan, &report(200, Some(400), Some(400)));
    assert!((contended - 0.4).abs() < 1e-9, "waiting for a CPU is no work");
    plan.wait = Wait::Spin;
    let spinning = share(&plan, &report(700, Some(1_000), None));
    assert!((spinning - 0.3).abs() < 1e-9, "waiting by spinning is no work");
    let contended = share(&plan, &report(200, Some(500), Some(500)));
    assert!((contended - 0.4).abs() < 1e-9, "nor is what others take");
    // Nor is time in which the process was stopped.
    for wait in [Wait::Spin, Wait::Sleep] {
        plan.wait = wait;
        let stopped = report(100, Some(200), Some(0));
        assert!(share(&plan, &stopped) <= 0.2, "{wait:?}");
        assert!(still_share(&plan, &stopped, 1.0) >= 0.7 - 1e-9, "{wait:?}");
    }
    plan.wait = Wait::Spin;
    assert_eq!(share(&plan, &report(5_000, None, None)), 0.0);
    assert_eq!(busy_share(&plan, &report(0, None, None), 0.0), 0.0);
}

#[test]
fn the_cause_of_lateness_is_named_once_and_its_remedy_is_not_in_use() {
    let late = || Case { ideal: times(10_000, 50_000), ..Case::new() };
    let told = |case: &Case| -> (Vec<&str>, &str) {
        let warned = case.warned_of();
        let codes = warned.iter().map(Warning::code).collect();
        (codes, warned[0].remedy())
    };
    let (codes, remedy) = told(&late());
    assert_eq!(codes, ["generator_late"]);
    assert!(remedy.contains("--wait spin"), "{remedy}");
    // A worker that spins is not advised to spin.
    let mut spinning = late();
    spinning.plan.wait = Wait::Spin;
    let (_, remedy) = told(&spinning);
    assert!(!remedy.contains("--wait") && remedy.contains("interrupts"), "{remedy}");
    let hog = Case { kept: vec![0.3, 0.0], busy: vec![0.5, 0.1], ..late() };
    let (codes, remedy) = told(&hog);
    assert_eq!(codes, ["generator_late", "cpu_taken"]);
    assert!(remedy.contains("other threads"), "{remedy}");
    let check = hog.check(CheckKind::WorkerBusy);
    assert!(check.message.starts_with("worker 0 waited 30 %"), "{}", check.message);
    let stolen = Case { stolen: Some(0.2), ..late() };
    assert!(told(&stolen).1.contains("steal"));
    // A stop of 100 ms is no late wake-up; a little of other threads' time does not explain it.
    let stopped = |still, kept| Case {
        response: times(10_000, 100_000_000),
        still: vec![still],
        kept: vec![kept],
        ..late()
    };
    for (still, kept, remedy) in
        [(0.1, 0.02, "stood still"), (0.02, 0.04, "other threads"), (0.0, 0.0, "--wait spin")]
    {
        let (codes, told) = (stopped(still, kept).warned_of(), stopped(still, kept));
        assert!(told.warned_of()[0].remedy().contains(remedy), "{codes:?}");
        assert_eq!(codes.len(), 1 + usize::from(kept > still), "{codes:?}");
    }
    // Nor do many short waits for a CPU beside a stop; and a stop does not explain short delays.
    for (longest_ms, share, remedy) in
        [(600, 0.06, "was stopped"), (600, 0.005, "other threads"), (30, 0.06, "other threads")]
    {
        let case = Case { stopped: (share, Span::from_ms(longest_ms)), ..stopped(0.06, 0.4) };
        let warned = case.warned_of();
        assert!(warned[0].remedy().contains(remedy), "{longest_ms} ms: {warned:?}");
        assert_eq!(warned[1].code(), "cpu_taken");
    }
    // A quota stops workers for longer than they waited for other threads.
    for (kept, remedy) in [(0.05, "the CPU quota"), (0.4, "other threads")] {
        let case = Case { throttled: Some(0.3), ..stopped(0.0, kept) };
        let warned = case.warned_of();
        assert!(warned[0].remedy().contains(remedy), "{kept}: {warned:?}");
    }
    let overloaded = Case { busy: vec![0.1, 0.95], ..late() };
    let (codes, remedy) = told(&overloaded);
    assert_eq!(codes, ["generator_late", "client_saturated"]);
    assert!(remedy.contains("busy worker"), "{remedy}");
}

#[test]
fn one_cpu_for_the_embedded_server_and_the_workers_is_a_no_with_its_reason() {
    let fine = Case::new();
    assert_eq!(fine.result(CheckKind::OwnCpus), CheckResult::Skipped);
    let shared = Case { shared_cpus: Some(1.0), ..Case::new() };
    assert_eq!(shared.result(CheckKind::OwnCpus), CheckResult::Failed);
    let warned = shared.warned_of();
    let [Warning::SharedCpu { cpus: 1.0 }] = warned[..] else { panic!("{warned:?}") };
    assert!(warned[0].message().contains("share 1 CPU"), "{}", warned[0].message());
}

#[test]
fn a_server_that_takes_a_workers_cpu_is_told_apart_from_other_programs() {
    for is_server in [true, false] {
        let name = "p7".to_owned();
        let program = ProgramCpu { name, id: 7, cpus: 0.5, is_server, ..ProgramCpu::default() };
        let case = Case { kept: vec![0.08], beside: Some(program.clone()), ..Case::new() };
        let warned = case.warned_of();
        let [Warning::CpuTaken { by, by_server, .. }] = &warned[..] else { panic!("{warned:?}") };
        assert_eq!((by, *by_server), (&Some(program), is_server));
        assert_eq!(warned[0].remedy().contains("taskset -acp 1 PROCESS"), is_server);
        let alone = Case { beside: None, ..case };
        assert!(matches!(alone.warned_of()[..], [Warning::CpuTaken { by_server: false, .. }]));
    }
}

/// A server pinned to CPU 1 was named as the busiest on CPU 0, with the advice to pin it there.
#[test]
fn a_program_that_may_not_use_a_workers_cpu_is_no_suspect() {
    let named = |allowed: &[usize], worker_cpus: &[usize]| {
        let allowed = allowed.to_vec();
        let beside = ProgramCpu { cpus: 0.9, allowed, is_server: true, ..ProgramCpu::default() };
        let worker_cpus = worker_cpus.to_vec();
        let case =
            Case { kept: vec![0.08, 0.09], beside: Some(beside), worker_cpus, ..Case::new() };
        let named = |warning: &Warning| match warning {
            Warning::CpuTaken { by, by_server, .. } => by.is_some() && *by_server,
            other => panic!("{other:?}"),
        };
        case.warned_of().iter().map(named).collect::<Vec<_>>()
    };
    assert_eq!(named(&[1], &[0, 1]), [false, true]);
    assert_eq!(named(&[1], &[0, 2]), [false, false]);
    assert_eq!(named(&[1], &[0, 1, 2]), [true, true], "workers share these");
    assert_eq!(named(&[], &[0, 1]), [true, true], "nothing is known");
}

/// "waited 111.3 % of the time".
#[test]
fn no_thread_waits_for_longer_than_the_window_is() {
    let worker = report(0, None, Some(1_113));
    assert_eq!((kept_share(&worker, 1.0), taken_share(&worker, None, 1.0)), (1.0, 1.0));
}

#[test]
fn a_program_that_takes_a_servers_cpu_is_named() {
    let hog = || ProgramCpu { name: "sh".to_owned(), id: 7, cpus: 0.97, ..ProgramCpu::default() };
    let server = |name: Option<&str>, waited, beside| {
        let server = ServerCpu { name: name.map(str::to_owned), waited, beside };
        Case { server: Some(server), ..Case::new() }
    };
    let embedded = server(None, 0.42, Some(hog()));
    assert_eq!(embedded.result(CheckKind::OwnCpus), CheckResult::Failed);
    let warned = embedded.warned_of();
    let [Warning::ServerCpuTaken { server: None, .. }] = &warned[..] else { panic!("{warned:?}") };
    let message = warned[0].message();
    for words in ["the embedded server waited 42 %", "'sh' (process 7, 0.97 CPUs)"] {
        assert!(message.contains(words), "{message}");
    }
    // A server of the user's may have a hog beside it on purpose: it is named, and no verdict.
    let other = server(Some("cache1"), 0.42, Some(hog()));
    assert_eq!(other.result(CheckKind::OwnCpus), CheckResult::Skipped);
    assert!(other.warned_of()[0].message().starts_with("cache1 waited 42 %"));
    // A little, or without another program, or where the workers have its CPU by the plan.
    let shared = Case { shared_cpus: Some(1.0), ..server(None, 0.42, Some(hog())) };
    for (quiet, codes) in [
        (server(None, 0.05, Some(hog())), &[][..]),
        (server(None, 0.42, None), &[]),
        (shared, &["shared_cpu"]),
    ] {
        let warned = quiet.warned_of();
        assert_eq!(warned.iter().map(Warning::code).collect::<Vec<_>>(), codes);
    }
}

#[test]
fn time_that_a_quota_or_a_hypervisor_took_is_warned_of_above_a_trace() {
    let cpu = |throttled, stolen| MachineCpu { throttled, stolen, ..MachineCpu::default() };
    let quota = |share| throttled(Some(&cpu(share, None)));
    assert_eq!(quota(Some(0.4)), Some(Warning::CpuThrottled { share: 0.4 }));
    assert_eq!((quota(Some(0.01)), quota(None), throttled(None)), (None, None, None));
    let taken = |share| stolen(Some(&cpu(None, share)));
    assert_eq!(taken(Some(0.27)), Some(Warning::CpuStolen { share: 0.27 }));
    assert_eq!((taken(Some(0.01)), taken(None), stolen(None)), (None, None, None));
}

/// A warning that other threads took the CPU stood beside that of the quota: the kernel had not
/// counted the last stop yet.
#[test]
fn stops_by_a_quota_are_no_time_that_other_threads_took() {
    // Of 2 s it waited for 1.7 s; the kernel says that the quota stopped it for 80 % of the time.
    let worker = report(0, Some(300), Some(1_700));
    let taken = |throttled| taken_share(&worker, throttled, 2.0);
    // Without the quota's stops, the rest is that of a program beside it.
    for (throttled, rest) in
        [(None, 0.85), (Some(0.0), 0.85), (Some(0.3), 0.5), (Some(0.8), 0.0), (Some(0.9), 0.0)]
    {
        assert!((taken(throttled) - rest).abs() < 1e-9, "{throttled:?}: {}", taken(throttled));
    }
}

#[test]
fn a_run_that_went_without_a_server_measured_another_load() {
    // Every operation was answered: the other server took those of the one that died.
    let case = |missed, several_servers| Case { missed, several_servers, ..Case::new() };
    let result =
        |share, at_end, several| case(Missed { share, at_end }, several).result(CheckKind::Errors);
    assert_eq!(result(0.0, false, true), CheckResult::Passed);
    assert_eq!(result(0.01, false, true), CheckResult::Passed);
    assert_eq!(result(0.011, false, true), CheckResult::Failed);
    assert_eq!(result(0.001, true, true), CheckResult::Failed);
    assert_eq!(result(0.001, true, false), CheckResult::Failed);
    // Waiting for the only server is part of the measured times.
    assert_eq!(result(0.3, false, false), CheckResult::Passed);
    let check = case(Missed { share: 0.25, at_end: false }, true).check(CheckKind::Errors);
    for words in ["servers were gone for 25 %", "limit 1 %", "the others took their load"] {
        assert!(check.message.contains(words), "{}", check.message);
    }
    let check = case(Missed { share: 0.25, at_end: true }, true).check(CheckKind::Errors);
    assert!(check.message.starts_with("a server was gone at the end"), "{}", check.message);
}

#[test]
fn a_run_that_measured_nothing_is_not_believed() {
    let nothing = Case {
        counted: Counters::default(),
        response: Histogram::new(),
        ideal: Histogram::new(),
        ..Case::new()
    };
    let check = nothing.check(CheckKind::Answered);
    assert_eq!(check.result, CheckResult::Failed);
    assert!(check.message.contains("no operation was due"), "{}", check.message);
    // Operations without a reply are measured nevertheless.
    let counted = counted(0, &[(Fate::Unacknowledged, 100)]);
    let unasked = Case { counted, ..nothing };
    assert_eq!(unasked.result(CheckKind::Answered), CheckResult::Skipped);
}
