//! A container image as a docker-archive, written by `xtask/dist/image.sh`.

use crate::commands::told;
use crate::files::at;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name that manifests use for the image.
pub(crate) const NAME: &str = "localhost/memtide:latest";
/// The user of the image: neither root nor a user of the machine.
pub(crate) const USER: u32 = 65532;

/// Writes an image called `name` to `file`, with `programs` in `/usr/bin`, each under its name. A
/// container starts the first.
///
/// # Errors
/// If a file cannot be read or written.
pub(crate) fn write(file: &Path, name: &str, programs: &[(&str, &Path)]) -> Result<(), String> {
    let script: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/image.sh");
    let mut image = Command::new(script);
    image.arg(file).args([name, &USER.to_string()]);
    image.args(programs.iter().map(|(name, path)| format!("{name}={}", path.display())));
    told(&mut image).map(drop)
}

/// Unpacks the layer of the image in `file` into `folder`.
///
/// # Errors
/// If the image cannot be read or a file cannot be written.
pub(super) fn unpack(file: &Path, folder: &Path) -> Result<(), String> {
    let layer = folder.join("layer.tar");
    told(Command::new("tar").arg("-C").arg(folder).arg("-xf").arg(file).arg("layer.tar"))?;
    told(Command::new("tar").arg("-C").arg(folder).arg("-xpf").arg(&layer))?;
    fs::remove_file(&layer).map_err(at(&layer))
}

#[cfg(test)]
mod tests;
