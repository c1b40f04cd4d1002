//! Files and folders, with the path in every error.

use serde_json::Value;
use std::fs;
use std::io::Error;
use std::path::{Path, PathBuf};

/// Words an error of the file or folder at `path`.
pub(crate) fn at(path: &Path) -> impl Fn(Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

/// The bytes of a file.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(at(file))
}

/// A file with JSON.
///
/// # Errors
/// If it cannot be read, or is no JSON.
pub(crate) fn json(file: &Path) -> Result<Value, String> {
    serde_json::from_slice(&read(file)?).map_err(|error| format!("{}: {error}", file.display()))
}

/// Writes a file, and makes the folders above it.
///
/// # Errors
/// If that is not possible.
pub(crate) fn put(file: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::create_dir_all(file.parent().unwrap_or(file)).map_err(at(file))?;
    fs::write(file, bytes).map_err(at(file))
}

/// An empty folder; its former content is deleted.
///
/// # Errors
/// If that is not possible.
pub(crate) fn emptied(folder: PathBuf) -> Result<PathBuf, String> {
    removed(&folder)?;
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    Ok(folder)
}

/// Removes a folder, if it exists, with its content.
///
/// # Errors
/// If that is not possible.
pub(crate) fn removed(folder: &Path) -> Result<(), String> {
    if folder.exists() { fs::remove_dir_all(folder).map_err(at(folder)) } else { Ok(()) }
}

/// The paths in a folder.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn inside(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(at(folder))?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(at(folder))).collect()
}
