//! Searches and scans: a scenario carried out repeatedly at different rates, each time as a whole
//! run with its own record.
//!
//! The next rate is a pure function of the measurements: a [`Course`]. Each step opens its own
//! connections, as every plan does; data are kept unless the settings say otherwise.

mod scan;
mod search;
mod aim;
mod course;
mod runner;

use aim::Reach;
pub use aim::{Aim, Measured, Time};
pub use course::{Course, Decision, StepResult, Trial};
pub use runner::{FleetRunner, RestedStep, RunTask, Runner};
pub use scan::{Rates, Scan};
pub use search::{Bisect, Bracket, LONGER_MAX, Limits};

use crate::controller::RunOutcome;
use crate::failure::{Failure, Fault};
use crate::lower::{Lowered, Surroundings, document, lower_step};
use crate::observer::Observer;
use memtide_base::{Rate, Span};
use memtide_belief::Confidence;
use memtide_record::steps::{Conclusion, LostAgent, Step, StepRole, StepsEnd};
use memtide_record::{CheckKind, CheckResult, EndedBy, Event, Exit, Record, StepBegun};
use memtide_scenario::{Problem, Scenario};
use memtide_world::plan::StepTask;

/// Factor by which the rest after a step exceeds the time that servers need for its remaining
/// operations.
const REST_SPARE: f64 = 1.25;
/// Longest rest.
const REST_MAX: Span = Span::from_s(10);

/// Settings that all steps have in common.
#[derive(Clone, Debug)]
pub struct StepsPlan<'a> {
    /// The scenario of each step, but for its rate.
    pub scenario: &'a Scenario,
    /// The criterion by which each step is judged.
    pub aim: Aim,
    /// State of the servers' data before each later step.
    pub data: Data,
    /// Largest number of steps; `None` leaves it to the course.
    pub steps_max: Option<u32>,
    /// True if a step's rate is that of the whole load, including the master's own load beside its
    /// agents.
    pub counts_own: bool,
    /// The command that carries the same steps out again; see [`Conclusion::command`].
    pub command: String,
}

/// State of the data on the servers before a step that is not the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// As the step before left them.
    Kept,
    /// As the scenario says: they are checked and filled as before the first step.
    Anew,
}

impl StepsPlan<'_> {
    /// The plan of the first step that `course` chooses. Fails if the scenario is impossible.
    pub fn first(
        &self,
        course: &mut dyn Course,
        around: &Surroundings,
    ) -> Result<Lowered, Problem> {
        let none = Rate::new(0.0, self.scenario.rate_unit);
        let trial = match course.first() {
            Decision::Try(trial) => trial,
            Decision::Over => Trial { rate: none, role: StepRole::Scan, longer: 1 },
        };
        lower_step(self.scenario, Some(step_task(self, 1, trial)), around)
    }

    /// The scenario for another machine that makes the load of the steps; `first` is the plan of
    /// the first step. What follows from a step's rate is left open: the other machine decides it
    /// for each step, as this one does.
    pub fn document(&self, first: &Lowered) -> Scenario {
        document(self.scenario, first.document.threads)
    }
}

/// Result of a search or a scan.
#[derive(Clone, Debug, PartialEq)]
pub struct StepsOutcome {
    /// The conclusion, with the failure in memtide's own words.
    pub conclusion: Conclusion,
    /// Reason why it could not continue, for a front end with its own words.
    pub failure: Option<Failure>,
}

/// Lets `runner` carry out steps until `course` or the user ends them, or a step fails. Each result
/// is passed to `observer` when its step ends. A step that was interrupted or lost its servers says
/// nothing about its rate, and does not count as a step. A step from which agents are missing is
/// judged by what was asked of the others.
pub fn steps(
    runner: &mut impl Runner,
    plan: &StepsPlan<'_>,
    course: &mut dyn Course,
    observer: &mut impl Observer,
) -> StepsOutcome {
    let mut number = 0;
    let mut values_wrong = false;
    let mut lost = Vec::new();
    let mut rest = Span::ZERO;
    let mut looks = Looks::default();
    let mut server_lost = None;
    let mut decision = course.first();
    let concluded = loop {
        let trial = match decision {
            Decision::Over => break over(course, server_lost),
            Decision::Try(_) if plan.steps_max.is_some_and(|max| number >= max) => {
                break concluded(course, StepsEnd::StepsMax, None);
            }
            Decision::Try(_) if observer.has_gone() => {
                break concluded(course, StepsEnd::Done, None);
            }
            Decision::Try(trial) => trial,
        };
        number += 1;
        assert!(plan.steps_max.is_none_or(|max| number <= max), "steps are counted");
        let bracket = course.bracket();
        let begun = begun(number, trial);
        observer.on(&Event::StepBegun(begun));
        let step = RestedStep { task: step_task(plan, number, trial), rest };
        let ran = runner.carry_out(RunTask::Step(step), observer);
        note_lost(&mut lost, runner.lost(), number);
        let record = match ran {
            Ok(RunOutcome { failure: Some(failure), .. }) | Err(failure) => {
                break match failure.exit {
                    Failure::INTERRUPTED => concluded(course, StepsEnd::Interrupted, None),
                    _ => concluded(course, StepsEnd::Failed, Some(failure)),
                };
            }
            Ok(RunOutcome { record, .. }) if record.ended_by == EndedBy::Interrupted => {
                break concluded(course, StepsEnd::Interrupted, None);
            }
            Ok(RunOutcome { record: Record { aborted: Some(aborted), .. }, .. }) => {
                let fault = Fault::Aborted { step: number, aborted };
                break concluded(course, StepsEnd::Aborted, Some(fault.into()));
            }
            Ok(RunOutcome { record, .. }) => record,
        };
        values_wrong |= record.phases.verification().wrong() > 0;
        server_lost = record.lost_servers().next().map(str::to_owned);
        rest = rest_after(&record);
        assert!(rest <= REST_MAX, "a rest is bounded");
        let result = result(trial, looks.confidence(trial), plan, &record);
        let figure_ns = plan.aim.figure_ns(&record);
        let step = Step { figure_ns, ..step_of(begun, &result, bracket, record) };
        observer.on(&Event::StepDone(Box::new(step)));
        decision = course.next(&result);
    };
    let StepsOutcome { conclusion, failure } = concluded;
    let exit = exit(conclusion.exit, values_wrong, &lost);
    let command = plan.command.clone();
    let conclusion = Conclusion { exit, lost, command, ..conclusion };
    observer.on(&Event::StepsDone(conclusion.clone()));
    StepsOutcome { conclusion, failure }
}

/// How often a search looked at each rate. With each look a wrong decision becomes less likely, so
/// that all looks at a rate together are wrong as rarely as one run.
#[derive(Default)]
struct Looks(Vec<(Rate, u32)>);

impl Looks {
    /// The confidence with which a step is judged. The steps of a scan are runs of their own.
    fn confidence(&mut self, trial: Trial) -> Confidence {
        if trial.role == StepRole::Scan {
            return Confidence::P95;
        }
        let Self(all) = self;
        match all.iter_mut().find(|(rate, _)| *rate == trial.rate) {
            Some((_, looks)) => {
                *looks += 1;
                Confidence::after(*looks)
            }
            None => {
                all.push((trial.rate, 0));
                Confidence::after(0)
            }
        }
    }
}

/// Adds to `known` the agents that are lost since step `step`.
fn note_lost(known: &mut Vec<LostAgent>, lost: Vec<LostAgent>, step: u32) {
    for agent in lost {
        if known.iter().all(|known| known.agent != agent.agent) {
            known.push(LostAgent { step, ..agent });
        }
    }
}

/// A step at the rate of `trial`.
fn begun(number: u32, Trial { rate, role, .. }: Trial) -> StepBegun {
    StepBegun { number, rate: Some(rate).filter(|rate| rate.per_s > 0.0), role }
}

/// A step whose rate was chosen within this bracket.
fn step_of(
    StepBegun { number, rate, role }: StepBegun,
    &StepResult { achieved, behind, spoilt, goal, .. }: &StepResult,
    [low, high]: [Option<Rate>; 2],
    record: Record,
) -> Step {
    let [rate_per_s, low_per_s, high_per_s] =
        [rate, low, high].map(|rate| rate.map(|rate| rate.per_s));
    Step {
        number,
        role,
        rate_per_s,
        achieved_per_s: achieved.per_s,
        behind,
        spoilt,
        goal,
        figure_ns: None,
        low_per_s,
        high_per_s,
        record,
    }
}

/// Exit code of a search or scan that would end with `exit` if no value was wrong and no agent was
/// lost.
fn exit(exit: u8, values_wrong: bool, lost: &[LostAgent]) -> u8 {
    match exit {
        0 if values_wrong => Exit::Failed.code(),
        0 if !lost.is_empty() => Exit::Unreachable.code(),
        exit => exit,
    }
}

/// Time that the servers need to finish what a step requested and no longer waits for, so that the
/// next step is not affected: computed from the rate at which they answered, and a little more.
fn rest_after(record: &Record) -> Span {
    let left = record.totals.abandoned as f64;
    // The achieved rate counts sent operations, and the first of these may still wait in the
    // servers.
    match record.rate.achieved_per_s.min(served_per_s(record)) {
        per_s if per_s > 0.0 => Span::from_s_f64(REST_SPARE * left / per_s).min(REST_MAX),
        _ => Span::ZERO,
    }
}

/// The data about step `number` that its plans need.
fn step_task(plan: &StepsPlan<'_>, number: u32, Trial { rate, longer, .. }: Trial) -> StepTask {
    let rate_per_s = Some(rate.per_s).filter(|per_s| *per_s > 0.0);
    StepTask { number, rate_per_s, longer, keeps_data: plan.data == Data::Kept }
}

/// Largest fraction by which sent operations may fall short of the target, unless chance explains
/// more.
const SHORT_MAX: f64 = 0.05;

/// The result of a step's record for a course.
fn result(
    trial: Trial,
    confidence: Confidence,
    plan: &StepsPlan<'_>,
    record: &Record,
) -> StepResult {
    let rate = trial.rate;
    let own = record.own.as_deref().filter(|_| plan.counts_own);
    let achieved =
        own.map_or(achieved(record, rate), |own| achieved(record, rate) + achieved(own, rate));
    let asked = asked(rate, own.and_then(Record::target).unwrap_or(rate * 0.0), record);
    let expected = (asked.per_s * record.measured_s).max(1.0);
    // Gaps without a variance explain every shortfall; a server that cannot keep up must show.
    let variation = Some(plan.scenario.arrival.squared_variation()).filter(|it| it.is_finite());
    let four_sigma = 4.0 * (variation.unwrap_or(1.0) / expected).sqrt();
    // A window that operations end has one gap less than operations.
    let by_chance = four_sigma.max(1.0 / expected);
    let behind = achieved < asked * (1.0 - SHORT_MAX.max(by_chance));
    let goals = &plan.scenario.goals;
    let goal = plan.aim.judge(goals, record, confidence);
    let Reach { off, high_ns, pause_ns, longer: longer_by } =
        plan.aim.reach(goals, record, confidence);
    let spoilt = behind && was_busy(record);
    let longer = trial.longer;
    StepResult { rate, achieved, goal, behind, spoilt, longer, off, high_ns, pause_ns, longer_by }
}

/// The rate that a step at `rate` achieved; without a rate, that of the answers.
fn achieved(record: &Record, rate: Rate) -> Rate {
    match rate.per_s > 0.0 {
        true => record.achieved(),
        false => record.in_schedule_unit(served_per_s(record)),
    }
}

/// True if a worker of memtide had no CPU time left, or waited for it: what was not sent then says
/// nothing about the servers.
fn was_busy(record: &Record) -> bool {
    let mut checks = record.believable.checks.iter();
    checks.any(|it| it.code == CheckKind::WorkerBusy && it.result == CheckResult::Failed)
}

/// The part of a step's `rate` that was asked of those whose figures are in its record. `own` is
/// the rate of the master's own load in it; the agents have equal parts of the rest, and do not
/// take over the part of one that was lost.
fn asked(rate: Rate, own: Rate, record: &Record) -> Rate {
    let Some(missing) = &record.missing else { return rate };
    let gone: u32 = missing.lanes.iter().map(|[first, last]| last - first + 1).sum();
    let there = 1.0 - f64::from(gone) / f64::from(missing.lanes_total.max(1));
    own + if rate > own { (rate - own) * there } else { rate * 0.0 }
}

/// Rate of a closed loop's answers, per second until the last one. The rate of sending does not
/// measure the servers: a deep loop fills their queues faster than they empty them.
fn served_per_s(record: &Record) -> f64 {
    let until_s = record.answered_until_s.unwrap_or(record.measured_s);
    if until_s > 0.0 { record.totals.answered as f64 / until_s } else { 0.0 }
}

/// The conclusion of a course that needs no further step. `server_lost` is a server that was gone
/// at the end of the last step; one that is gone after an earlier step fails the next.
fn over(course: &dyn Course, server_lost: Option<String>) -> StepsOutcome {
    match server_lost {
        None => concluded(course, StepsEnd::Done, None),
        Some(server) => {
            let fault = Fault::ServerLost { server };
            concluded(course, StepsEnd::Failed, Some(fault.into()))
        }
    }
}

fn concluded(course: &dyn Course, ended_by: StepsEnd, failure: Option<Failure>) -> StepsOutcome {
    let answer = course.answer();
    let found = answer.is_none_or(|answer| answer.rate_per_s.is_some());
    let exit = match (&failure, ended_by) {
        (Some(failure), _) => failure.exit,
        (None, StepsEnd::Interrupted) => Failure::INTERRUPTED,
        (None, _) => u8::from(!found),
    };
    let message = failure.as_ref().map(Failure::message);
    let conclusion =
        Conclusion { exit, ended_by, failure: message, answer, ..Conclusion::default() };
    StepsOutcome { conclusion, failure }
}

#[cfg(test)]
mod tests;
