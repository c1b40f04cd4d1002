//! `memtide run --repeat N`: the same run again and again, each over connections of its own or in a
//! process of its own, and the median of all.

use crate::cmd::ab::{carry_out, publish, run_once};
use crate::flags;
use clap::ArgMatches;
use memtide_base::rng::mix;
use memtide_host::signal::StopFlag;
use memtide_record::compare::{Named, Repeats};
use memtide_report::{repeat_line, repeats_markdown, repeats_text};
use memtide_scenario::{Goal, Output, OutputKind, Outputs, Settings};
use memtide_session::FloorMode;
use memtide_session::console::{columns, complain, show_part};
use memtide_session::exit::{FAILED, INTERRUPTED, Stop, caught};
use memtide_session::fresh;
use memtide_session::placement::{check_undivided, variable};
use memtide_session::{WatchedRuns, check_whole};
use memtide_sinks::check_places;
use std::sync::Arc;

/// The figures of runs without goals.
const FIGURES: [&str; 3] = ["all.p50", "all.p99", "rate"];

/// Runs `asked` times; returns the exit code.
pub(super) fn repeat(asked: u32, matches: &ArgMatches, settings: &Settings) -> Result<u8, Stop> {
    let between = matches.get_one::<String>("between");
    let outputs = &settings.outputs;
    check(settings, matches)?;
    let mut each = settings.clone();
    // Goals are about the median; a single run is not judged.
    each.scenario.goals.clear();
    each.outputs = Outputs { quiet: outputs.quiet, ..Outputs::default() };
    check_whole(&each, u64::from(each.scenario.servers.is_empty()))?;
    let floors = flags::floors(matches, FloorMode::Off, &each);
    let floor = matches.get_one::<String>("floor").map(|word| format!("--floor={word}"));
    let words: Vec<&str> = floor.iter().map(String::as_str).collect();
    let is_fresh = is_fresh(matches);
    let stop = caught(StopFlag::on_signals(i32::from(INTERRUPTED), false))?;
    let watched = WatchedRuns::open(settings, &stop)?.map(Arc::new);
    let names = names(settings);
    let mut repeats = Repeats::new(asked);
    let mut shows = !outputs.is_on_stdout();
    let mut code = 0;
    for number in 0..asked {
        let before = between.filter(|_| number > 0).map(|command| carry_out("between", command));
        if let Some(Err(why)) = before {
            complain(&why.message);
            code = if stop.is_raised() { INTERRUPTED } else { why.code };
            break;
        }
        if stop.is_raised() {
            code = INTERRUPTED;
            break;
        }
        if let Some(watched) = &watched {
            watched.live().lock().next_run(format!("run {} of {asked}", number + 1));
        }
        if number > 0 && settings.scenario.gap_seed.is_none() {
            // The same arrivals again would hide how much arrivals alone change the figures.
            each.scenario.gap_seed = Some(mix(settings.scenario.seed ^ u64::from(number + 1)));
        }
        let ran = match is_fresh {
            true => fresh::run(&each, &words, false, &|| stop.is_raised()),
            false => run_once(each.clone(), watched.clone(), floors.clone()),
        };
        match ran {
            Ok(record) => repeats.add(record, &names, &settings.scenario.goals),
            Err(failed) => {
                code = failed;
                break;
            }
        }
        let line = repeat_line(&repeats, &names);
        let shown = || watched.as_ref().map_or_else(|| show_part(&line), |it| it.show_part(&line));
        shows = shows && shown().is_ok();
    }
    watched.iter().for_each(|watched| watched.close());
    // Why there is none was said already.
    if repeats.runs.is_empty() {
        return Ok(code);
    }
    let code = if code == 0 && !repeats.meets() { FAILED } else { code };
    Ok(publish(outputs, shows, code, |kind| match kind {
        None => repeats_text(&repeats, columns()),
        Some(OutputKind::Json) => repeats.to_json(),
        Some(_) => repeats_markdown(&repeats),
    }))
}

/// True if each run has a process of its own.
fn is_fresh(matches: &ArgMatches) -> bool {
    matches.get_one::<String>("fresh").is_some_and(|word| word == "process")
}

/// Refuses what belongs to a single run.
///
/// Cause: The field is about a single run, and `--repeat` makes many.
///
/// To do: Leave it out, or do without `--repeat`.
fn check(settings: &Settings, matches: &ArgMatches) -> Result<(), Stop> {
    let Settings { scenario, outputs, placement } = settings;
    check_undivided("--repeat", placement.shard, &variable)?;
    let is_other = |output: &Output| !matches!(output.kind, OutputKind::Json | OutputKind::Md);
    let unfit = [
        (
            is_fresh(matches) && placement.agents.which.is_some(),
            "--fresh process is about runs on this machine, and agents make theirs elsewhere",
        ),
        (scenario.trust.strict.is_some(), "strict judges a single run"),
        (outputs.explain.is_some(), "explain is about a single run"),
        (outputs.verify_details.is_some(), "verify-details would mix the values of all runs"),
        (
            outputs.files().iter().any(is_other),
            "repeats are written as --json FILE, or as --out json=FILE or md=FILE",
        ),
    ];
    match unfit.iter().find(|(is_unfit, _)| *is_unfit) {
        Some((_, message)) => Err(Stop::usage(format!("{message}; do without --repeat"))),
        None => Ok(check_places(outputs, &[])?),
    }
}

/// The figures of the goals; without goals, those that every run has.
fn names(settings: &Settings) -> Vec<Named> {
    let mut names: Vec<Named> = Vec::new();
    for Goal { subject, .. } in &settings.scenario.goals {
        if !names.contains(&Named::Goal(*subject)) {
            names.push(Named::Goal(*subject));
        }
    }
    if names.is_empty() {
        names.extend(FIGURES.iter().filter_map(|name| Named::parse(name).ok()));
    }
    names
}
