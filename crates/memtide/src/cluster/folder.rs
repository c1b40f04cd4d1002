//! The folder in which a user's own agents and masters find their common files.

use crate::exit::Stop;
use std::env;
use std::path::PathBuf;

/// The user's folder for memtide's state: `$XDG_STATE_HOME/memtide`, or `~/.local/state/memtide`.
///
/// Cause: Neither XDG_STATE_HOME nor HOME is set to a folder.
pub(crate) fn state_folder() -> Result<PathBuf, Stop> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")));
    state.map(|state| state.join("memtide")).ok_or_else(|| {
        Stop::usage(
            "neither XDG_STATE_HOME nor HOME names a folder, so memtide has nowhere to keep keys \
             and records; set one of them, or use --key, --join and --records",
        )
    })
}
