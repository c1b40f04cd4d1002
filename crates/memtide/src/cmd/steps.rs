//! `memtide search` and `memtide scan`: runs at one rate after the other, a row for each as it
//! ends, and the rate that was looked for.

use super::outlets::{attach, check_places, close, failed, plain};
#[cfg(feature = "plot")]
use super::plot::CurveChart;
use super::run::{check_files, embedded, settle, surroundings};
use crate::exit::{FAILED, INTERRUPTED, Stop, UNBELIEVABLE, unwritable};
use crate::flags;
use crate::observer::HostObserver;
use crate::output::{columns, complain, show, show_part};
use clap::ArgMatches;
use memtide_base::Instant;
use memtide_host::signal::StopFlag;
use memtide_host::{Clock, HostFleet, machine};
use memtide_report::{StepsText, plan_text};
use memtide_run::Observer;
use memtide_run::steps::{Aim, Bracket, Course, Data, Limits, Rates, Scan, StepsPlan, steps};
use memtide_schema::record::{Believable, MachineCpu, MachineRecord, Verdict};
use memtide_schema::scenario::{Goal, Relation, Subject};
use memtide_schema::steps::{Conclusion, CourseKind, Step};
use memtide_schema::{Event, Settings};
use memtide_sinks::{Outlets, StepsJson};
use memtide_workload::Wave;
use std::io;

/// A search cannot tell rates apart that are closer, and one that tells less apart is none.
const RESOLUTIONS: std::ops::RangeInclusive<f64> = 0.001..=0.5;

pub(crate) fn search(matches: &ArgMatches) -> Result<u8, Stop> {
    let limits = limits(matches)?;
    let settings = settings(matches, "search looks for")?;
    let scenario = &settings.scenario;
    if scenario.goals.is_empty() {
        return Err(Stop::usage(
            "search needs a goal to look for: give one such as --goal 'all.p95<10ms'",
        ));
    }
    if let Some(goal) = scenario.goals.iter().find(|goal| !grows_harder(goal)) {
        return Err(Stop::usage(format!(
            "goal {goal} is not one that higher rates make harder to meet: search for an upper \
             bound such as all.p95<10ms or errors<0.1%"
        )));
    }
    let steps_max = matches.get_one::<u32>("steps-max").copied();
    let highest = limits.rate_max.or(limits.rate_min);
    check(&settings, highest.unwrap_or(0.0))?;
    perform(matches, &settings, CourseKind::Search, &mut Bracket::new(limits), steps_max)
}

pub(crate) fn scan(matches: &ArgMatches) -> Result<u8, Stop> {
    let rates = matches.get_one::<Rates>("rates").expect("it is required");
    let settings = settings(matches, "scan varies")?;
    check(&settings, rates.highest())?;
    perform(matches, &settings, CourseKind::Scan, &mut Scan::new(rates.clone()), None)
}

/// The settings of every step. `varies` says what becomes of the rate.
fn settings(matches: &ArgMatches, varies: &str) -> Result<Settings, Stop> {
    let settings = flags::settings(matches)?;
    let Settings { scenario, outputs } = &settings;
    let unfit = [
        (scenario.rate.is_some(), format!("rate is what {varies}: leave it out")),
        (
            scenario.wave != Wave::Constant,
            format!("wave {} changes the rate within a step: leave it out", scenario.wave),
        ),
        (
            outputs.samples.is_some(),
            "samples would mix the operations of all steps: leave it out, and run the rate that \
             matters once more with it"
                .to_owned(),
        ),
        (
            outputs.verify_details.is_some(),
            "verify-details would mix the values of all steps: leave it out, and run the rate \
             that matters once more with it"
                .to_owned(),
        ),
    ];
    match unfit.into_iter().find(|(unfit, _)| *unfit) {
        Some((_, message)) => Err(Stop::usage(message)),
        None => Ok(settings),
    }
}

/// Whether every step can be carried out, up to the one at the highest rate: better said now than
/// after the steps before it.
fn check(settings: &Settings, highest: f64) -> Result<(), Stop> {
    let mut hardest = settings.clone();
    hardest.scenario.rate = (highest > 0.0).then_some(highest);
    hardest.check().into_iter().next().map_or(Ok(()), |problem| Err(problem.into()))
}

fn grows_harder(goal: &Goal) -> bool {
    let upper = matches!(goal.relation, Relation::Less | Relation::LessEq);
    upper && goal.subject != Subject::Rate
}

fn limits(matches: &ArgMatches) -> Result<Limits, Stop> {
    let rate = |name| matches.get_one::<f64>(name).copied();
    let (rate_min, rate_max) = (rate("rate-min"), rate("rate-max"));
    for (name, rate) in [("rate-min", rate_min), ("rate-max", rate_max)] {
        if rate.is_some_and(|rate| rate <= 0.0) {
            return Err(Stop::usage(format!("{name} 0 asks for nothing: give a rate above 0")));
        }
    }
    if let (Some(min), Some(max)) = (rate_min, rate_max)
        && min > max
    {
        return Err(Stop::usage(format!(
            "rate-min {min} is above rate-max {max}: give a range of rates"
        )));
    }
    let resolution = *matches.get_one::<f64>("resolution").expect("it has a default");
    if !RESOLUTIONS.contains(&resolution) {
        return Err(Stop::usage(format!(
            "resolution {resolution} is out of bounds: give a fraction from 0.1% to 50%"
        )));
    }
    Ok(Limits { rate_min, rate_max, resolution })
}

fn perform(
    matches: &ArgMatches,
    settings: &Settings,
    kind: CourseKind,
    course: &mut impl Course,
    steps_max: Option<u32>,
) -> Result<u8, Stop> {
    let Settings { scenario, outputs } = settings;
    let files_max = machine::raise_file_limit();
    let machine = machine::look();
    let embedded = embedded(settings)?;
    let around = surroundings(settings, embedded.as_ref(), &machine)?;
    let data = match matches.get_one::<String>("data").map(String::as_str) {
        Some("anew") => Data::Anew,
        _ => Data::Kept,
    };
    let plan = StepsPlan { scenario, around: &around, aim: Aim::Goals, data, steps_max };
    let first = plan.first(course)?;
    if outputs.plan {
        show(&plan_text(&first.record, columns())).map_err(|error| unwritable("stdout", &error))?;
        return Ok(0);
    }
    check_files(&first, embedded.is_some(), files_max)?;
    check_places(outputs, &[])?;
    let json = plain("--json", outputs.json.as_deref())?;
    let stop = StopFlag::on_signals(i32::from(INTERRUPTED))
        .map_err(|error| Stop::usage(format!("signals cannot be caught: {error}")))?;
    settle(&first.places, embedded.as_ref())?;
    let mut fleet = HostFleet::new(Clock::start(), stop, &first.places.workers, None);
    let goals: Vec<String> = scenario.goals.iter().map(Goal::to_string).collect();
    let mut outlets = Outlets::default();
    let has_json = json.is_some();
    if let Some(out) = json {
        attach(&mut outlets, "--json", StepsJson::new(out, kind, goals.clone()))?;
    }
    #[cfg(feature = "plot")]
    if let Some(path) = &outputs.plot {
        attach(&mut outlets, "--plot", CurveChart::new(path, &scenario.goals))?;
    }
    let observer = HostObserver::new(machine, outputs.quiet, outlets);
    let mut screen = Screen {
        rows: outputs.json.as_deref() != Some("-"),
        has_json,
        ..Screen::new(observer, kind, &goals)
    };
    let conclusion = steps(&mut fleet, &plan, course, &mut screen);
    drop(embedded);
    screen.finish(&conclusion, scenario.trust.strict)
}

/// Shows a row for each step as it ends; the other outputs are told of it too.
struct Screen {
    observer: HostObserver,
    kind: CourseKind,
    text: StepsText,
    /// Whether rows are what stdout is for.
    rows: bool,
    /// Whether one of them could not be written: then none is any more.
    muted: bool,
    /// Whether the steps go to a file or to stdout as JSON.
    has_json: bool,
    steps: u32,
    /// Rates with a step that is not to be believed.
    doubted: Vec<f64>,
    gone: bool,
    trouble: Vec<Stop>,
}

impl Screen {
    fn new(observer: HostObserver, kind: CourseKind, goals: &[String]) -> Self {
        Self {
            observer,
            kind,
            text: StepsText::new(goals, columns()),
            rows: true,
            muted: false,
            has_json: false,
            steps: 0,
            doubted: Vec::new(),
            gone: false,
            trouble: Vec::new(),
        }
    }

    fn step(&mut self, step: &Step) {
        self.steps += 1;
        let rate = step.rate_per_s.unwrap_or(step.achieved_per_s);
        let Believable { verdict, reasons, .. } = &step.record.believable;
        let unjudged = *verdict == Verdict::No && reasons.is_empty();
        if (unjudged || step.doubt().is_some()) && !self.doubted.contains(&rate) {
            self.doubted.push(rate);
        }
        let row = self.text.step(step);
        if self.rows && !self.muted {
            let shown = show_part(&row);
            self.muted = shown.is_err();
            // A reader of rows has seen enough, unless a file is wanted as well.
            self.gone |= !self.has_json && is_gone(&shown);
            self.trouble.extend(failed("stdout", shown));
        }
    }

    /// What comes after the last step; returns the exit code.
    fn finish(mut self, conclusion: &Conclusion, strict: bool) -> Result<u8, Stop> {
        // The line on the terminal is cleared before anything else is said.
        let outlets = self.observer.take_outlets();
        let never_began = self.steps == 0 && conclusion.failure.is_some();
        if self.rows && !self.muted && !never_began {
            let shown = show(&self.text.conclusion(conclusion));
            self.trouble.extend(failed("stdout", shown));
        }
        self.trouble.extend(close(outlets));
        for stop in &self.trouble {
            complain(&stop.message);
        }
        if let Some(message) = conclusion.failure.clone() {
            return Err(Stop { code: conclusion.exit, message });
        }
        let answer = conclusion.answer.and_then(|answer| answer.rate_per_s);
        let doubtful = match self.kind {
            CourseKind::Search => answer.is_some_and(|rate| self.doubted.contains(&rate)),
            CourseKind::Scan => !self.doubted.is_empty(),
        };
        Ok(match conclusion.exit {
            0 if !self.trouble.is_empty() => FAILED,
            0 if strict && doubtful => UNBELIEVABLE,
            code => code,
        })
    }
}

fn is_gone(written: &io::Result<()>) -> bool {
    written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

impl Observer for Screen {
    fn on(&mut self, event: &Event) {
        self.observer.on(event);
        if let Event::StepDone(step) = event {
            self.step(step);
        }
    }

    fn has_gone(&self) -> bool {
        self.gone || (!self.rows && self.observer.is_gone("--json"))
    }

    fn tick(&mut self, at: Instant) {
        self.observer.tick(at);
    }

    fn machine_cpu(&self) -> Option<MachineCpu> {
        self.observer.machine_cpu()
    }

    fn rss_max_bytes(&self) -> Option<u64> {
        self.observer.rss_max_bytes()
    }

    fn machine(&self) -> MachineRecord {
        self.observer.machine()
    }
}
