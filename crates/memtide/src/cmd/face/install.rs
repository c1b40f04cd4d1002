//! `memtide install-faces`: links by which old scripts find this program under the names that they
//! know.

use crate::exit::{FAILED, Stop};
use crate::flags::FACES;
use crate::output::show;
use clap::ArgMatches;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Makes the links; says which.
pub(in crate::cmd) fn install(matches: &ArgMatches) -> Result<u8, Stop> {
    let folder = matches.get_one::<PathBuf>("folder").expect("it is required");
    let program = env::current_exe()
        .map_err(|error| Stop { code: FAILED, message: format!("cannot find myself: {error}") })?;
    if !folder.is_dir() {
        return Err(Stop::usage(format!(
            "'{}' is not a folder; make it first, or name one that PATH has",
            folder.display()
        )));
    }
    let places: Vec<PathBuf> = FACES.iter().map(|name| folder.join(name)).collect();
    if let Some(taken) = places.iter().find(|place| !is_free(place, &program)) {
        return Err(Stop {
            code: FAILED,
            message: format!(
                "'{}' is something else already; move it away first, or name another folder",
                taken.display()
            ),
        });
    }
    let mut said = String::new();
    for place in places {
        link(&program, &place).map_err(|error| Stop {
            code: FAILED,
            message: format!("cannot make the link '{}': {error}", place.display()),
        })?;
        said += &format!("{} -> {}\n", place.display(), program.display());
    }
    drop(show(&said));
    Ok(0)
}

/// Whether nothing stands there but perhaps a link to this program.
fn is_free(place: &Path, program: &Path) -> bool {
    match fs::read_link(place) {
        Ok(target) => target == program,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn link(program: &Path, place: &Path) -> io::Result<()> {
    match std::os::unix::fs::symlink(program, place) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}
