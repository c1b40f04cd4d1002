//! `memtide mutilate`, `mcperf` and `mcperf-dynamic`: runs their command lines on this machine,
//! with their output and exit codes.

#[cfg(feature = "cluster")]
mod fleet;

mod share;

use super::screen::{BusyFill, Pictures, Text, json, say_notes, written};
use super::{Asked, Face};
#[cfg(feature = "cluster")]
use fleet::{enlist, serving};
use memtide_base::choice::RateUnit;
use memtide_compat::FAMILY_WORDS;
#[cfg(not(feature = "cluster"))]
use memtide_compat::mutilate::AgentOptions;
#[cfg(feature = "cluster")]
use memtide_compat::mutilate::Patience;
use memtide_compat::mutilate::text::{Formatter, SavedOperations, TimeBasis, Whose, sample_line};
use memtide_compat::mutilate::{
    Command, Face as Tool, Mode, Options, Search, Searched, Statistic, Transcript, Verbosity,
    lower, parse, refused, whose,
};
use memtide_host::clock;
use memtide_host::signal::StopFlag;
use memtide_record::steps::{CourseKind, StepsEnd};
use memtide_record::{EndedBy, Event};
use memtide_run::steps::{
    Aim, Bisect, Course, Data, Measured, Rates, RunTask, Scan, StepsOutcome, Time,
};
use memtide_scenario::{Kind, Measure, OutputKind, Problem, Settings};
use memtide_session::console::complain;
use memtide_session::exit::{INTERRUPTED, Stop};
use memtide_session::outlets::{facts, open_points};
use memtide_session::{Came, Ended, Front, FrontProfile, InStep, Opened, Steps, Task, failed_in};
#[cfg(feature = "cluster")]
use memtide_session::{Division, LostAgents};
use memtide_sinks::{
    Document, OutputFacts, OutputSubject, Place, Samples, Sink, check_distinct, check_kind, no_file,
};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Exit code of the originals if they cannot continue.
const FATAL: u8 = 255;

/// The failure of a run by agents that a lost connection ended.
const CUT: &str = "an agent lost a connection to a server, which ends the run; check the server's \
                   log, and what the agent says";
/// The option for points of operations and seconds.
const PUSHED: &str = "--push_lat_influx";

/// The faces of mutilate's family, one for each tool.
impl Face for Tool {
    fn fatal(&self) -> u8 {
        FATAL
    }

    fn read(&self, program: &str, words: &[String]) -> Result<Asked, memtide_compat::Stop> {
        let mut options = match parse(*self, program, words)? {
            Command::Load(options) => *options,
            Command::Agent(agent) => return serving(agent),
        };
        let seed = clock::since_unix().ns();
        let targets = match &options.mode {
            Mode::Dynamic(dynamic) => dynamic.targets(seed),
            _ => Vec::new(),
        };
        let mut settings = Box::new(lower(&options, &targets)?);
        if let Some(which) = settings.scenario.cut_keys() {
            let law = options.load.key_bytes;
            options.notes.push(format!("--keysize (-K) {law}: {which}."));
        }
        enlist(&options, &mut settings)?;
        share::take(&mut options, &mut settings)?;
        let task = task(&options);
        let front = Box::new(Mutilate { options, targets, has_notes: false });
        Ok(Asked::Run { settings, task, front })
    }
}

/// A command line of mutilate's family.
struct Mutilate {
    options: Options,
    /// The rates of a dynamic run's intervals.
    targets: Vec<u32>,
    /// True to show notes on stderr.
    has_notes: bool,
}

impl Front for Mutilate {
    fn preface(&mut self) -> Result<(), Stop> {
        let output = &self.options.output;
        if output.is_plot_all {
            check_kind(OutputKind::Plot, "--plot_all")?;
        }
        let is_quiet = output.verbosity == Verbosity::Quiet;
        let notes: &[String] = if is_quiet { &[] } else { &self.options.notes };
        self.has_notes = say_notes(output.has_notes, notes)? && !is_quiet;
        Ok(())
    }

    /// A repeated server gets more connections. Measuring begins after `--wait`, with the warm-up
    /// before it.
    fn profile(&self, _settings: &Settings) -> FrontProfile {
        let paced = &self.options.paced;
        let length = paced.wait.saturating_sub(paced.warmup);
        let text = Transcript::new(&self.options, &self.targets).wait(length);
        FrontProfile {
            words: Some(&FAMILY_WORDS),
            repeats: true,
            wait: Some((text, length)),
            ..agents_profile(&self.options)
        }
    }

    fn refuse(&self, problem: &Problem) -> Stop {
        let stop = refused(&self.options, &problem.field, &problem.message);
        Stop::usage(stop.stderr.trim_end())
    }

    fn open(&mut self, settings: &Settings) -> Result<Opened, Stop> {
        let output = &self.options.output;
        let places = [
            ("--json", output.json.as_deref()),
            ("--save", output.save.as_deref()),
            ("--save_all", output.save_all.as_deref()),
        ];
        check_distinct(&places, true).map_err(Stop::usage)?;
        let mut opened = json(output.json.as_deref(), course(&self.options.mode))?;
        save(&self.options, &mut opened.samples)?;
        let shown = match course(&self.options.mode) {
            Some(kind) => OutputSubject::Steps(kind, &[]),
            None => OutputSubject::Run,
        };
        let facts = facts(settings, shown)?;
        open_points(&mut opened, &OutputFacts { flag: Some(PUSHED), ..facts })?;
        Ok(opened)
    }

    #[cfg(feature = "cluster")]
    fn divide(&self, _settings: &Settings, shares: Vec<u32>) -> Result<Division, Stop> {
        fleet::division(&self.options, &self.targets, shares)
    }

    #[cfg(feature = "cluster")]
    fn missed(&self, lost: &LostAgents) {
        fleet::tell_missed(&self.options, lost);
    }

    fn screens<'a>(&'a self, _settings: &'a Settings) -> Vec<InStep<'a>> {
        let output = &self.options.output;
        let transcript = Transcript::new(&self.options, &self.targets);
        let mut screens = vec![Text::in_step(transcript, self.has_notes)];
        if output.is_plot_all {
            let times = if output.is_response { TimeBasis::Response } else { TimeBasis::Service };
            screens.push(Pictures::in_step(times, whose(&self.options)));
        }
        if matches!(self.options.mode, Mode::LoadOnly) {
            screens.push(BusyFill::in_step(Formatter::new(output.format)));
        }
        screens
    }

    /// The originals store the option of points and never use it, so lost points cost no exit code.
    fn end(&self, _settings: &Settings, mut ended: Ended) -> Result<u8, Stop> {
        let (lost, others) =
            ended.trouble.into_iter().partition(|stop| stop.message.starts_with(PUSHED));
        ended.trouble = others;
        let lost: Vec<Stop> = lost;
        lost.iter().for_each(|stop| complain(&stop.message));
        let (failure, is_interrupted) = match &ended.came {
            Came::Run(outcome) => {
                let failure = outcome.failure.as_ref();
                (failure, outcome.record.ended_by == EndedBy::Interrupted)
            }
            // The table alone shows that a search found nothing.
            Came::Steps(StepsOutcome { conclusion, failure }) => {
                (failure.as_ref(), conclusion.ended_by == StepsEnd::Interrupted)
            }
        };
        if let Some(failure) = failure {
            ended.complain();
            return Err(failed_in(Some(&FAMILY_WORDS), failure));
        }
        let is_cut = matches!(&ended.came, Came::Run(outcome)
            if matches!(outcome.record.ended_by, EndedBy::ServersLost | EndedBy::ConnectionLost));
        written(ended)?;
        if is_cut {
            // Agents keep their failures, and their master has their records.
            return Err(Stop { code: FATAL, message: CUT.to_owned() });
        }
        Ok(if is_interrupted { INTERRUPTED } else { 0 })
    }

    fn exit(&self, ended: Result<u8, Stop>, stop: &StopFlag) -> u8 {
        let code = ended.unwrap_or_else(|stop| {
            complain(&share::in_variables(&stop.message));
            FATAL
        });
        // The originals catch no signal.
        stop.die();
        code
    }
}

/// What these options state about a run by agents.
#[cfg(feature = "cluster")]
fn agents_profile(options: &Options) -> FrontProfile {
    let Some(agents) = &options.agents else { return FrontProfile::default() };
    let goes_on_without = matches!(agents.patience, Patience::GivesUp(_));
    FrontProfile {
        has_own_load: agents.own.is_some() && !matches!(options.mode, Mode::LoadOnly),
        patience_flag: goes_on_without.then_some("--poll_max (-M)"),
        goes_on_without,
        ..FrontProfile::default()
    }
}

#[cfg(not(feature = "cluster"))]
fn agents_profile(_options: &Options) -> FrontProfile {
    FrontProfile::default()
}

#[cfg(not(feature = "cluster"))]
fn serving(_agent: AgentOptions) -> Result<Asked, memtide_compat::Stop> {
    Err(without_agents("--agentmode (-A)"))
}

#[cfg(not(feature = "cluster"))]
fn enlist(options: &Options, _settings: &mut Settings) -> Result<(), memtide_compat::Stop> {
    match options.agents {
        Some(_) => Err(without_agents("--agent (-a)")),
        None => Ok(()),
    }
}

#[cfg(not(feature = "cluster"))]
fn without_agents(option: &str) -> memtide_compat::Stop {
    let why = format!("{option}: this program was built without agents");
    memtide_compat::Stop::complaint(why, FATAL)
}

/// An end for a reason that the originals do not know.
fn refusal(message: &str) -> memtide_compat::Stop {
    memtide_compat::Stop::complaint(format!("memtide: {message}"), FATAL)
}

/// The kind of course, if the mode has steps.
const fn course(mode: &Mode) -> Option<CourseKind> {
    match mode {
        Mode::Search(_) => Some(CourseKind::Search),
        Mode::Scan(_) => Some(CourseKind::Scan),
        Mode::Once | Mode::LoadOnly | Mode::Masterless | Mode::Dynamic(_) => None,
    }
}

/// The kind of run.
fn task(options: &Options) -> Task {
    match &options.mode {
        Mode::LoadOnly => Task::Run(RunTask::Fill),
        Mode::Once | Mode::Masterless | Mode::Dynamic(_) => Task::Run(RunTask::Whole),
        Mode::Search(search) => {
            let top = f64::from(options.paced.rate_ops);
            let course = Bisect::new(top, search.rate_floor, search.retreat);
            in_steps(options, Box::new(course), aim(search, options))
        }
        Mode::Scan(scan) => {
            let from = f64::from(scan.min);
            // With a distance of 0 the rate never reaches its end.
            let to = if scan.step == 0 { from } else { f64::from(scan.max) };
            let rates = Rates::Range { from, to, step: f64::from(scan.step) };
            in_steps(options, Box::new(Scan::new(rates, RateUnit::Operations)), Aim::Goals)
        }
    }
}

fn in_steps(options: &Options, course: Box<dyn Course>, aim: Aim) -> Task {
    let counts_own = options.agents.is_some();
    let (data, steps_max, command) = (Data::Kept, None, String::new());
    Task::Steps(Steps { course, aim, data, steps_max, counts_own, command })
}

/// The criterion by which a search's steps are judged.
fn aim(search: &Search, options: &Options) -> Aim {
    let kinds = match search.searched {
        Searched::Gets => vec![Kind::Get],
        Searched::Sets => vec![Kind::Set],
        Searched::Both => vec![Kind::Get, Kind::Set],
    };
    let measure = match search.statistic {
        Statistic::Mean => Measure::Mean,
        Statistic::Percentile(percent) => Measure::Percentile(percent),
    };
    let time = if options.output.is_response { Time::Response } else { Time::Service };
    // The searched figure covers the same operations as the rows.
    let with_agents = match whose(options) {
        Whose::MasterAndReads => vec![Kind::Get],
        Whose::Process | Whose::Master => Vec::new(),
    };
    let measured = Measured { kinds, measure, time, with_agents };
    Aim::AtMost { measured, bound_ns: search.bound_us * 1e3 }
}

/// Adds the output of single operations, if the options request one.
fn save(options: &Options, samples: &mut Samples) -> Result<(), Stop> {
    let output = &options.output;
    let mut files = Vec::new();
    for (path, saved, option) in [
        (&output.save, SavedOperations::Reads, "--save"),
        (&output.save_all, SavedOperations::All, "--save_all"),
    ] {
        if let Some(path) = path {
            let place = Place::whole(Path::new(path));
            let place = place.map_err(|error| no_file(option, path, &error))?;
            files.push((Some(place), saved));
        }
    }
    if !files.is_empty() {
        samples.add("--save", Box::new(Saved { files }));
    }
    Ok(())
}

/// The files of `--save` and `--save_all`.
struct Saved {
    /// Each until it is complete.
    files: Vec<(Option<Place>, SavedOperations)>,
}

impl Saved {
    fn each(
        &mut self,
        act: impl Fn(&mut Place, SavedOperations) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut files = self.files.iter_mut();
        files.try_for_each(|(file, saved)| file.as_mut().map_or(Ok(()), |file| act(file, *saved)))
    }
}

impl Sink for Saved {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let Event::Sample(sample) = event else { return Ok(()) };
        self.each(|file, saved| match sample_line(sample, saved) {
            Some(line) => file.write_all(line.as_bytes()),
            None => Ok(()),
        })
    }

    /// A search keeps the operations of its last step, as the originals do. A pipe gets those of
    /// all steps.
    fn restart(&mut self) -> io::Result<()> {
        self.each(|file, _| match file.restart() {
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
            done => done,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.each(|file, _| file.flush())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.files.iter_mut().try_for_each(|(file, _)| file.take().map_or(Ok(()), Place::complete))
    }
}
