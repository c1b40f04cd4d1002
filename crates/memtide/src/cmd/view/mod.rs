//! `memtide view`: the pages of kept results, served to a browser on this machine until Ctrl-C. It
//! measures nothing and writes no file.

use crate::cmd::merge::files;
use crate::cmd::report::{Found, read};
use clap::ArgMatches;
use memtide_host::signal::StopFlag;
use memtide_merge::{Merging, Scenarios};
use memtide_record::Record;
use memtide_record::compare::RECORDS_MAX;
use memtide_report::{StepsPage, comparison_page, page};
use memtide_scenario::WebPlace;
use memtide_session::console::say;
use memtide_session::exit::{Stop, caught};
use memtide_sinks::serve_pages;
use std::thread;
use std::time::Duration;

/// The longest time between two looks whether the user has asked to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Serves the page of each result, and before them that of the run whose shares are among them, and
/// the page that compares the runs.
pub(crate) fn view(matches: &ArgMatches) -> Result<u8, Stop> {
    let mut paths = Vec::new();
    for word in matches.get_many::<String>("record").into_iter().flatten() {
        paths.extend(files(word, None)?.iter().map(|path| path.display().to_string()));
    }
    let place = matches.get_one::<String>("web").map_or_else(
        || Ok(WebPlace::default()),
        |word| word.parse::<WebPlace>().map_err(|why| Stop::usage(format!("--web: {why}"))),
    )?;
    let each = paths.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let (paths, found): (Vec<String>, Vec<Found>) = each.into_iter().flatten().unzip();
    let mut pages: Vec<(String, String)> = Vec::new();
    pages.extend(together(&paths, &found).map(|page| ("all shares as one run".to_owned(), page)));
    pages.extend(compared(&paths, &found).map(|page| ("side by side".to_owned(), page)));
    for (path, found) in paths.iter().zip(&found) {
        pages.push((path.clone(), text(found)));
    }
    let stop = StopFlag::on_signals(130);
    let stop = caught(stop)?;
    let site = serve_pages(&place, pages)
        .map_err(|error| Stop::usage(format!("--web={place}: {error}")))?;
    say(&format!("view these results at {}; Ctrl-C ends it", site.url()));
    while !stop.is_raised() {
        thread::sleep(LOOK_EVERY);
    }
    Ok(0)
}

/// The page of the run whose shares are among the results; none if fewer than two are, or if they
/// do not belong together, which is said.
fn together(paths: &[String], found: &[Found]) -> Option<String> {
    let shares: Vec<(&String, &Record)> = paths
        .iter()
        .zip(found)
        .filter_map(|(path, found)| match found {
            Found::Run(record) if record.share.is_some() => Some((path, record.as_ref())),
            _ => None,
        })
        .collect();
    if shares.len() < 2 {
        return None;
    }
    let mut merging = Merging::new(Scenarios::Same);
    let added = shares.iter().try_for_each(|(_, record)| merging.add((*record).clone()));
    match added.and_then(|()| merging.finish()) {
        Ok(record) => Some(page(&record)),
        Err(error) => {
            let why = error.message(|number| format!("'{}'", shares[number].0));
            say(&format!("no page shows all shares as one run: {why}"));
            None
        }
    }
}

/// The page that compares the runs among the results; none if they cannot be compared.
fn compared(paths: &[String], found: &[Found]) -> Option<String> {
    let runs: Vec<(String, Record)> = paths
        .iter()
        .zip(found)
        .filter_map(|(path, found)| match found {
            Found::Run(record) => Some((path.clone(), (**record).clone())),
            Found::Steps(_) => None,
        })
        .collect();
    let is_possible = (2..=RECORDS_MAX).contains(&runs.len());
    is_possible.then(|| comparison_page(&memtide_record::compare(&runs, &[]), &runs))
}

/// The page of a result.
fn text(found: &Found) -> String {
    match found {
        Found::Run(record) => page(record),
        Found::Steps(steps) => {
            let mut page = StepsPage::new(steps.course, &steps.goals);
            steps.steps.iter().for_each(|step| page.step(step));
            page.text(&steps.conclusion)
        }
    }
}
