//! A search as its reader sees it, row by row, and every way in which it can end.

use super::*;
use crate::fixture::expect;
use crate::{StepsMarkdown, StepsPage, fixture};
use memtide_base::choice::RateUnit;
use memtide_record::{CheckKind, GoalResult, Reason, Record};
use memtide_scenario::Scenario;

fn step(number: u32, role: StepRole, asked: Option<f64>, goal: GoalResult) -> Step {
    let record = Record { goals: Vec::new(), ..fixture::open() };
    let achieved_per_s = asked.unwrap_or(98_765.4) * 0.999;
    let goal = Some(goal);
    Step { role, rate_per_s: asked, achieved_per_s, goal, ..fixture::step(number, record) }
}

const ANSWER: Answer = Answer {
    rate_per_s: Some(7e4),
    met: 2,
    missed: 0,
    missed_per_s: Some(71_250.0),
    undecided: None,
};

#[test]
fn the_answer_of_a_search_is_an_interval_or_why_it_is_none() {
    let mut text = StepsText::new(CourseKind::Search, &["all.p95<1ms".to_owned()], None);
    text.step(&step(1, StepRole::Narrow, Some(7e4), GoalResult::Met));
    let hidden = Undecided {
        from_per_s: 7.05e4,
        to_per_s: 7.1e4,
        decidable_ns: Some(6e6),
        pause_ns: Some(4e6),
    };
    let short = Undecided { pause_ns: None, decidable_ns: None, ..hidden };
    let nothing = Answer { rate_per_s: None, missed_per_s: None, ..ANSWER };
    for (answer, said) in [
        (ANSWER, "70 000–71 250/s (95 %) is the highest rate that meets all.p95<1ms"),
        (
            Answer { missed_per_s: None, ..ANSWER },
            "at least 70 000/s meets all.p95<1ms; no higher rate was tested",
        ),
        (
            Answer { undecided: Some(short), ..ANSWER },
            "70 000–71 250/s (95 %) is the highest rate that meets all.p95<1ms; longer steps make \
             it narrower (--duration)",
        ),
        (
            Answer { undecided: Some(hidden), ..nothing },
            "undecided: this machine's pauses of 4.00 ms hide all.p95<1ms; the lowest goal that \
             can be decided here is 6.00 ms",
        ),
        (nothing, "no tested rate meets all.p95<1ms"),
    ] {
        assert_eq!(text.sentence(&answer, true), said);
    }
    let so_far = "so far, the highest rate that meets all.p95<1ms seems to be 70 000–71 250/s";
    assert_eq!(text.sentence(&ANSWER, false), so_far);
    let hog = Step { spoilt: true, ..step(2, StepRole::Narrow, Some(7.08e4), GoalResult::Missed) };
    text.step(&hog);
    let sentence = text.sentence(&Answer { undecided: Some(short), ..ANSWER }, true);
    assert!(sentence.contains("/s (95 %) is") && sentence.contains("no CPU time"), "{sentence}");
    let by_value = StepsText::new(CourseKind::Search, &["errors<1%".to_owned()], None);
    let sentence = by_value.sentence(&ANSWER, true);
    assert!(sentence.starts_with("70 000–71 250/s is the highest rate"), "{sentence}");
}

#[test]
fn a_scan_names_the_rates_of_which_no_step_told() {
    let text = StepsText::new(CourseKind::Scan, &["all.p95<1ms".to_owned()], None);
    let gap = Undecided { from_per_s: 7.05e4, to_per_s: 7.1e4, ..Undecided::default() };
    let answer = Answer { undecided: Some(gap), ..ANSWER };
    for (answer, end) in [
        (answer, "; 71 250/s is too high; undecided at 70 500–71 000/s"),
        (
            Answer { rate_per_s: None, ..answer },
            "surely meets all.p95<1ms; 71 250/s is too high; undecided at 70 500–71 000/s",
        ),
    ] {
        let sentence = text.sentence(&answer, true);
        assert!(sentence.ends_with(end), "{sentence}");
    }
}

#[test]
fn a_search_row_by_row() {
    let mut text = StepsText::new(CourseKind::Search, &["all.p95<10ms".to_owned()], None);
    let mut late = step(3, StepRole::Narrow, Some(71_250.0), GoalResult::Missed);
    late.record = fixture::bad_day();
    // That the servers do not carry its rate, and errors, are what such a step shows.
    late.record.believable.reasons.push(Reason {
        code: CheckKind::WorkerBusy,
        message: "worker 0 was busy 99 % of the time".to_owned(),
        measured: None,
        allowed: None,
    });
    let behind = Step { behind: true, ..step(4, StepRole::Confirm, Some(98e3), GoalResult::Met) };
    let steps = [
        step(1, StepRole::Peak, None, GoalResult::Missed),
        step(2, StepRole::Narrow, Some(7e4), GoalResult::Met),
        late,
        behind,
        step(5, StepRole::Confirm, Some(0.5), GoalResult::Undecided),
    ];
    let mut out: String = steps.iter().map(|step| text.step(step)).collect();
    out += &text.conclusion(&Conclusion { answer: Some(ANSWER), ..Conclusion::default() });
    expect("search.txt", &out);
}

#[test]
fn every_end_has_its_sentence() {
    let goals = ["all.p95<10ms".to_owned(), "errors<1%".to_owned()];
    let mut text = StepsText::new(CourseKind::Scan, &goals, None);
    let end = |ended_by, answer| Conclusion { ended_by, answer, ..Conclusion::default() };
    // Before the first step has ended, a search has an answer without a rate.
    let none = Answer { rate_per_s: None, missed_per_s: None, ..ANSWER };
    for (ended_by, words) in [
        (StepsEnd::Interrupted, "interrupted before the first step ended"),
        (StepsEnd::Aborted, "--abort-on ended the first step"),
        (StepsEnd::Failed, "the first step failed"),
    ] {
        for answer in [None, Some(none)] {
            let early = text.conclusion(&end(ended_by, answer));
            assert_eq!(early, format!("partial: {words}\n"));
        }
    }
    text.step(&step(1, StepRole::Scan, Some(7e4), GoalResult::Met));
    for (ended_by, answer, words) in [
        (StepsEnd::Done, Answer { missed_per_s: None, ..ANSWER }, "no higher rate missed"),
        (StepsEnd::Done, Answer { missed: 1, ..ANSWER }, "in 2 of 3 steps at this rate"),
        (StepsEnd::Done, Answer { rate_per_s: None, ..ANSWER }, "no tested rate"),
        (StepsEnd::StepsMax, ANSWER, "--steps-max"),
        (StepsEnd::Interrupted, ANSWER, "so far"),
        (StepsEnd::Failed, ANSWER, "a step failed"),
        (StepsEnd::Interrupted, none, "no rate was decided"),
    ] {
        let out = text.conclusion(&end(ended_by, Some(answer)));
        assert!(out.contains(words), "{out}");
        assert!(out.contains("all.p95<10ms and errors<1%"), "{out}");
    }
    assert_eq!(text.conclusion(&end(StepsEnd::Done, None)), "", "a scan without goals");
}

#[test]
fn lost_agents_are_named_and_the_answer_says_whose_it_is() {
    let mut text = StepsText::new(CourseKind::Scan, &["all.p95<10ms".to_owned()], None);
    text.step(&step(1, StepRole::Scan, Some(7e4), GoalResult::Met));
    let lost = |step, name: &str, left| LostAgent {
        step,
        agent: name.to_owned(),
        why: "it has been silent for 10 s".to_owned(),
        left,
        of: 4,
    };
    let lost = vec![lost(4, "a1", 2), lost(4, "a2", 2), lost(9, "a3", 1)];
    let end = Conclusion { answer: Some(ANSWER), lost, ..Conclusion::default() };
    let sentences = text.sentences(&end);
    assert_eq!(sentences[0].0, "lost");
    assert_eq!(
        sentences[2].1,
        "agent a3 was lost in step 9: it has been silent for 10 s; 1 of 4 agents went on"
    );
    let (_, result) = sentences.last().unwrap();
    let ending = "; of 2 of 4 agents from step 4 on; of 1 of 4 agents from step 9 on";
    assert!(result.ends_with(ending), "{result}");
}

#[test]
fn progress_says_which_step_it_is() {
    let progress = Progress {
        phase: memtide_record::Phase::Measure,
        elapsed_s: 3.2,
        length_s: Some(10.0),
        done: 64_000,
        rate_per_s: Some(20_012.0),
        response_p99_ns: Some(412_000),
        ..Progress::default()
    };
    let begun = StepBegun {
        number: 7,
        rate: Some(Rate::new(2e4, RateUnit::Operations)),
        role: StepRole::Narrow,
    };
    let line = step_progress_line(&begun, &progress);
    assert_eq!(line, "step 7 20 000/s  measure 3.2 of 10 s  20 012/s  p99 412 µs");
    let peak = StepBegun { rate: None, ..begun };
    assert!(step_progress_line(&peak, &progress).starts_with("step 7 peak  measure"));
}

#[test]
fn the_same_steps_follow_from_the_command_and_a_scenario_without_rate() {
    let mut step = step(1, StepRole::Narrow, Some(7e4), GoalResult::Met);
    step.record.scenario = Scenario { rate: Some(7e4), ..Scenario::default() }.words();
    let command = "memtide search scenario.toml --rate-max 8k";
    let conclusion = Conclusion { command: command.to_owned(), ..Conclusion::default() };
    let mut markdown = StepsMarkdown::new(CourseKind::Search, &[]);
    markdown.step(&step);
    let mut page = StepsPage::new(CourseKind::Search, &[]);
    page.step(&step);
    for text in [markdown.text(&conclusion), page.text(&conclusion)] {
        assert!(text.contains(command) && text.contains("\nseed ="), "{text}");
        assert!(!text.contains("\nrate =") && !text.contains("memtide run"), "{text}");
    }
}

/// A scan with `--rate-unit keys` showed its rates as if they were operations.
#[test]
fn rates_in_keys_say_so() {
    let mut step = step(1, StepRole::Scan, Some(3e3), GoalResult::Met);
    step.record.plan.rate_unit = Some("keys".to_owned());
    let mut text = StepsText::new(CourseKind::Scan, &["all.p95<10ms".to_owned()], None);
    assert!(text.step(&step).contains(" 3 000 keys/s"));
    let answer = Answer { rate_per_s: Some(3e3), missed_per_s: None, ..ANSWER };
    let end = text.conclusion(&Conclusion { answer: Some(answer), ..Conclusion::default() });
    assert!(end.contains("result: 3 000 keys/s meets"), "{end}");
    let mut junit = crate::StepsJunit::new(CourseKind::Scan, &[]);
    junit.step(&step);
    assert!(junit.text(&Conclusion::default()).contains("step 1 at 3000 keys/s"));
    let mut markdown = StepsMarkdown::new(CourseKind::Scan, &[]);
    markdown.step(&step);
    let mut page = StepsPage::new(CourseKind::Scan, &[]);
    page.step(&step);
    for text in [markdown.text(&Conclusion::default()), page.text(&Conclusion::default())] {
        assert!(text.contains("3 000 keys/s") && !text.contains("3 000/s"), "{text}");
    }
}
