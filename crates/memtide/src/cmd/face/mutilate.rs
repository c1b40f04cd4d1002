//! `memtide mutilate`, `mcperf` and `mcperf-dynamic`: their command lines carried out on this
//! machine, and their exit codes.

use super::screen::{Pictures, Screen, json};
use super::{ended, stop_flag};
use crate::cmd::outlets::create;
use crate::cmd::run::{check_files, row, surroundings};
use crate::exit::{INTERRUPTED, Stop, unwritable};
use crate::flags::check_pictures;
use crate::late::check_distinct;
use crate::observer::HostObserver;
use crate::output::{complain, say, say_part, wants_notes};
use memtide_base::Span;
use memtide_compat::mutilate::text::{SavedOperations, Times, sample_line};
use memtide_compat::mutilate::{
    Face, Mode, Options, Search, Searched, Statistic, Transcript, Verbosity, lower, parse, refused,
};
use memtide_host::signal::StopFlag;
use memtide_host::{Clock, HostFleet, SampleSink, Sampled, clock, machine};
use memtide_run::steps::{
    Aim, Bisect, Course, Data, Measured, Rates, Scan, StepsPlan, Time, steps,
};
use memtide_run::{Failure, Surroundings};
use memtide_schema::record::EndedBy;
use memtide_schema::scenario::Measure;
use memtide_schema::steps::{CourseKind, StepsEnd};
use memtide_schema::{Kind, Scenario, Settings};
use std::io::Write;
use std::time::Duration;

/// What the originals exit with when they cannot go on.
pub(super) const FATAL: u8 = 255;
/// How often a wait before the load looks whether it is still wanted.
const LOOK_EVERY: Span = Span::from_ms(20);

/// Carries out a command line; returns the exit code.
pub(super) fn run(face: Face, program: &str, words: &[String]) -> u8 {
    let options = match parse(face, program, words) {
        Ok(options) => options,
        Err(stop) => return ended(&stop),
    };
    let seed = clock::since_unix().ns();
    let targets = match &options.mode {
        Mode::Dynamic(dynamic) => dynamic.targets(seed),
        _ => Vec::new(),
    };
    let settings = match lower(&options, &targets) {
        Ok(settings) => settings,
        Err(stop) => return ended(&stop),
    };
    let stop = match stop_flag() {
        Ok(stop) => stop,
        Err(stop) => return fatal(&stop),
    };
    let code = perform(&options, (&settings, &targets), &stop).unwrap_or_else(|stop| fatal(&stop));
    // The originals catch no signal.
    stop.die();
    code
}

fn fatal(stop: &Stop) -> u8 {
    complain(&stop.message);
    FATAL
}

fn perform(
    options: &Options,
    (settings, targets): (&Settings, &[u32]),
    stop: &StopFlag,
) -> Result<u8, Stop> {
    if options.output.is_plot_all {
        check_pictures("--plot_all")?;
    }
    let is_quiet = options.output.verbosity == Verbosity::Quiet;
    let has_notes = wants_notes(options.output.has_notes).map_err(Stop::usage)? && !is_quiet;
    if has_notes {
        options.notes.iter().for_each(|note| say(note));
    }
    let scenario = &settings.scenario;
    let files_max = machine::raise_file_limit();
    let machine = machine::look();
    // A server may be named again, for more connections to it.
    let around = Surroundings { repeats: true, ..surroundings(settings, None, &machine)? };
    let lowered = memtide_run::lower(scenario, &around).map_err(|problem| {
        let stop = refused(options, problem.field, &problem.message);
        Stop::usage(stop.stderr.trim_end())
    })?;
    check_files(&lowered, false, files_max)?;
    check_distinct(&places(options), true).map_err(Stop::usage)?;
    let outlets = json(options.output.json.as_deref(), course(&options.mode))?;
    let sink = samples(options)?;
    let transcript = Transcript::new(options, targets);
    let wait = wait_before(options);
    say_part(&transcript.wait(wait));
    if !waited(wait, stop) {
        return Ok(INTERRUPTED);
    }
    let mut fleet = HostFleet::new(Clock::start(), stop.clone(), &lowered.places.workers, sink);
    let times = if options.output.is_response { Times::Response } else { Times::Service };
    let pictures = options.output.is_plot_all.then(|| Pictures::new(times));
    let observer = HostObserver::new(machine, true, outlets);
    let mut screen = Screen::new(observer, transcript, pictures, has_notes);
    screen.begin();
    let code = match &options.mode {
        Mode::Once | Mode::LoadOnly | Mode::Masterless | Mode::Dynamic(_) => {
            let load_only = options.mode == Mode::LoadOnly;
            let ran = memtide_run::run(&mut fleet, scenario, &lowered, load_only, &mut screen);
            let outcome = ran?;
            match (outcome.failure, outcome.record.ended_by) {
                (Some(Failure { message, .. }), _) => return Err(screen.fatal(message)),
                (None, EndedBy::Interrupted) => INTERRUPTED,
                (None, _) => 0,
            }
        }
        Mode::Search(search) => {
            let mut course =
                Bisect::new(f64::from(options.paced.rate_ops), search.rate_floor, search.retreat);
            let plan = plan(scenario, &around, aim(search, options.output.is_response));
            in_steps(&mut fleet, &plan, &mut course, &mut screen)?
        }
        Mode::Scan(scan) => {
            let from = f64::from(scan.min);
            // Without a step the rate never comes to its end.
            let to = if scan.step == 0 { from } else { f64::from(scan.max) };
            let rates = Rates::Range { from, to, step: f64::from(scan.step) };
            let plan = plan(scenario, &around, Aim::Goals);
            in_steps(&mut fleet, &plan, &mut Scan::new(rates), &mut screen)?
        }
    };
    fleet.finish_samples().map_err(|error| unwritable("--save", &error))?;
    screen.finish()?;
    Ok(code)
}

/// How the rates of steps are chosen, if there are steps.
const fn course(mode: &Mode) -> Option<CourseKind> {
    match mode {
        Mode::Search(_) => Some(CourseKind::Search),
        Mode::Scan(_) => Some(CourseKind::Scan),
        Mode::Once | Mode::LoadOnly | Mode::Masterless | Mode::Dynamic(_) => None,
    }
}

fn plan<'a>(scenario: &'a Scenario, around: &'a Surroundings, aim: Aim) -> StepsPlan<'a> {
    StepsPlan { scenario, around, aim, data: Data::Kept, steps_max: None }
}

fn in_steps(
    fleet: &mut HostFleet,
    plan: &StepsPlan<'_>,
    course: &mut impl Course,
    screen: &mut Screen<Transcript>,
) -> Result<u8, Stop> {
    let conclusion = steps(fleet, plan, course, screen);
    match (conclusion.failure, conclusion.ended_by) {
        (Some(message), _) => Err(screen.fatal(message)),
        (None, StepsEnd::Interrupted) => Ok(INTERRUPTED),
        // A search that finds nothing says so by its table alone.
        (None, _) => Ok(0),
    }
}

/// What the steps of a search are held against.
fn aim(search: &Search, is_response: bool) -> Aim {
    let kinds = match search.searched {
        Searched::Gets => vec![Kind::Get],
        Searched::Sets => vec![Kind::Set],
        Searched::Both => vec![Kind::Get, Kind::Set],
    };
    let measure = match search.statistic {
        Statistic::Mean => Measure::Mean,
        Statistic::Percentile(percent) => Measure::Percentile(percent),
    };
    let time = if is_response { Time::Response } else { Time::Service };
    Aim::AtMost { measured: Measured { kinds, measure, time }, bound_ns: search.bound_us * 1e3 }
}

/// Where its outputs go.
fn places(options: &Options) -> [(&str, Option<&str>); 3] {
    let output = &options.output;
    [
        ("--json", output.json.as_deref()),
        ("--save", output.save.as_deref()),
        ("--save_all", output.save_all.as_deref()),
    ]
}

/// Where single operations go, if they are saved.
fn samples(options: &Options) -> Result<Option<SampleSink>, Stop> {
    let output = &options.output;
    let mut files = Vec::new();
    for (path, saved, option) in [
        (&output.save, SavedOperations::Reads, "--save"),
        (&output.save_all, SavedOperations::All, "--save_all"),
    ] {
        if let Some(path) = path {
            files.push((create(option, path)?, saved));
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    Ok(Some(Box::new(move |sampled: Sampled<'_>| {
        files.iter_mut().try_for_each(|(file, saved)| match sampled {
            Sampled::One(sample) => match sample_line(&row(sample), *saved) {
                Some(line) => file.write_all(line.as_bytes()),
                None => Ok(()),
            },
            // A search leaves the operations of its last step, as the originals do.
            Sampled::Anew => file.flush().and_then(|()| file.get_mut().restart()),
            Sampled::Pause => Ok(()),
            Sampled::End => file.flush().and_then(|()| file.get_mut().commit()),
        })
    })))
}

/// How long nothing is done at first: measuring begins after `--wait`, and the warm-up before it.
fn wait_before(options: &Options) -> Span {
    options.paced.wait.saturating_sub(options.paced.warmup)
}

/// Waits before the load; says whether nobody interrupted that.
fn waited(wait: Span, stop: &StopFlag) -> bool {
    let mut left = wait;
    while !left.is_zero() && !stop.is_raised() {
        let step = left.min(LOOK_EVERY);
        std::thread::sleep(Duration::from_nanos(step.ns()));
        left = Span::from_ns(left.ns() - step.ns());
    }
    !stop.is_raised()
}
