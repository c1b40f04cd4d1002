//! The folder in which a user's own agents and masters find their common files.

use crate::exit::Stop;
use memtide_cluster::files::{self, Kept};
use memtide_cluster::law::LawWords;
use std::env;
use std::path::{Path, PathBuf};

/// Address on which the master of a user's own agents listens.
const OWN_ADDRESS: &str = "127.0.0.1:11298";

/// The user's folder for memtide's state: `$XDG_STATE_HOME/memtide`, or `~/.local/state/memtide`.
///
/// Cause: Neither XDG_STATE_HOME nor HOME is set to a folder.
fn state_folder() -> Result<PathBuf, Stop> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")));
    state.map(|state| state.join("memtide")).ok_or_else(|| {
        Stop::usage(
            "neither XDG_STATE_HOME nor HOME names a folder, so memtide has nowhere to keep keys \
             and records; set one of them, or use --key, --join and --records",
        )
    })
}

/// The folder `path` for the records that agents keep, or that of the user's own agents.
///
/// Cause: The folder for records cannot be made, or others can write to it.
///
/// To do: name another one with --records.
pub(crate) fn records(path: Option<&Path>) -> Result<Kept, Stop> {
    let folder = match path {
        Some(path) => path.to_owned(),
        None => state_folder()?.join("records"),
    };
    let opened = Kept::open(&folder);
    opened.map_err(|why| Stop::usage(format!("--records: {why}, or name another folder")))
}

/// The key of this user's own agents on this machine; created if it is missing.
pub(crate) fn own_key() -> Result<PathBuf, Stop> {
    let folder = state_folder()?.join("key");
    if files::read_identity(&folder).is_err() {
        let made = files::make_folder(&folder, OWN_ADDRESS, None, LawWords::default());
        // Another process may have created it at the same time.
        if let (Err(why), Err(_)) = (made, files::read_identity(&folder)) {
            return Err(Stop::usage(why));
        }
    }
    Ok(folder)
}
