//! A result as a JUnit file for continuous integration: a test case for each goal, for the verdict,
//! and for each class of operations without a good answer.
//!
//! Nothing is judged here: a case fails if the record says so and the exit code does. Without
//! `--strict` a verdict changes no exit code, so its cases are skipped with their reason.

use crate::counts::errors;
use crate::figure::run_figures;
use crate::judgement::{believable, goal_word};
use crate::number::{percent, whole};
use crate::text::what;
use memtide_record::steps::{Conclusion, CourseKind, LostAgent, Step, StepsEnd};
use memtide_record::{CheckKind, CheckResult, GoalResult, Record, Verdict};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use std::io;

/// The record of a run as a JUnit file with one suite.
pub fn junit(record: &Record) -> String {
    let name = format!("memtide: {}", what(record));
    file(&[suite(&name, record)])
}

/// A search or scan as a JUnit file with a suite for each step, and one for its conclusion.
#[derive(Clone, Debug)]
pub struct StepsJunit {
    kind: CourseKind,
    suites: Vec<Suite>,
}

impl StepsJunit {
    /// An empty file for steps of `kind`.
    pub const fn new(kind: CourseKind) -> Self {
        Self { kind, suites: Vec::new() }
    }

    /// Adds a step. A search goes beyond the rates that meet its goals to find their limit, so a
    /// missed goal fails no case there.
    pub fn step(&mut self, step: &Step) {
        let rate = step.rate_per_s.unwrap_or(step.achieved_per_s);
        let mut suite =
            suite(&format!("memtide: step {} at {rate:.0}/s", step.number), &step.record);
        if self.kind == CourseKind::Search {
            for case in &mut suite.cases {
                if let Fate::Failed(kind, why) = &case.fate {
                    case.fate = Fate::Skipped(format!("{kind}: {why}"));
                }
            }
        }
        self.suites.push(suite);
    }

    /// The whole file.
    pub fn text(&self, conclusion: &Conclusion) -> String {
        let answer = conclusion.answer.as_ref();
        let fate = match (&conclusion.failure, conclusion.ended_by, answer) {
            (Some(why), _, _) => Fate::Failed("failed", why.clone()),
            (None, StepsEnd::Done, Some(answer)) if answer.rate_per_s.is_none() => {
                Fate::Failed("missed", "no tested rate meets the goals".to_owned())
            }
            (None, StepsEnd::Done, _) if !conclusion.lost.is_empty() => {
                let sentences = conclusion.lost.iter().map(LostAgent::sentence);
                Fate::Failed("lost", sentences.collect::<Vec<_>>().join("; "))
            }
            (None, StepsEnd::Done, _) => Fate::Passed,
            (None, _, _) => Fate::Failed("partial", "the search or scan ended early".to_owned()),
        };
        let name = self.kind.name();
        let case = Case { class: "memtide.conclusion", name: name.to_owned(), fate };
        let name = format!("memtide: {name}");
        let last = Suite { name, seconds: 0.0, figures: Vec::new(), cases: vec![case] };
        let suites: Vec<Suite> = self.suites.iter().cloned().chain([last]).collect();
        file(&suites)
    }
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

impl Suite {
    fn count(&self, is_it: impl Fn(&Fate) -> bool) -> usize {
        self.cases.iter().filter(|case| is_it(&case.fate)).count()
    }
}

fn suite(name: &str, record: &Record) -> Suite {
    let mut cases = Vec::new();
    for goal in &record.goals {
        let fate = match goal.result {
            GoalResult::Met => Fate::Passed,
            result => Fate::Failed(goal_word(result), goal.why.clone()),
        };
        cases.push(Case { class: "memtide.goal", name: goal.goal.clone(), fate });
    }
    let fate = match record.believable.verdict {
        Verdict::Yes | Verdict::Within => Fate::Passed,
        Verdict::No => bad(record, "not believable", believable(record)),
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
    let totals = &record.totals;
    let too_many = record.believable.checks.iter().any(|check| {
        matches!(check.code, CheckKind::Errors | CheckKind::Answered)
            && check.result == CheckResult::Failed
    });
    let fraction = |count: u64| percent(count as f64 / totals.intended.max(1) as f64);
    let of_class = |(class, _, count): (&str, &str, u64)| {
        let told = format!("{} operations, {}", whole(count), fraction(count));
        let fate = match count {
            0 => Fate::Passed,
            _ if too_many => bad(record, "errors", told),
            _ => Fate::Skipped(format!("{told}, within --errors-max")),
        };
        Case { class: "memtide.errors", name: class.to_owned(), fate }
    };
    let mut cases: Vec<Case> = errors(totals).map(of_class).collect();
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

fn file(suites: &[Suite]) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    write(&mut writer, suites).expect("writing to memory succeeds");
    let text = String::from_utf8(writer.into_inner()).expect("names and sentences are text");
    text + "\n"
}

fn write(writer: &mut Writer<Vec<u8>>, suites: &[Suite]) -> io::Result<()> {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let mut root = BytesStart::new("testsuites");
    counts(&mut root, "memtide", suites);
    writer.write_event(Event::Start(root))?;
    for suite in suites {
        let mut start = BytesStart::new("testsuite");
        counts(&mut start, &suite.name, std::slice::from_ref(suite));
        writer.write_event(Event::Start(start))?;
        write_figures(writer, &suite.figures)?;
        // The cases are all of one run: their times add up to its length.
        let mut seconds = suite.seconds;
        for case in &suite.cases {
            write_case(writer, case, std::mem::take(&mut seconds))?;
        }
        writer.write_event(Event::End(BytesEnd::new("testsuite")))?;
    }
    writer.write_event(Event::End(BytesEnd::new("testsuites")))
}

fn write_figures(
    writer: &mut Writer<Vec<u8>>,
    figures: &[(&'static str, String)],
) -> io::Result<()> {
    if figures.is_empty() {
        return Ok(());
    }
    writer.write_event(Event::Start(BytesStart::new("properties")))?;
    for (name, value) in figures {
        let mut property = BytesStart::new("property");
        property.push_attribute(("name", *name));
        property.push_attribute(("value", &**value));
        writer.write_event(Event::Empty(property))?;
    }
    writer.write_event(Event::End(BytesEnd::new("properties")))
}

/// Adds the attributes that the root and each suite have in common.
fn counts(start: &mut BytesStart<'_>, name: &str, suites: &[Suite]) {
    let sum = |of: &dyn Fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>().to_string();
    let seconds: f64 = suites.iter().map(|suite| suite.seconds).sum();
    start.push_attribute(("name", &*printable(name)));
    start.push_attribute(("tests", &*sum(&|suite| suite.cases.len())));
    let failures = sum(&|suite| suite.count(|fate| matches!(fate, Fate::Failed(..))));
    start.push_attribute(("failures", &*failures));
    start.push_attribute(("errors", "0"));
    let skipped = sum(&|suite| suite.count(|fate| matches!(fate, Fate::Skipped(_))));
    start.push_attribute(("skipped", &*skipped));
    start.push_attribute(("time", &*format!("{seconds:.3}")));
}

fn write_case(writer: &mut Writer<Vec<u8>>, case: &Case, seconds: f64) -> io::Result<()> {
    let mut start = BytesStart::new("testcase");
    start.push_attribute(("classname", case.class));
    start.push_attribute(("name", &*printable(&case.name)));
    start.push_attribute(("time", &*format!("{seconds:.3}")));
    let mut inner = match &case.fate {
        Fate::Passed => return writer.write_event(Event::Empty(start)),
        Fate::Skipped(_) => BytesStart::new("skipped"),
        Fate::Failed(..) => BytesStart::new("failure"),
    };
    writer.write_event(Event::Start(start))?;
    match &case.fate {
        Fate::Passed => {}
        Fate::Skipped(why) => {
            inner.push_attribute(("message", &*printable(why)));
            writer.write_event(Event::Empty(inner))?;
        }
        Fate::Failed(kind, why) => {
            let why = printable(why);
            inner.push_attribute(("type", *kind));
            inner.push_attribute(("message", &*why));
            writer.write_event(Event::Start(inner))?;
            writer.write_event(Event::Text(BytesText::new(&why)))?;
            writer.write_event(Event::End(BytesEnd::new("failure")))?;
        }
    }
    writer.write_event(Event::End(BytesEnd::new("testcase")))
}

/// Removes characters that XML cannot contain even if escaped.
fn printable(text: &str) -> String {
    let is_held = |letter: char| !letter.is_control() && !matches!(letter, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|letter| if is_held(letter) { letter } else { ' ' }).collect()
}

#[cfg(test)]
mod tests;
