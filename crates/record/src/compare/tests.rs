//! Rules and their messages, differences that make runs unlike, and the JSON format.

#[path = "../../../base/tests/table/mod.rs"]
mod table;
mod trials;

use super::*;
use crate::record::tests::sample;
use crate::record::{
    Believable, Check, CheckKind, CheckResult, Distribution, GoalResult, Missing, Percentile,
    PlannedServer, ServerLoad, ServerReport, Slicing,
};
use memtide_base::Span;
use memtide_scenario::Kind;
use serde_json::json;
use std::str::FromStr;

const RULES: &str = include_str!("tests/rules.txt");

fn both(change: impl Fn(&mut Record)) -> [(String, Record); 2] {
    let mut first = sample();
    first.rate.achieved_per_s = 1_000.0;
    let all = first.response.get_mut(&Kind::All).unwrap();
    *all = Distribution::of(&all.times().unwrap(), 0, Span::ZERO);
    first.plan.servers = vec![PlannedServer { name: "cache1".to_owned(), ..Default::default() }];
    let mut second = first.clone();
    change(&mut second);
    [("a.json".to_owned(), first), ("b.json".to_owned(), second)]
}

fn judged(rule: &str, records: &[(String, Record)]) -> RuleResult {
    let rule: Rule = rule.parse().unwrap();
    compare(records, &[rule]).rules.remove(0)
}

#[test]
fn rules_are_read_and_shown() {
    table::assert_shown::<Rule>(RULES, "rules");
    table::assert_refused(RULES, "no rules", str::parse::<Rule>);
}

#[test]
fn a_rule_says_whether_and_by_how_much() {
    let slower = both(|record| {
        let all = record.response.get_mut(&Kind::All).unwrap();
        all.mean_ns = all.mean_ns.map(|mean| mean * 1.06);
        record.rate.achieved_per_s *= 0.5;
    });
    let result = judged("all.mean>+5%", &slower);
    assert_eq!((result.result, result.record), (RuleOutcome::Failed, 'B'));
    assert!(result.why.contains("+6.0 % compared with"), "{}", result.why);
    assert!((result.change.unwrap() - 0.06).abs() < 1e-9);
    let outcome = |rule| judged(rule, &slower).result;
    assert_eq!(outcome("all.mean>+7%"), RuleOutcome::Passed);
    assert_eq!(outcome("rate<-49%"), RuleOutcome::Failed);
    assert_eq!(outcome("rate<-51%"), RuleOutcome::Passed);
    assert_eq!(outcome("all.mean>+1h"), RuleOutcome::Passed);
    assert_eq!(outcome("all.mean>+0s"), RuleOutcome::Failed);
    assert_eq!(outcome("all.mean<1h"), RuleOutcome::Failed);
}

#[test]
fn a_figure_that_is_missing_fails_its_rule_with_the_reason() {
    let gone = both(|record| {
        record.response.remove(&Kind::All);
        record.rate.achieved_per_s = f64::NAN;
    });
    for rule in ["all.mean>+5%", "all.mean>1h"] {
        let result = judged(rule, &gone);
        assert_eq!(result.result, RuleOutcome::Missing, "{rule}");
        assert_eq!(result.why, "it is not known in B: no such operation was measured");
    }
    assert_eq!(judged("rate<-5%", &gone).result, RuleOutcome::Missing);
    assert!(!compare(&gone, &["rate<-5%".parse().unwrap()]).has_passed(false));
    let [a, b] = gone;
    let result = judged("all.mean>+5%", &[b, a]);
    assert_eq!(result.why, "it is not known in A: no such operation was measured");
}

#[test]
fn what_is_not_answered_is_longer_than_all_that_is() {
    let lost = both(|record| {
        record.response.get_mut(&Kind::All).unwrap().unanswered = 1 << 40;
    });
    let worse = judged("all.max>+5%", &lost);
    let known = judged("all.max>+5%", &both(|_| ()));
    // The sample itself may contain unanswered operations.
    let first_is_known = known.result == RuleOutcome::Passed;
    let expected = if first_is_known { RuleOutcome::Failed } else { RuleOutcome::Missing };
    assert_eq!(worse.result, expected, "{}", worse.why);
    assert_eq!(judged("all.max>1h", &lost).result, RuleOutcome::Failed);
}

#[test]
fn answers_where_there_were_none_make_a_figure_smaller() {
    let with = |unanswered| {
        let [_, record] = both(|record| {
            record.response.get_mut(&Kind::All).unwrap().unanswered = unanswered;
        });
        record
    };
    let records = [with(1 << 40), with(0)];
    assert_eq!(judged("all.max>+5%", &records).result, RuleOutcome::Passed);
    assert_eq!(judged("all.max<-5%", &records).result, RuleOutcome::Failed);
}

#[test]
fn rules_name_every_figure_that_a_comparison_shows() {
    let cheaper = both(|record| {
        record.totals.misses += 50;
        record.client.cpu_s_per_mops = record.client.cpu_s_per_mops.map(|cost| cost * 1.2);
    });
    let names = ["rate", "errors", "answered", "hits", "misses", "hit_ratio", "client_cpu"];
    for name in names {
        let rule = judged(&format!("{name}<-99%"), &cheaper);
        assert_ne!(rule.result, RuleOutcome::Failed, "{name}: {}", rule.why);
    }
    assert_eq!(judged("misses>+49", &cheaper).result, RuleOutcome::Failed);
    assert_eq!(judged("misses>+51", &cheaper).result, RuleOutcome::Passed);
}

/// What a server says of a load that cost it this CPU time.
fn told(cpu_us: u64, operations: u64) -> ServerLoad {
    let report = ServerReport {
        answers: 3,
        operations: Some(operations),
        cpu_user_us: Some(cpu_us / 2),
        cpu_system_us: Some(cpu_us / 2),
        ..ServerReport::default()
    };
    ServerLoad { report, why_unanswered: None }
}

/// The second run costs servers and memtide a fifth more, and a tenth fewer keys are found.
#[test]
fn hit_ratio_and_costs_are_judged_both_ways() {
    let mut records = both(|_| ());
    for ((_, record), (cost, hits)) in records.iter_mut().zip([(1.0, 500), (1.2, 450)]) {
        (record.totals.keys, record.totals.hits) = (1_000, hits);
        record.client.cpu_s_per_mops = Some(5.0 * cost);
        let during = told((4_000.0 * cost) as u64, 1_000);
        record.server.during = [("a:1".to_owned(), during)].into();
    }
    for (rule, result) in [
        ("hit_ratio<-9%", RuleOutcome::Failed),
        ("hit_ratio<-11%", RuleOutcome::Passed),
        ("client_cpu>+19%", RuleOutcome::Failed),
        ("client_cpu>+21%", RuleOutcome::Passed),
        ("server_cpu>+19%", RuleOutcome::Failed),
        ("server_cpu>+21%", RuleOutcome::Passed),
    ] {
        let found = judged(rule, &records);
        assert_eq!(found.result, result, "{rule}: {}", found.why);
    }
    // A cost that one run does not know is no difference, and the rule says why.
    records[1].1.server.during.clear();
    let unknown = judged("server_cpu>+19%", &records);
    assert_eq!(unknown.result, RuleOutcome::Missing);
    assert!(unknown.why.contains("not known in B: the servers' stats"), "{}", unknown.why);
}

/// A master measured beside its agents: the times are the master's, and rate and counts those of
/// the agents.
#[test]
fn runs_with_a_load_of_the_masters_own_are_compared_by_the_judged_times() {
    let mean = |record: &Record| record.response[&Kind::All].mean_ns.unwrap();
    let mut records = both(|_| ());
    for ((_, record), factor) in records.iter_mut().zip([1.0, 3.0]) {
        let mut own = record.clone();
        own.response.get_mut(&Kind::All).unwrap().mean_ns = Some(mean(record) / 7.0 * factor);
        record.own = Some(Box::new(own));
    }
    let comparison = compare(&records, &[]);
    let row = comparison.figures.iter().find(|row| row.name == "all.mean").unwrap();
    let own = |at: usize| mean(records[at].1.own.as_ref().unwrap());
    let found: Vec<_> = row.values.iter().map(|value| value.value).collect();
    assert_eq!(found, [Some(own(0)), Some(own(1))]);
    assert_eq!(judged("all.mean>+199%", &records).result, RuleOutcome::Failed);
    assert_eq!(judged("all.mean>+201%", &records).result, RuleOutcome::Passed);
}

#[test]
fn the_servers_cost_is_that_of_the_load_and_of_all_of_them() {
    let cost = |change: &dyn Fn(&mut Record)| {
        let records = both(|record| {
            let [a, b] = [told(4_000, 1_000), told(8_000, 1_000)];
            record.server.during = [("a:1".to_owned(), a), ("b:1".to_owned(), b)].into();
            change(record);
        });
        let comparison = compare(&records, &[]);
        let row = comparison.figures.into_iter().find(|row| row.name == "server_cpu").unwrap();
        row.values[1].clone()
    };
    // 12 000 µs for 2 000 operations; what filling cost is in no report.
    assert_eq!(cost(&|_| ()).value, Some(6.0));
    let why = |change: &dyn Fn(&mut ServerReport)| {
        let value =
            cost(&|record| change(&mut record.server.during.get_mut("b:1").unwrap().report));
        assert_eq!(value.value, None);
        value.missing.unwrap()
    };
    assert!(why(&|report| report.restarts = 1).contains("restarted"));
    assert!(why(&|report| report.unanswered = 1).contains("did not always answer"));
    assert!(why(&|report| report.cpu_user_us = None).contains("did not report"));
    assert!(cost(&|record| record.server.during.clear()).missing.unwrap().contains("not read"));
}

#[test]
fn runs_are_unlike_if_load_version_machine_or_verdict_differ() {
    let alike = compare(&both(|record| record.believable.verdict = Verdict::Yes), &[]);
    let unlike = |change: fn(&mut Record)| {
        let mut records = both(|_| ());
        records.iter_mut().for_each(|(_, record)| {
            record.believable = Believable { verdict: Verdict::Yes, ..Believable::default() };
            record.plan.decided = [("rate".to_owned(), "1000".to_owned())].into();
        });
        change(&mut records[1].1);
        let comparison = compare(&records, &[]);
        let names = comparison.differences.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
        (comparison.alike, names)
    };
    assert!(alike.differences.iter().all(|it| it.name == "believable"), "{alike:?}");
    assert_eq!(unlike(|_| ()), (true, Vec::new()));
    let name = |name: &str| vec![name.to_owned()];
    let rate = |record: &mut Record| {
        record.plan.decided.insert("rate".to_owned(), "2000".to_owned());
    };
    assert_eq!(unlike(rate), (false, name("rate")));
    let seed = |record: &mut Record| {
        record.plan.decided.insert("seed".to_owned(), "2".to_owned());
    };
    assert_eq!(unlike(seed), (true, name("seed")));
    let version = |record: &mut Record| record.machine.memtide_version.push('x');
    assert_eq!(unlike(version), (false, name("memtide_version")));
    let verdict = |record: &mut Record| record.believable.verdict = Verdict::No;
    assert_eq!(unlike(verdict), (false, name("believable")));
    let server = |record: &mut Record| record.plan.servers[0].name.push('x');
    assert_eq!(unlike(server), (true, name("servers")));
}

#[test]
fn figures_are_the_records_and_ratios_their_quotients() {
    let records = both(|record| {
        record.rate.achieved_per_s *= 2.0;
        let all = record.response.get_mut(&Kind::All).unwrap();
        (all.mean_ci_low_ns, all.mean_ci_high_ns) = (Some(1e12), Some(2e12));
    });
    let comparison = compare(&records, &[]);
    let row = |name: &str| comparison.figures.iter().find(|row| row.name == name).unwrap();
    let rate = &row("rate").values;
    assert_eq!(rate[0].value, Some(records[0].1.rate.achieved_per_s));
    assert_eq!((rate[0].ratio, rate[1].ratio), (None, Some(2.0)));
    for row in &comparison.figures {
        for value in &row.values {
            assert_eq!(value.value.is_none(), value.missing.is_some(), "{}", row.name);
        }
    }
    assert_eq!(row("all.mean").values[1].apart, None, "one side alone tells nothing");
}

#[test]
fn rates_of_operations_have_intervals_that_overlap_or_are_apart() {
    let second = |low: f64, unit: Option<&str>| {
        let mut records = both(|_| ());
        for (low, (_, record)) in [900.0, low].into_iter().zip(&mut records) {
            let rate = &mut record.rate;
            rate.achieved_ci_low_per_s = Some(low);
            rate.achieved_ci_high_per_s = Some(low + 200.0);
            rate.keys_per_s = Some(4_000.0);
            record.plan.rate_unit = unit.map(str::to_owned);
        }
        let mut figures = compare(&records, &[]).figures.into_iter();
        figures.find(|row| row.name == "rate").unwrap().values.remove(1)
    };
    let of = |value: Value| (value.ci, value.apart);
    assert_eq!(of(second(1_099.0, None)), (Some([1_099.0, 1_299.0]), Some(false)));
    assert_eq!(of(second(1_101.0, None)), (Some([1_101.0, 1_301.0]), Some(true)));
    assert_eq!(of(second(1_101.0, Some("keys"))), (None, None), "it is of operations");
}

/// A record whose times of all operations have this mean and interval.
fn timed(mean: f64, half: f64) -> Record {
    let [(_, mut record), _] = both(|_| ());
    let all = record.response.get_mut(&Kind::All).unwrap();
    all.mean_ns = Some(mean);
    (all.mean_ci_low_ns, all.mean_ci_high_ns) = (Some(mean - half), Some(mean + half));
    record
}

#[test]
fn a_rule_fails_on_what_one_run_each_establishes() {
    let result = |mean, rule| {
        let records = [timed(1e6, 1e4), timed(mean, 1e4)].map(|it| (String::new(), it));
        let comparison = compare(&records, &[Rule::from_str(rule).unwrap()]);
        (comparison.rules[0].result, comparison.has_passed(false), comparison.has_passed(true))
    };
    assert_eq!(result(1.2e6, "mean>+5%"), (RuleOutcome::Failed, false, false));
    assert_eq!(result(1.08e6, "all.mean>+5%"), (RuleOutcome::Undecided, true, false));
    assert_eq!(result(0.9e6, "all.mean>+5%"), (RuleOutcome::Passed, true, true));
    assert_eq!(result(1.2e6, "all.mean>1150us").0, RuleOutcome::Failed);
    assert_eq!(result(1.2e6, "all.mean>1205us").0, RuleOutcome::Undecided);
}

#[test]
fn a_figure_whose_interval_is_refused_is_undecided_by_one_run_each() {
    let outcome = |slices: bool, rule: &str| {
        let mut records = both(|record| {
            let all = record.response.get_mut(&Kind::All).unwrap();
            all.mean_ns = all.mean_ns.map(|mean| mean * 2.0);
        });
        for (_, record) in &mut records {
            record.slicing = slices.then(Slicing::default);
        }
        judged(rule, &records).result
    };
    for rule in ["all.mean>+5%", "all.mean>0s"] {
        assert_eq!(outcome(true, rule), RuleOutcome::Undecided, "{rule}");
        assert_eq!(outcome(false, rule), RuleOutcome::Failed, "{rule}: nothing was kept");
    }
    assert_ne!(outcome(true, "all.max>0s"), RuleOutcome::Undecided, "it has no interval");
}

/// A record whose 99th percentile falls among operations that were not answered.
fn unanswered() -> Record {
    let [_, (_, mut record)] = both(|record| record.slicing = Some(Slicing::default()));
    let all = record.response.get_mut(&Kind::All).unwrap();
    all.count += 100;
    all.unanswered += 100;
    all.set_percentile(Percentile::P99, Err(Missing::Unanswered));
    record
}

#[test]
fn a_percentile_among_unanswered_operations_fails_without_an_interval() {
    let records = [timed(1e6, 1e4), unanswered()].map(|it| (String::new(), it));
    for rule in ["all.p99>+5%", "all.p99>2ms"] {
        assert_eq!(judged(rule, &records).result, RuleOutcome::Failed, "{rule}");
    }
}

#[test]
fn the_rate_of_all_loads_is_judged_not_the_masters_own() {
    let mut records = both(|_| ());
    for ((_, record), rate) in records.iter_mut().zip([100e3, 50e3]) {
        let mut own = record.clone();
        for (record, rate) in [(&mut *record, rate), (&mut own, 1e3)] {
            record.rate.achieved_per_s = rate;
            record.rate.achieved_ci_low_per_s = Some(rate * 0.99);
            record.rate.achieved_ci_high_per_s = Some(rate * 1.01);
        }
        record.own = Some(Box::new(own));
    }
    assert_eq!(judged("rate<-10%", &records).result, RuleOutcome::Failed);
    assert_eq!(judged("rate<40k", &records).result, RuleOutcome::Passed);
}

#[test]
fn a_bound_on_groups_is_about_every_run() {
    let group = |records: Vec<Record>| -> Vec<(String, Record)> {
        records.into_iter().map(|record| (String::new(), record)).collect()
    };
    let with_errors = |failed: u64| {
        let mut record = timed(1e6, 1e3);
        record.totals.intended = 1_000;
        record.totals.answered = 1_000 - failed;
        record.totals.timed_out = failed;
        record
    };
    let outcome = |b: Vec<Record>, word: &str| {
        let groups = [group(vec![with_errors(0), with_errors(0)]), group(b)];
        compare_groups(&groups, 0.05, &[], &[word.parse().unwrap()], 0.05).rules.remove(0)
    };
    let one = outcome(vec![with_errors(0), with_errors(0), with_errors(500)], "errors>0.1%");
    assert_eq!(one.result, RuleOutcome::Failed, "{one:?}");
    assert_eq!(one.why, "it is so in 1 of 3 runs of B");
    assert_eq!(outcome(vec![with_errors(0); 2], "errors>0.1%").result, RuleOutcome::Passed);
    let unknown = outcome(vec![with_errors(0), Record::default()], "all.mean>1h");
    assert_eq!(unknown.result, RuleOutcome::Missing, "{unknown:?}");
    // Where some runs have none, the means decide.
    let missing = |misses: u64| {
        let mut record = with_errors(0);
        record.totals.misses = misses;
        record
    };
    let some = outcome(vec![missing(900), missing(1_000), missing(950)], "misses>+500");
    assert_eq!(some.result, RuleOutcome::Failed, "{some:?}");
}

/// A record of which these checks failed.
fn failing(mut record: Record, codes: &[CheckKind]) -> Record {
    let check = |code: &CheckKind| Check {
        code: *code,
        result: CheckResult::Failed,
        message: format!("{code:?}"),
        measured: None,
        allowed: None,
    };
    record.believable = Believable::from_checks(codes.iter().map(check).collect());
    record
}

#[test]
fn a_rate_that_one_arm_does_not_carry_is_worse() {
    let carrying = |rate: f64, failed: &[CheckKind]| {
        let mut record = timed(1e6, 1e3);
        record.rate.achieved_per_s = rate;
        failing(record, failed)
    };
    let names = ["all.mean", "rate"].map(|name| Named::parse(name).unwrap());
    let mut trial = Trial::new(["a".to_owned(), "b".to_owned()], 0.05, &names, &[]);
    for pair in 0..6 {
        assert!(!trial.is_not_carried(), "after {pair} pairs");
        let b = carrying(6e4 + f64::from(pair), &[CheckKind::Rate]);
        trial.add('A', 1, &[carrying(1e5, &[]), b]);
    }
    assert!(trial.is_not_carried());
    assert_eq!((trial.short(), trial.left_out()), ([0, 6], 6));
    let findings: Vec<_> = trial.figures.iter().map(|figure| figure.finding).collect();
    assert_eq!(findings, [TrialFinding::Undecided, TrialFinding::Worse]);
    // The pairs that both carried speak for the arm that often did not.
    for _ in 0..6 {
        let same = carrying(1e5, &[]);
        trial.add('A', 1, &[same.clone(), same]);
    }
    let figure = &trial.figures[0];
    assert_eq!((figure.pairs, figure.finding), (6, TrialFinding::Undecided));
    assert!(figure.picked);
    // A few make no choice of the best.
    for _ in 0..120 {
        let same = carrying(1e5, &[]);
        trial.add('A', 1, &[same.clone(), same]);
    }
    assert_eq!(trial.figures[0].finding, TrialFinding::Equal);
}

#[test]
fn a_trial_goes_on_while_the_rates_of_pairs_that_carried_nothing_are_open() {
    let rates = [2e4, 9e4, 3e4, 8e4, 4e4, 7e4];
    let pairs = rates.map(|rate| {
        let mut b = timed(1e6, 1e3);
        b.rate.achieved_per_s = rate;
        [timed(1e6, 1e3), b].map(|record| failing(record, &[CheckKind::Rate]))
    });
    let trial = trial_of("rate", &pairs);
    assert_eq!((trial.figures[0].pairs, trial.is_not_carried()), (6, false));
    assert!(trial_of("all.mean", &pairs).is_not_carried(), "no rate is looked at");
}

#[test]
fn a_percentile_that_is_as_exact_as_its_histogram_ends_a_trial() {
    let pairs: Vec<_> = (0..6).map(|_| [timed(1e6, 1e3), timed(1e6, 1e3)]).collect();
    let is_exact = |figure: &str, difference: f64, pairs: &[[Record; 2]]| {
        let names = [Named::parse(figure).unwrap()];
        let mut trial = Trial::new(["a".to_owned(), "b".to_owned()], difference, &names, &[]);
        pairs.iter().for_each(|pair| trial.add('A', 1, pair));
        (trial.is_exact(), trial.figures[0].is_finest())
    };
    assert_eq!(is_exact("all.p50", 0.005, &pairs), (true, true));
    assert!(!is_exact("all.p50", 0.005, &pairs[1..]).0, "five pairs end no trial");
    assert_eq!(is_exact("all.mean", 0.005, &pairs), (true, false));
}

#[test]
fn the_best_runs_of_a_group_that_often_carried_nothing_decide_nothing() {
    let group = |means: &[f64], overloaded: usize| -> Vec<(String, Record)> {
        let broken = std::iter::repeat_n(failing(timed(9e6, 1e3), &[CheckKind::Rate]), overloaded);
        let records = means.iter().map(|mean| timed(*mean, 1e3)).chain(broken);
        records.map(|record| (String::new(), record)).collect()
    };
    let (fast, slow) = ([1.00e6, 1.01e6, 0.99e6], [1.30e6, 1.31e6, 1.29e6]);
    let names = [Named::parse("all.mean").unwrap()];
    let rules = ["all.mean>+5%".parse().unwrap()];
    let found = |a: &[(String, Record)], b: &[(String, Record)]| {
        let groups = compare_groups(&[a.to_vec(), b.to_vec()], 0.05, &names, &rules, 0.05);
        (groups.figures[0].finding, groups.rules[0].result)
    };
    let (undecided, open) = (TrialFinding::Undecided, RuleOutcome::Undecided);
    assert_eq!(found(&group(&fast, 2), &group(&slow, 0)), (undecided, open));
    assert_eq!(found(&group(&slow, 0), &group(&fast, 2)), (undecided, open));
    // It is worse, the more so with the runs that are left out.
    let worse = (TrialFinding::Worse, RuleOutcome::Failed);
    assert_eq!(found(&group(&fast, 0), &group(&slow, 2)), worse);
    assert_eq!(found(&group(&fast, 0), &group(&slow, 0)), worse);
}

#[test]
fn a_run_in_which_memtide_was_the_limit_says_nothing_of_a_servers_rate() {
    let group = |rate: f64, failed: &[CheckKind]| -> Vec<(String, Record)> {
        let record = |at: u32| {
            let mut record = timed(1e6, 1e3);
            record.rate.achieved_per_s = rate + f64::from(at);
            (String::new(), failing(record, failed))
        };
        (0..4).map(record).collect()
    };
    let outcome = |failed: &[CheckKind]| {
        let rules = ["rate<-5%".parse().unwrap()];
        compare_groups(&[group(1e5, &[]), group(6e4, failed)], 0.05, &[], &rules, 0.05).rules[0]
            .result
    };
    assert_eq!(outcome(&[CheckKind::Rate]), RuleOutcome::Failed);
    assert_eq!(outcome(&[CheckKind::Rate, CheckKind::WorkerBusy]), RuleOutcome::Missing);
    assert_eq!(outcome(&[CheckKind::Rate, CheckKind::Shares]), RuleOutcome::Missing);
}

#[test]
fn a_run_without_any_answer_speaks_in_a_goal_of_all_runs() {
    let silent = || {
        let mut record = timed(1e6, 1e3);
        let all = record.response.get_mut(&Kind::All).unwrap();
        (all.mean_ns, all.max_ns, all.unanswered) = (None, None, all.count);
        failing(record, &[CheckKind::Errors])
    };
    let goals = ["all.mean<2ms".parse().unwrap()];
    let mut repeats = Repeats::new(4);
    for record in [timed(1e6, 1e3), silent(), silent(), silent()] {
        repeats.add(record, &[], &goals);
    }
    assert_eq!((repeats.goals[0].runs, repeats.meets()), (4, false));
}

/// The middles of buckets and a range that holds in 75 % of the cases decided a goal of three runs.
#[test]
fn runs_that_do_not_decide_a_goal_alone_decide_it_together_from_six_on() {
    let judged = |means: &[f64]| {
        let goals = ["all.mean<1ms".parse().unwrap()];
        let mut repeats = Repeats::new(means.len() as u32);
        for mean in means {
            let mut record = timed(*mean, 1e3);
            // Their slices say too little for a decision.
            record.slicing = Some(Slicing { count: 1, ..Slicing::default() });
            repeats.add(record, &[], &goals);
        }
        (repeats.goals[0].result, repeats.goals[0].runs_needed)
    };
    let six = [0.9e6, 0.92e6, 0.94e6, 0.95e6, 0.96e6, 0.97e6];
    assert_eq!(judged(&six), (GoalResult::Met, None));
    assert_eq!(judged(&six[..3]), (GoalResult::Undecided, Some(6)));
    let (result, needed) = judged(&[0.9e6, 0.95e6, 0.97e6, 0.98e6, 0.99e6, 1.02e6]);
    assert!(result == GoalResult::Undecided && needed.is_some_and(|runs| runs > 6), "{needed:?}");
}

#[test]
fn memtides_own_trouble_is_told_before_the_rate() {
    let record = failing(timed(1e6, 1e3), &[CheckKind::Rate, CheckKind::WorkerBusy]);
    let trial = trial_of("all.mean", &[[timed(1e6, 1e3), record]]);
    assert_eq!(trial.pairs[0].left_out.as_deref(), Some("B: WorkerBusy"));
    assert_eq!(trial.short(), [0, 0]);
}

/// A trial of these means of A and B, one pair each.
fn trial_of(figure: &str, pairs: &[[Record; 2]]) -> Trial {
    let names = [Named::parse(figure).unwrap()];
    let mut trial = Trial::new(["a".to_owned(), "b".to_owned()], 0.05, &names, &[]);
    pairs.iter().for_each(|pair| trial.add('A', 1, pair));
    trial
}

#[test]
fn pairs_that_have_no_ratio_leave_a_figure_undecided() {
    let pair = |a, b| [timed(a, 1e3), timed(b, 1e3)];
    let better: Vec<_> = (0..6).map(|n| pair(1e6, 5e5 + f64::from(n))).collect();
    assert_eq!(trial_of("all.mean", &better).figures[0].finding, TrialFinding::Better);
    let with = |unanswered: u64, max: u64| {
        let mut record = timed(1e6, 1e3);
        let all = record.response.get_mut(&Kind::All).unwrap();
        (all.unanswered, all.max_ns) = (unanswered, Some(max).filter(|_| unanswered == 0));
        record
    };
    let mut slower: Vec<_> = (0..6).map(|n| [with(0, 1_000), with(0, 2_000 + n)]).collect();
    assert_eq!(trial_of("all.max", &slower).figures[0].finding, TrialFinding::Worse);
    slower.push([with(0, 1_000), with(1, 2_000)]);
    let figure = trial_of("all.max", &slower).figures.remove(0);
    assert_eq!((figure.pairs, figure.finding), (7, TrialFinding::Undecided), "{figure:?}");
    assert_eq!((figure.change, figure.range, figure.visible), (None, None, None));
    // Nothing in both arms is equal.
    let none: Vec<_> = (0..6).map(|_| pair(1e6, 1e6)).collect();
    assert_eq!(trial_of("misses", &none).figures[0].finding, TrialFinding::Equal);
}

/// Issue 58, point 1: the mean of a server that did not answer its slowest operations was better.
#[test]
fn a_mean_without_unanswered_operations_is_no_figure() {
    let records = both(|record| {
        let all = record.response.get_mut(&Kind::All).unwrap();
        *all = Distribution::of(&all.times().unwrap(), 10, Span::from_s(1));
    });
    let comparison = compare(&records, &["all.mean>+5%".parse().unwrap()]);
    let row = comparison.figures.iter().find(|row| row.name == "all.mean").unwrap();
    let [was, is] = &row.values[..] else { panic!("{row:?}") };
    assert!(was.value.is_some() && is.value.is_none() && is.ratio.is_none(), "{row:?}");
    assert!(is.at_least > was.value && is.missing.is_some(), "{row:?}");
    assert_eq!(comparison.rules[0].result, RuleOutcome::Missing);
    // Pairs that answered all do not speak for one that did not.
    let [(_, a), (_, b)] = records;
    let pair = |mean| [timed(1e6, 1e3), timed(mean, 1e3)];
    let mut pairs: Vec<_> = (0..6).map(|n| pair(5e5 + f64::from(n))).collect();
    assert_eq!(trial_of("all.mean", &pairs).figures[0].finding, TrialFinding::Better);
    pairs.push([a, b]);
    let figure = trial_of("all.mean", &pairs).figures.remove(0);
    assert_eq!((figure.change, figure.finding), (None, TrialFinding::Undecided), "{figure:?}");
}

#[test]
fn what_memtide_decided_differently_for_the_arms_is_told() {
    let record = |wait: &str, why: bool| {
        let mut record = timed(1e6, 1e3);
        record.plan.wait = wait.to_owned();
        if why {
            record.plan.why.insert("wait".to_owned(), "so".to_owned());
        }
        record
    };
    let unlike =
        |why| trial_of("all.mean", &[[record("hybrid", why), record("sleep", why)]]).unlike;
    assert_eq!(unlike(true).as_deref(), Some("wait hybrid in A and sleep in B"));
    assert_eq!(unlike(false), None, "the user chose it");
}

#[test]
fn groups_without_errors_are_equal_and_a_bound_counts_all_runs() {
    let record = |spoilt: bool, mean| {
        let failed: &[CheckKind] = if spoilt { &[CheckKind::Rate] } else { &[] };
        (String::new(), failing(timed(mean, 1e3), failed))
    };
    let rule = |word: &str| [word.parse::<Rule>().unwrap()];
    let names = [Named::parse("all.mean").unwrap()];
    let groups =
        |bad: bool| [vec![record(false, 1e6); 2], vec![record(false, 1e6), record(bad, 9e6)]];
    let result =
        |bad, word| compare_groups(&groups(bad), 0.05, &names, &rule(word), 0.05).rules.remove(0);
    assert_eq!(result(true, "all.mean>2ms").result, RuleOutcome::Undecided, "one run is over it");
    assert_eq!(result(false, "misses>+1000").result, RuleOutcome::Passed, "there are none");
}

/// Equal set-ups with a run effect of 1 %, whose intervals know nothing of it, are never said to
/// differ by one run each.
#[test]
fn one_run_each_never_establishes_a_difference_of_equal_set_ups() {
    let mut random = memtide_base::rng::Random::new(7);
    let mut mean = || {
        let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        timed(1e6 * (0.01 * normal).exp(), 3e3)
    };
    let rules = ["all.mean>+0%", "all.mean<-0%"].map(|rule| rule.parse().unwrap());
    let (mut apart, mut often) = (0, 0);
    for _ in 0..200 {
        let records = [mean(), mean()].map(|record| (String::new(), record));
        let comparison = compare(&records, &rules);
        let found = comparison.rules.iter().any(|rule| rule.result == RuleOutcome::Failed);
        assert!(!found, "{:?}", comparison.rules);
        if let Some((figure, cases)) = comparison.by_run_effect() {
            apart += 1;
            often += u32::from(cases > 20);
            assert_eq!(figure, "all.mean");
        }
    }
    assert!(often > apart / 2, "it says how often that is chance: {often} of {apart}");
    assert!(apart > 20, "the intervals alone would have called {apart} of 200 different");
}

#[test]
fn groups_are_judged_by_the_scatter_of_their_runs() {
    let group = |means: &[f64]| -> Vec<(String, Record)> {
        means.iter().map(|mean| (format!("{mean}.json"), timed(*mean, 1e3))).collect()
    };
    let names = [Named::parse("all.mean").unwrap()];
    let rules = ["all.mean>+5%", "all.mean>2ms", "rate<-5%"].map(|rule| rule.parse().unwrap());
    let a = [1.00e6, 1.01e6, 0.99e6, 1.005e6];
    let of = |b: &[f64]| compare_groups(&[group(&a), group(b)], 0.05, &names, &rules, 0.05);
    let slower = of(&[1.2e6, 1.21e6, 1.19e6]);
    assert_eq!(slower.figures[0].finding, TrialFinding::Worse);
    let results: Vec<_> = slower.rules.iter().map(|rule| rule.result).collect();
    assert_eq!(results, [RuleOutcome::Failed, RuleOutcome::Passed, RuleOutcome::Passed]);
    assert!(!slower.has_passed(false));
    let same = of(&[1.0e6, 1.008e6, 0.995e6]);
    assert_eq!(same.figures[0].finding, TrialFinding::Equal);
    assert!(same.has_passed(true));
    let unclear = of(&[0.9e6, 1.2e6]);
    assert_eq!(unclear.figures[0].finding, TrialFinding::Undecided);
    assert!(unclear.has_passed(false) && !unclear.has_passed(true));
    assert_eq!(of(&[1.2e6]).rules[0].result, RuleOutcome::Missing, "one run is no group");
}

#[test]
fn the_json_schema_is_the_written_one_and_holds_a_comparison() {
    let rules = ["all.p99>+5%".parse().unwrap()];
    let comparison = compare(&both(|record| record.machine.cpus += 1), &rules);
    let right: serde_json::Value = serde_json::from_str(&comparison.to_json()).unwrap();
    let mut wrong = right.clone();
    wrong["rules"][0]["result"] = json!("perhaps");
    crate::record::tests::expect_schema::<Comparison>("comparison.schema.json", &[right], &wrong);
}
