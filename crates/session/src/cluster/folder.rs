//! The folder in which a user's own agents and masters find their common files.

use crate::exit::Stop;
use memtide_cluster::files::{self, Kept};
use memtide_cluster::law::LawWords;
use memtide_host::machine;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Address on which the master of a user's own agents listens.
const OWN_ADDRESS: &str = "127.0.0.1:11298";

/// The folders for this user's state, best first. Processes of one user find the same ones whether
/// or not they have an environment, as services have none: the user's home is then that of the
/// system's list. The last ones are for users whose home cannot be written, and end with a restart
/// of the machine.
fn state_folders() -> Vec<PathBuf> {
    let user = machine::user_number();
    let state = machine::user_folder("XDG_STATE_HOME", ".local/state");
    let runtime = machine::folder_variable("XDG_RUNTIME_DIR")
        .unwrap_or_else(|| PathBuf::from("/run/user").join(user.to_string()));
    let own = state.into_iter().chain([runtime]).map(|folder| folder.join("memtide"));
    own.chain([env::temp_dir().join(format!("memtide-{user}"))]).collect()
}

/// The first of the user's folders in which `open` succeeds, with what it returns.
fn first_folder<T>(open: impl Fn(&Path) -> Result<T, String>) -> Result<T, Stop> {
    let mut tried = Vec::new();
    for folder in state_folders() {
        match files::own_folder(&folder).and_then(|()| open(&folder)) {
            Ok(opened) => return Ok(opened),
            Err(why) => tried.push(why),
        }
    }
    let tried = tried.join("; ");
    Err(Stop::usage(format!(
        "memtide has nowhere to keep keys and records ({tried}); set HOME, XDG_STATE_HOME or \
         XDG_RUNTIME_DIR to a folder that only this user can write to"
    )))
}

/// The folder `path` for the records that agents keep, or that of the user's own agents.
pub fn records(path: Option<&Path>) -> Result<Kept, Stop> {
    let Some(path) = path else { return first_folder(|state| Kept::open(&state.join("records"))) };
    let opened = Kept::open(path);
    opened.map_err(|why| Stop::usage(format!("--records: {why}, or name another folder")))
}

/// The key of this user's own agents on this machine; created if it is missing.
pub fn own_key() -> Result<PathBuf, Stop> {
    first_folder(|state| {
        let folder = state.join("key");
        if files::read_identity(&folder).is_err() {
            // Other processes may make one at the same time: the first whole one stays.
            let made = state.join(format!("key-{}", std::process::id()));
            files::make_folder(&made, OWN_ADDRESS, None, LawWords::default())?;
            if fs::rename(&made, &folder).is_err() {
                drop(fs::remove_dir_all(&made));
            }
            files::read_identity(&folder)?;
        }
        Ok(folder)
    })
}
