//! A result as a JUnit file for continuous integration: a test case for each goal, for the verdict,
//! and for each class of operations without a good answer.
//!
//! Nothing is judged here: a case fails if the record says so and the exit code does. Without
//! `--strict` a verdict changes no exit code, so its cases are skipped with their reason.

use crate::counts::{OutcomeCount, errors};
use crate::figure::run_figures;
use crate::judgement::{believable, goal_word};
use crate::number::{percent, whole};
use crate::plan::is_simulated;
use crate::text::{StepsRows, what};
use memtide_base::Rate;
use memtide_record::steps::{Conclusion, CourseKind, Step, StepsEnd};
use memtide_record::{CheckKind, CheckResult, GoalResult, Record};
use quick_xml::events::{BytesDecl, BytesText, Event};
use quick_xml::writer::{ElementWriter, Writer};
use std::{io, mem};

/// The class of cases about goals.
const GOAL: &str = "memtide.goal";

/// The record of a run as a JUnit file with a suite for each load.
pub fn junit(record: &Record) -> String {
    file(&suites(|of| format!("memtide: {}", what(of)), record))
}

/// A search or scan as a JUnit file with a suite for each step, and one for its conclusion.
#[derive(Clone, Debug)]
pub struct StepsJunit {
    kind: CourseKind,
    suites: Vec<Suite>,
    /// The steps as rows, for the sentences of the conclusion.
    rows: StepsRows,
    is_simulated: bool,
    is_strict: bool,
    /// True if a step of a scan is in doubt, which then has no answer that could be.
    is_doubted: bool,
    /// True if a value was wrong in a step.
    has_wrong: bool,
}

impl StepsJunit {
    /// An empty file for steps of `kind` that are judged by these goals.
    pub fn new(kind: CourseKind, goals: &[String]) -> Self {
        let rows = StepsRows::new(kind, goals);
        let (is_simulated, is_strict, is_doubted, has_wrong) = (false, false, false, false);
        Self { kind, suites: Vec::new(), rows, is_simulated, is_strict, is_doubted, has_wrong }
    }

    /// Adds a step. A search goes beyond the rates that meet its goals to find their limit, so a
    /// missed goal fails no case there.
    pub fn step(&mut self, step: &Step) {
        let Rate { per_s, unit } = step.rate();
        self.is_simulated = is_simulated(&step.record);
        self.is_strict = step.record.is_strict();
        self.is_doubted |= self.kind == CourseKind::Scan && step.doubt().is_some();
        self.has_wrong |= step.record.phases.verification().wrong() > 0;
        self.rows.step(step);
        let (word, number) = (self.word(), step.number);
        let name = format!("memtide: {word}step {number} at {per_s:.0}{}", unit.per_s());
        let mut suites = suites(|_| name.clone(), &step.record);
        if self.kind == CourseKind::Search {
            for case in suites.iter_mut().flat_map(|suite| &mut suite.cases) {
                if let Fate::Failed(kind, why) = &case.fate {
                    case.fate = Fate::Skipped(format!("{kind}: {why}"));
                }
            }
        }
        self.suites.append(&mut suites);
    }

    /// A word before the names of suites, if the steps ran in virtual time.
    const fn word(&self) -> &'static str {
        if self.is_simulated { "simulated " } else { "" }
    }

    /// The whole file.
    pub fn text(&self, conclusion: &Conclusion) -> String {
        let name = self.kind.name();
        let fate = self.fate(conclusion);
        let case = Case { class: "memtide.conclusion", name: name.to_owned(), fate };
        let name = format!("memtide: {}{name}", self.word());
        let last = Suite { name, seconds: 0.0, figures: Vec::new(), cases: vec![case] };
        let suites: Vec<Suite> = self.suites.iter().cloned().chain([last]).collect();
        file(&suites)
    }

    /// The fate of the conclusion, in the words of the text: a failure if the exit code is one.
    fn fate(&self, conclusion: &Conclusion) -> Fate {
        let sentences = self.rows.sentences(conclusion);
        let answer = conclusion.answer.unwrap_or_default();
        let has_none = conclusion.answer.is_some() && answer.rate_per_s.is_none();
        let [partial, doubt, lost, result] =
            ["partial", "doubt", "lost", "result"].map(|label| labelled(&sentences, label));
        match (&conclusion.failure, conclusion.exit) {
            (Some(why), _) => Fate::Failed("failed", why.clone()),
            (None, 0) if self.is_strict && !doubt.is_empty() => {
                Fate::Failed("not believable", doubt)
            }
            (None, 0) if self.is_strict && self.is_doubted => {
                Fate::Failed("not believable", "a step is not believable".to_owned())
            }
            (None, 0) if !partial.is_empty() => Fate::Skipped(format!("partial: {partial}")),
            (None, 0) => Fate::Passed,
            (None, _) if conclusion.ended_by == StepsEnd::Interrupted => {
                Fate::Failed("partial", partial)
            }
            (None, _) if has_none && answer.undecided.is_some() => {
                Fate::Failed("undecided", result)
            }
            (None, _) if has_none => Fate::Failed("missed", result),
            (None, _) if !conclusion.lost.is_empty() => Fate::Failed("lost", lost),
            (None, _) if self.has_wrong => {
                Fate::Failed("wrong values", "a value was wrong".to_owned())
            }
            (None, _) => Fate::Failed("output", "an output could not be written".to_owned()),
        }
    }
}

/// The sentences with this label as one.
fn labelled(sentences: &[(&str, String)], label: &str) -> String {
    let of_label = sentences.iter().filter(|(of, _)| *of == label);
    of_label.map(|(_, sentence)| sentence.as_str()).collect::<Vec<_>>().join("; ")
}

/// The cases of one run.
#[derive(Clone, Debug)]
struct Suite {
    name: String,
    seconds: f64,
    /// The run's figures by name, exactly.
    figures: Vec<(&'static str, String)>,
    cases: Vec<Case>,
}

#[derive(Clone, Debug)]
struct Case {
    class: &'static str,
    name: String,
    fate: Fate,
}

/// Result of a case; a failure has its type as a word.
#[derive(Clone, Debug)]
enum Fate {
    Passed,
    Skipped(String),
    Failed(&'static str, String),
}

/// The suite of a run; of the agents' load and of the master's own if there are both, of which the
/// second has the goals.
fn suites(name: impl Fn(&Record) -> String, record: &Record) -> Vec<Suite> {
    let Some(own) = &record.own else { return vec![suite(&name(record), record)] };
    let mut agents = suite(&format!("{}, the agents' load", name(record)), record);
    agents.cases.retain(|case| case.class != GOAL);
    vec![agents, suite(&format!("{}, the master's own load", name(own)), own)]
}

fn suite(name: &str, record: &Record) -> Suite {
    let mut cases = Vec::new();
    for goal in &record.goals {
        let fate = match goal.result {
            GoalResult::Met => Fate::Passed,
            result => Fate::Failed(goal_word(result), goal.why.clone()),
        };
        cases.push(Case { class: GOAL, name: goal.goal.clone(), fate });
    }
    let fate = match record.stands() {
        true => Fate::Passed,
        false => bad(record, "not believable", believable(record)),
    };
    cases.push(Case { class: "memtide.verdict", name: "believable".to_owned(), fate });
    cases.extend(error_cases(record));
    let figures = run_figures(record).into_iter();
    let figures = figures.filter_map(|(of, figure)| Some((of.name, figure.value?))).collect();
    Suite { name: name.to_owned(), seconds: record.measured_s, figures, cases }
}

/// The fate of a case that speaks against the figures: a failure if the run is strict.
fn bad(record: &Record, kind: &'static str, why: String) -> Fate {
    match record.is_strict() {
        true => Fate::Failed(kind, why),
        false => Fate::Skipped(format!("{kind}: {why}")),
    }
}

/// A case for each class of errors. Errors that the run allows (`--errors-max`) are reported and
/// fail no case.
fn error_cases(record: &Record) -> Vec<Case> {
    let too_many = record.believable.checks.iter().any(|check| {
        matches!(check.code, CheckKind::Errors | CheckKind::Answered)
            && check.result == CheckResult::Failed
    });
    let classes = errors(&record.totals).map(|of| error_case(record, of, too_many));
    let mut cases: Vec<Case> = classes.collect();
    let wrong = record.phases.verification().wrong();
    cases.push(Case {
        class: "memtide.errors",
        name: "wrong_values".to_owned(),
        fate: match wrong {
            0 => Fate::Passed,
            _ => Fate::Failed("wrong values", format!("{} wrong values", whole(wrong))),
        },
    });
    cases
}

/// The case of errors of one class; `too_many` is true if all errors are more than the run allows.
fn error_case(record: &Record, of: OutcomeCount, too_many: bool) -> Case {
    let share = percent(of.count as f64 / record.totals.intended.max(1) as f64);
    let told = format!("{} operations, {share}", whole(of.count));
    let fate = match of.count {
        0 => Fate::Passed,
        _ if too_many => bad(record, "errors", told),
        _ => Fate::Skipped(format!("{told}, within --errors-max")),
    };
    Case { class: "memtide.errors", name: of.name.to_owned(), fate }
}

fn file(suites: &[Suite]) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    write(&mut writer, suites).expect("writing to memory succeeds");
    let text = String::from_utf8(writer.into_inner()).expect("names and sentences are text");
    text + "\n"
}

fn write(writer: &mut Writer<Vec<u8>>, suites: &[Suite]) -> io::Result<()> {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let root = counts(writer.create_element("testsuites"), "memtide", suites);
    root.write_inner_content(|writer| {
        suites.iter().try_for_each(|suite| write_suite(writer, suite))
    })?;
    Ok(())
}

fn write_suite(writer: &mut Writer<Vec<u8>>, suite: &Suite) -> io::Result<()> {
    let element = writer.create_element("testsuite");
    let element = counts(element, &suite.name, std::slice::from_ref(suite));
    element.write_inner_content(|writer| {
        if !suite.figures.is_empty() {
            writer.create_element("properties").write_inner_content(|writer| {
                suite.figures.iter().try_for_each(|(name, value)| {
                    let property = writer.create_element("property");
                    let property = property.with_attribute(("name", *name));
                    property.with_attribute(("value", &**value)).write_empty()?;
                    Ok(())
                })
            })?;
        }
        // The cases are all of one run: their times add up to its length.
        let mut seconds = suite.seconds;
        let mut cases = suite.cases.iter();
        cases.try_for_each(|case| write_case(writer, case, mem::take(&mut seconds)))
    })?;
    Ok(())
}

/// Adds the attributes that the root and each suite have in common.
fn counts<'a>(
    element: ElementWriter<'a, Vec<u8>>,
    name: &str,
    suites: &[Suite],
) -> ElementWriter<'a, Vec<u8>> {
    let seconds: f64 = suites.iter().map(|suite| suite.seconds).sum();
    let fates: Vec<&Fate> =
        suites.iter().flat_map(|suite| &suite.cases).map(|it| &it.fate).collect();
    let failures = fates.iter().filter(|fate| matches!(fate, Fate::Failed(..))).count();
    let skipped = fates.iter().filter(|fate| matches!(fate, Fate::Skipped(_))).count();
    element
        .with_attribute(("name", &*printable(name)))
        .with_attribute(("tests", &*fates.len().to_string()))
        .with_attribute(("failures", &*failures.to_string()))
        .with_attribute(("errors", "0"))
        .with_attribute(("skipped", &*skipped.to_string()))
        .with_attribute(("time", &*format!("{seconds:.3}")))
}

fn write_case(writer: &mut Writer<Vec<u8>>, case: &Case, seconds: f64) -> io::Result<()> {
    let element = writer.create_element("testcase").with_attribute(("classname", case.class));
    let element = element.with_attribute(("name", &*printable(&case.name)));
    let element = element.with_attribute(("time", &*format!("{seconds:.3}")));
    match &case.fate {
        Fate::Passed => element.write_empty()?,
        Fate::Skipped(why) => element.write_inner_content(|writer| {
            let skipped = writer.create_element("skipped");
            skipped.with_attribute(("message", &*printable(why))).write_empty()?;
            Ok(())
        })?,
        Fate::Failed(kind, why) => element.write_inner_content(|writer| {
            let why = printable(why);
            let failure = writer.create_element("failure").with_attribute(("type", *kind));
            let failure = failure.with_attribute(("message", &*why));
            failure.write_text_content(BytesText::new(&why))?;
            Ok(())
        })?,
    };
    Ok(())
}

/// Removes characters that XML cannot contain even if escaped.
fn printable(text: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        '\u{fffe}' | '\u{ffff}' => ' ',
        _ if letter.is_control() => ' ',
        _ => letter,
    });
    letters.collect()
}

#[cfg(test)]
mod tests;
