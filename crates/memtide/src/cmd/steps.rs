//! `memtide search` and `memtide scan`: runs at one rate after another, a row for each as it ends,
//! and the rate found. Both also run in the simulated world of `memtide sim`.

use super::run::check_all_places;
use super::sim;
use crate::flags;
use clap::ArgMatches;
use clap::parser::ValueSource;
use memtide_base::Rate;
use memtide_base::choice::RateUnit;
use memtide_record::Event;
use memtide_record::steps::{Conclusion, CourseKind};
use memtide_report::{StepsText, shell_word};
use memtide_run::SampledServers;
use memtide_run::steps::{Aim, Bracket, Course, Data, Limits, Rates, Scan, StepsOutcome};
use memtide_scenario::{Goal, Output, OutputKind, Outputs, Relation, Settings};
use memtide_session::FloorMode;
#[cfg(feature = "cluster")]
use memtide_session::cluster::MasterWorld;
use memtide_session::console::{columns, show_part};
use memtide_session::exit::{FAILED, Stop, UNBELIEVABLE};
use memtide_session::outlets::open;
use memtide_session::placement::{check_undivided, variable};
use memtide_session::world::HostWorld;
use memtide_session::{
    Came, Ended, Front, FrontProfile, InStep, Opened, Screen, Session, Steps, Task, room,
};
use memtide_sinks::{OutputSubject, Sink};
use memtide_workload::Wave;
use std::io;

/// Useful resolutions of a search: finer ones cannot be measured, and coarser ones are no search.
const RESOLUTIONS: std::ops::RangeInclusive<f64> = 0.001..=0.5;

/// Runs the search that the command line describes.
pub(crate) fn search(matches: &ArgMatches, is_simulated: bool) -> Result<u8, Stop> {
    let limits = limits(matches)?;
    let settings = settings(matches, is_simulated, "search", "search looks for")?;
    let scenario = &settings.scenario;
    let limits = Limits { unit: scenario.rate_unit, ..limits };
    if scenario.goals.is_empty() {
        return Err(Stop::usage("search needs a goal: add one such as --goal 'all.p95<10ms'"));
    }
    if let Some(goal) = scenario.goals.iter().find(|goal| !grows_harder(goal)) {
        return Err(Stop::usage(format!(
            "goal {goal} does not become harder to meet at a higher rate: use an upper limit such \
             as all.p95<10ms or errors<0.1%"
        )));
    }
    let steps_max = matches.get_one::<u32>("steps-max").copied();
    let highest = limits.rate_max.or(limits.rate_min);
    // Which rate it is does not matter to the rules, only that there is one.
    check(&settings, highest.unwrap_or(1.0))?;
    let course = Box::new(Bracket::new(limits));
    perform(matches, is_simulated, settings, CourseKind::Search, course, steps_max)
}

pub(crate) fn scan(matches: &ArgMatches, is_simulated: bool) -> Result<u8, Stop> {
    let rates = matches.get_one::<Rates>("rates").expect("it is required");
    let settings = settings(matches, is_simulated, "scan", "scan varies")?;
    check(&settings, rates.highest())?;
    let course = Box::new(Scan::new(rates.clone(), settings.scenario.rate_unit));
    perform(matches, is_simulated, settings, CourseKind::Scan, course, None)
}

/// Reason why the steps of `command` do not end when their figures are narrow.
fn precision_refused(command: &str) -> &'static str {
    match command {
        "scan" => {
            "precision is not possible in a scan, because its steps are compared and have one \
             length: use duration, and repeat one rate with memtide run --rate N --precision"
        }
        _ => {
            "precision is not possible in a search, which measures each rate for as long as its \
             goals need to be decided: remove it, and use a longer duration to narrow the answer"
        }
    }
}

/// The settings of every step of `command`. `varies` says what sets the rate.
fn settings(
    matches: &ArgMatches,
    is_simulated: bool,
    command: &str,
    varies: &str,
) -> Result<Settings, Stop> {
    let settings = match is_simulated {
        true => flags::settings(matches),
        false => flags::settings_to_measure(matches),
    }?;
    let Settings { scenario, outputs, placement, .. } = &settings;
    check_undivided(command, placement.shard, &variable)?;
    let unfit = [
        (scenario.rate.is_some(), format!("rate cannot be set, because {varies} it: remove it")),
        (
            scenario.wave != Wave::Constant,
            format!("wave {} changes the rate within a step: remove it", scenario.wave),
        ),
        (!scenario.precision.is_empty(), precision_refused(command).to_owned()),
        (
            scenario.at_most.is_some(),
            "at-most is for a run that ends when its figures are known, which these steps do not: \
             remove it, and use duration"
                .to_owned(),
        ),
        (
            outputs.first(OutputKind::Samples).is_some(),
            "samples would mix the operations of all steps: remove it, and repeat one rate with \
             memtide run --samples"
                .to_owned(),
        ),
        (
            outputs.first(OutputKind::Hgrm).is_some(),
            "--out hgrm shows a single run: remove it, and repeat one rate with memtide run --out \
             hgrm"
                .to_owned(),
        ),
        (
            outputs.explain.is_some(),
            "explain is about a figure of a single run: remove it, and repeat one rate with \
             memtide run --explain"
                .to_owned(),
        ),
        (
            outputs.verify_details.is_some(),
            "verify-details would mix the values of all steps: remove it, and repeat one rate \
             with memtide run --verify-details"
                .to_owned(),
        ),
    ];
    match unfit.into_iter().find(|(unfit, _)| *unfit) {
        Some((_, message)) => Err(Stop::usage(message)),
        None => Ok(settings),
    }
}

/// Checks that every step can be carried out, up to the one at the highest rate, so that errors
/// come before the first step.
fn check(settings: &Settings, highest: f64) -> Result<(), Stop> {
    let mut hardest = settings.clone();
    hardest.scenario.rate = (highest > 0.0).then_some(highest);
    hardest.check().into_iter().next().map_or(Ok(()), |problem| Err(problem.into()))
}

fn grows_harder(goal: &Goal) -> bool {
    let upper = matches!(goal.relation, Relation::Less | Relation::LessEq);
    upper && goal.subject.grows_with_rate()
}

/// The limits of a search, from the command line, which does not say their unit.
fn limits(matches: &ArgMatches) -> Result<Limits, Stop> {
    let [rate_min, rate_max] =
        ["rate-min", "rate-max"].map(|name| matches.get_one::<f64>(name).copied());
    for (name, rate) in [("rate-min", rate_min), ("rate-max", rate_max)] {
        if rate.is_some_and(|rate| rate <= 0.0) {
            return Err(Stop::usage(format!("{name} 0 is not allowed: use a rate above 0")));
        }
    }
    if let (Some(min), Some(max)) = (rate_min, rate_max)
        && min > max
    {
        return Err(Stop::usage(format!(
            "rate-min {min} is above rate-max {max}: use a lower rate-min"
        )));
    }
    let resolution = *matches.get_one::<f64>("resolution").expect("it has a default");
    if !RESOLUTIONS.contains(&resolution) {
        return Err(Stop::usage(format!(
            "resolution {resolution} is out of range: use a fraction from 0.1% to 50%"
        )));
    }
    Ok(Limits { unit: RateUnit::Operations, rate_min, rate_max, resolution })
}

fn perform(
    matches: &ArgMatches,
    is_simulated: bool,
    settings: Settings,
    kind: CourseKind,
    course: Box<dyn Course>,
    steps_max: Option<u32>,
) -> Result<u8, Stop> {
    let data = match matches.get_one::<String>("data").map(String::as_str) {
        Some("anew") => Data::Anew,
        _ => Data::Kept,
    };
    // Agents have flags and keys that no file of a scenario holds.
    let command = match settings.placement.agents.which.is_some() {
        true => String::new(),
        false => command(matches, is_simulated, kind),
    };
    let (aim, counts_own) = (Aim::Goals, false);
    let task = Task::Steps(Steps { course, aim, data, steps_max, counts_own, command });
    let goals = settings.scenario.goals.iter().map(Goal::to_string).collect();
    let trace = if is_simulated { sim::trace(matches) } else { None };
    let front = Box::new(NativeSteps { kind, goals, is_simulated, trace });
    if is_simulated {
        let world = sim::world(matches, &settings)?;
        return Ok(Session { settings, task, front, world }.run());
    }
    let usual = if kind == CourseKind::Search { FloorMode::Kept } else { FloorMode::Off };
    let floors = flags::floors(matches, usual, &settings)?;
    #[cfg(feature = "cluster")]
    if settings.placement.agents.which.is_some() {
        return Ok(Session { settings, task, front, world: MasterWorld }.run());
    }
    let world = HostWorld::new(None).with(floors);
    Ok(Session { settings, task, front, world }.run())
}

/// The command that carries the same steps out again, with the scenario in a file.
fn command(matches: &ArgMatches, is_simulated: bool, kind: CourseKind) -> String {
    let own: &[&str] = match kind {
        CourseKind::Search => &["rate-min", "rate-max", "resolution", "steps-max", "data"],
        CourseKind::Scan => &["rates", "data"],
    };
    let (sim, world): (_, &[&str]) = match is_simulated {
        true => ("sim ", &["behaviour", "fault", "delay", "loss", "duplicates"]),
        false => ("", &[]),
    };
    let words = own.iter().chain(world).filter_map(|name| {
        if matches.value_source(name) != Some(ValueSource::CommandLine) {
            return None;
        }
        let word = matches.get_raw(name)?.next_back()?;
        Some(format!(" --{name} {}", shell_word(&word.to_string_lossy())))
    });
    format!("memtide {sim}{} scenario.toml", kind.name()) + &words.collect::<String>()
}

/// The front of a search or a scan with memtide's own output.
struct NativeSteps {
    kind: CourseKind,
    goals: Vec<String>,
    is_simulated: bool,
    /// Destination of a simulation's trace, which is an output, too.
    trace: Option<String>,
}

impl Front for NativeSteps {
    fn profile(&self, settings: &Settings) -> FrontProfile {
        let sampled = SampledServers { unfilled: false, filled: true };
        FrontProfile { sampled, keeps_partial: false, ..FrontProfile::native(settings) }
    }

    fn check(&self, settings: &Settings, servers_within: u64) -> Result<(), Stop> {
        room::check(&settings.scenario, servers_within)
    }

    fn check_outputs(&self, outputs: &Outputs) -> Result<(), Stop> {
        check_all_places(outputs, self.trace.as_deref())
    }

    fn open(&mut self, settings: &Settings) -> Result<Opened, Stop> {
        let outputs = &settings.outputs;
        let shown = OutputSubject::Steps(self.kind, &settings.scenario.goals);
        let reader = outputs.files().into_iter().find(Output::is_stdout);
        let reader = reader.map(|output| output.name());
        Ok(Opened { reader, ..open(settings, shown, self.is_simulated)? })
    }

    fn screens<'a>(&'a self, settings: &'a Settings) -> Vec<InStep<'a>> {
        let outputs = &settings.outputs;
        if outputs.is_on_stdout() {
            return Vec::new();
        }
        let columns = columns().filter(|_| !outputs.full);
        let text = StepsText::new(self.kind, &self.goals, columns);
        let is_only = outputs.files().iter().all(|output| output.kind == OutputKind::Plot);
        let table = StepsTable { text, steps: 0, is_only, is_unread: false };
        vec![InStep { name: "stdout", screen: Box::new(table) }]
    }

    fn end(&self, settings: &Settings, ended: Ended) -> Result<u8, Stop> {
        ended.complain();
        let Came::Steps(StepsOutcome { conclusion, failure }) = &ended.came else { return Ok(0) };
        if let Some(failure) = failure {
            return Err(failure.clone().into());
        }
        let ends = conclusion.answer.map(|answer| [answer.rate_per_s, answer.missed_per_s]);
        let mut ends = ends.into_iter().flatten().flatten();
        let unit = settings.scenario.rate_unit;
        let doubtful = match self.kind {
            CourseKind::Search => ends.any(|per_s| ended.doubted.contains(&Rate::new(per_s, unit))),
            CourseKind::Scan => !ended.doubted.is_empty(),
        };
        Ok(match conclusion.exit {
            0 if !ended.trouble.is_empty() => FAILED,
            0 if settings.scenario.trust.strict.is_some() && doubtful => UNBELIEVABLE,
            code => code,
        })
    }
}

/// The table on stdout: a row for each step as it ends.
struct StepsTable {
    text: StepsText,
    steps: u32,
    /// True if the steps have no other output: the search or scan can then end when its reader has
    /// gone.
    is_only: bool,
    /// True if the reader has gone.
    is_unread: bool,
}

impl StepsTable {
    fn show(&mut self, text: &str) -> io::Result<()> {
        let shown = show_part(text);
        let kind = shown.as_ref().err().map(io::Error::kind);
        self.is_unread = kind == Some(io::ErrorKind::BrokenPipe);
        shown
    }

    fn conclude(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        let never_began = self.steps == 0 && conclusion.failure.is_some();
        if never_began {
            return Ok(());
        }
        let text = self.text.conclusion(conclusion);
        self.show(&text)
    }
}

impl Screen for StepsTable {
    fn is_gone(&self) -> bool {
        self.is_only && self.is_unread
    }
}

impl Sink for StepsTable {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::StepDone(step) => {
                self.steps += 1;
                let row = self.text.step(step);
                self.show(&row)
            }
            Event::StepsDone(conclusion) => self.conclude(conclusion),
            _ => Ok(()),
        }
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| matches!(event, Event::StepDone(_) | Event::StepsDone(_))
    }
}

#[cfg(test)]
mod tests;
