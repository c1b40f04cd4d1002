//! `memtide install-faces`: links under the names of older load generators, so that existing
//! scripts find this program.

#[cfg(feature = "cluster")]
mod join;

use crate::flags::FACES;
use clap::ArgMatches;
use memtide_compat::Mcperf;
use memtide_session::console::show;
use memtide_session::exit::{FAILED, Stop};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Creates the links, and prints each.
pub(in crate::cmd) fn install(matches: &ArgMatches) -> Result<u8, Stop> {
    let folder = matches.get_one::<PathBuf>("folder").expect("it is required");
    let mcperf = matches.get_one::<Mcperf>("mcperf").copied();
    let failed = |message: String| Stop { code: FAILED, message };
    let program = env::current_exe().map_err(|error| {
        failed(format!("the path of this program is unknown: {error}; start it by its path"))
    })?;
    fs::create_dir_all(folder).map_err(|error| {
        Stop::usage(format!(
            "the folder '{}' cannot be created: {error}; name another folder",
            folder.display()
        ))
    })?;
    let links = links(folder, &program, mcperf);
    if let Some((taken, _)) = links.iter().find(|(place, _)| !is_free(place, &program)) {
        return Err(failed(format!(
            "'{}' exists and is not a link of memtide; move it away, or name another folder",
            taken.display()
        )));
    }
    let mut said = String::new();
    for (place, target) in links {
        link(&target, &place).map_err(|error| {
            failed(format!(
                "the link '{}' cannot be created: {error}; name another folder",
                place.display()
            ))
        })?;
        said += &format!("{} -> {}\n", place.display(), target.display());
    }
    #[cfg(feature = "cluster")]
    if let Some(path) = matches.get_one::<PathBuf>("join") {
        said += &join::install(path, folder, crate::cmd::agent::law_words(matches))
            .map_err(Stop::usage)?;
    }
    drop(show(&said));
    Ok(0)
}

/// Every link with its target: this program; if a tool was chosen for `mcperf`, that link leads to
/// the tool's link.
fn links(folder: &Path, program: &Path, mcperf: Option<Mcperf>) -> Vec<(PathBuf, PathBuf)> {
    let mut links: Vec<(PathBuf, PathBuf)> =
        FACES.iter().map(|name| (folder.join(name), program.to_owned())).collect();
    let Some(which) = mcperf else { return links };
    for (place, target) in &mut links {
        if place.ends_with("mcperf") {
            *target = PathBuf::from(which.link());
        }
    }
    if !FACES.contains(&which.link()) {
        links.push((folder.join(which.link()), program.to_owned()));
    }
    links
}

/// True if the path is free, or holds a link that this command created earlier.
fn is_free(place: &Path, program: &Path) -> bool {
    match fs::read_link(place) {
        Ok(target) => target == program || target.to_str().and_then(Mcperf::of_link).is_some(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Creates a link; replaces one that leads elsewhere.
fn link(target: &Path, place: &Path) -> io::Result<()> {
    match fs::read_link(place) {
        Ok(old) if old == target => return Ok(()),
        Ok(_) => fs::remove_file(place)?,
        Err(_) => {}
    }
    std::os::unix::fs::symlink(target, place)
}
