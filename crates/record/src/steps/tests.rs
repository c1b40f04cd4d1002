//! The JSON format of steps: names, writing and reading back, its JSON Schema and its page.

use super::*;
use crate::pages::expect_explained;
use crate::record::tests::expect_schema;
use serde_json::{Value, json};

fn sample() -> Steps {
    let record = crate::record::tests::sample();
    let step = Step {
        number: 1,
        role: StepRole::Peak,
        rate_per_s: None,
        achieved_per_s: 1e5,
        behind: false,
        spoilt: false,
        goal: Some(GoalResult::Missed),
        figure_ns: None,
        low_per_s: None,
        high_per_s: None,
        record,
    };
    let confirm =
        Step { number: 2, role: StepRole::Confirm, rate_per_s: Some(7e4), ..step.clone() };
    let answer = Answer {
        rate_per_s: Some(7e4),
        met: 2,
        missed: 0,
        missed_per_s: Some(7.1e4),
        undecided: Some(Undecided::default()),
    };
    Steps {
        schema: StepsName::V1,
        course: CourseKind::Search,
        goals: vec!["all.p95<10ms".to_owned()],
        steps: vec![step, confirm],
        conclusion: Conclusion { answer: Some(answer), ..Conclusion::default() },
    }
}

#[test]
fn what_is_written_piece_by_piece_is_the_whole() {
    let steps = sample();
    let lines: Vec<String> = steps.steps.iter().map(Step::to_json).collect();
    let text = format!(
        "{}\n{}\n],\n\"conclusion\":{}}}\n",
        Steps::json_head(steps.course, &steps.goals),
        lines.join(",\n"),
        steps.conclusion.to_json()
    );
    assert_eq!(Steps::from_json(&text), Ok(steps.clone()));
    let keys = |text: &str| {
        let value: Value = serde_json::from_str(text).unwrap();
        value.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(&text), keys(&serde_json::to_string(&steps).unwrap()));
    let refused = Steps::from_json(&text.replace("steps/1", "steps/2")).unwrap_err();
    assert!(refused.contains("memtide.steps/2"), "{refused}");
}

#[test]
fn a_point_has_the_figures_of_the_record() {
    let steps = sample();
    let point = steps.steps[0].point();
    let response = &steps.steps[0].record.response[&Kind::All];
    assert_eq!(point.response_p50_ns, response.p50_ns);
    assert_eq!((point.lag_p99_ns, point.believable), (None, false));
}

#[test]
fn what_servers_fail_to_do_beyond_the_answer_casts_no_doubt_on_it() {
    let failed = |code| crate::record::Check {
        code,
        result: crate::record::CheckResult::Failed,
        message: "it failed".to_owned(),
        measured: None,
        allowed: None,
    };
    let step = |goal, behind, codes: &[CheckKind]| {
        let mut step = Step { goal, behind, ..sample().steps[0].clone() };
        let checks = codes.iter().map(|&code| failed(code)).collect();
        step.record.believable = crate::record::Believable::from_checks(checks);
        step.doubt().map(|reason| reason.code)
    };
    let (errors, busy) = (CheckKind::Errors, CheckKind::WorkerBusy);
    assert_eq!(step(Some(GoalResult::Met), false, &[errors]), Some(errors));
    assert_eq!(step(None, false, &[errors]), Some(errors));
    assert_eq!(step(Some(GoalResult::Missed), false, &[errors]), None);
    assert_eq!(step(Some(GoalResult::Met), true, &[errors]), None);
    assert_eq!(step(Some(GoalResult::Missed), false, &[errors, busy]), Some(busy));
    assert_eq!(step(Some(GoalResult::Met), false, &[]), None);
    // A rate that the servers do not carry is a miss, and so is silence.
    let (rate, silent) = (CheckKind::Rate, CheckKind::Answered);
    assert_eq!(step(Some(GoalResult::Met), true, &[rate]), None);
    assert_eq!(step(Some(GoalResult::Missed), true, &[rate, busy]), Some(busy));
    assert_eq!(step(Some(GoalResult::Met), false, &[rate]), Some(rate));
    assert_eq!(step(Some(GoalResult::Missed), false, &[silent]), None);
    assert_eq!(step(Some(GoalResult::Met), false, &[silent]), Some(silent));
}

#[test]
fn the_json_schema_is_the_written_one_and_holds_a_search() {
    let mut wrong = json!(sample());
    wrong["steps"][0]["role"] = json!("leading");
    expect_schema::<Steps>("steps.schema.json", &[json!(sample())], &wrong);
}

#[test]
fn the_page_explains_every_part() {
    let value = json!(sample());
    let (step, end) = (&value["steps"][0], &value["conclusion"]);
    expect_explained("search.md", &[&value, step, end, &end["answer"]]);
}
