//! `memtide run --repeat N`: the same run again and again, each over connections of its own or in a
//! process of its own, and the median of all.

use crate::cmd::ab::{CANNOT_BEGIN, Shown, carry_out, publish, run_once, try_places};
use crate::flags;
use clap::ArgMatches;
use memtide_base::rng::mix;
use memtide_host::signal::StopFlag;
use memtide_record::compare::{Named, Repeats};
use memtide_report::{repeat_line, repeats_markdown, repeats_text};
use memtide_scenario::{Goal, OutputKind, ProgressForm, Settings};
use memtide_session::FloorMode;
use memtide_session::console::{columns, complain};
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
    let mut each = single(settings);
    check_whole(&each, u64::from(each.scenario.servers.is_empty()))?;
    try_places(outputs)?;
    let floors = flags::floors(matches, FloorMode::Off, &each)?;
    let floor = matches.get_one::<String>("floor").map(|word| format!("--floor={word}"));
    let words: Vec<&str> = floor.iter().map(String::as_str).collect();
    let is_fresh = is_fresh(matches);
    let stop = caught(StopFlag::on_signals(i32::from(INTERRUPTED)))?;
    let watched = WatchedRuns::open(settings, &stop)?.map(Arc::new);
    let names = names(settings);
    let mut repeats = Repeats::new(asked);
    let mut shown = Shown::new(outputs);
    let mut code = 0;
    for number in 0..asked {
        let command = between.filter(|_| number > 0);
        if let Some(Err(why)) = command.map(|command| carry_out("between", command, &stop)) {
            complain(&why.message);
            code = why.code;
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
        shown.show(watched.as_deref(), &repeat_line(&repeats, &names));
    }
    watched.iter().for_each(|watched| watched.close());
    // Why there is no run was said already.
    if repeats.runs.is_empty() && CANNOT_BEGIN.contains(&code) {
        return Ok(code);
    }
    let shown = (!repeats.runs.is_empty()).then_some(&mut shown);
    let code = if code == 0 && !repeats.meets() { FAILED } else { code };
    Ok(publish(outputs, shown, code, |kind| match kind {
        None => repeats_text(&repeats, columns()),
        Some(OutputKind::Json) => repeats.to_json(),
        Some(_) => repeats_markdown(&repeats),
    }))
}

/// The settings of each run. Goals are about the median, so a single run is not judged; but as many
/// errors as they allow leave no run out.
fn single(settings: &Settings) -> Settings {
    let mut single = settings.clone();
    single.scenario.goals.clear();
    let allowed = settings.scenario.errors_allowed();
    if single.scenario.errors_allowed() != allowed {
        single.scenario.trust.errors_max = Some(allowed);
    }
    single.outputs = settings.outputs.of_one_of_several();
    single
}

/// True if each run has a process of its own.
fn is_fresh(matches: &ArgMatches) -> bool {
    matches.get_one::<String>("fresh").is_some_and(|word| word == "process")
}

/// Refuses what belongs to a single run.
fn check(settings: &Settings, matches: &ArgMatches) -> Result<(), Stop> {
    let Settings { scenario, outputs, placement, .. } = settings;
    check_undivided("--repeat", placement.shard, &variable)?;
    let kinds = [OutputKind::Json, OutputKind::Md];
    let unfit = [
        (
            is_fresh(matches) && placement.agents.which.is_some(),
            "--fresh process is about runs on this machine, and agents make theirs elsewhere",
        ),
        (
            is_fresh(matches) && (outputs.shown() == ProgressForm::Ui || outputs.web.is_some()),
            "--ui and --web do not show runs of other processes, which --fresh process starts",
        ),
        (outputs.full, "full prints the whole report of a single run"),
        (scenario.trust.strict.is_some(), "strict judges a single run"),
        (outputs.explain.is_some(), "explain is about a single run"),
        (outputs.verify_details.is_some(), "verify-details would mix the values of all runs"),
        (
            outputs.files().iter().any(|output| !kinds.contains(&output.kind)),
            "repeats are written as --json FILE, or as --out json=FILE or md=FILE",
        ),
    ];
    match unfit.iter().find(|(is_unfit, _)| *is_unfit) {
        Some((_, message)) => {
            Err(Stop::usage(format!("{message}; leave it out, or do without --repeat")))
        }
        None => Ok(check_places(outputs, &[])?),
    }
}

/// The figures of the goals; without goals, those that every run has.
fn names(settings: &Settings) -> Vec<Named> {
    let mut names: Vec<Named> = Vec::new();
    for Goal { subject, .. } in &settings.scenario.goals {
        if !names.contains(&Named::from(*subject)) {
            names.push(Named::from(*subject));
        }
    }
    if names.is_empty() {
        names.extend(FIGURES.iter().filter_map(|name| Named::parse(name).ok()));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_errors_as_a_goal_allows_leave_no_run_out() {
        for (goal, set, allowed) in [
            ("errors<5%", None, 0.05),
            ("errors<5%", Some(0.02), 0.02),
            ("all.p99<1ms", None, 0.01),
        ] {
            let mut settings = Settings::default();
            settings.scenario.goals = vec![goal.parse().unwrap()];
            settings.scenario.trust.errors_max = set;
            let single = single(&settings);
            assert!(single.scenario.goals.is_empty(), "{goal}");
            assert_eq!(single.scenario.errors_allowed(), allowed, "{goal}");
        }
    }
}
