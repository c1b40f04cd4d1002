//! Installs the join file beside the links of the faces.

use super::super::JOIN_FILE;
use super::link;
use memtide_cluster::files;
use memtide_cluster::join::Join;
use memtide_cluster::law::{Law, LawWords};
use std::fs;
use std::path::Path;

/// Puts the join file `path` beside the links in `folder`: as a link, or with `limits` as a copy
/// that contains them. Returns the line to print.
pub(super) fn install(path: &Path, folder: &Path, limits: LawWords) -> Result<String, String> {
    let join = files::read_join(path)?;
    let place = folder.join(JOIN_FILE);
    let is_ours = match place.symlink_metadata() {
        Ok(found) => found.is_symlink(),
        Err(_) => true,
    };
    if !is_ours {
        return Err(format!("'{}' already exists; remove it first", place.display()));
    }
    if limits == LawWords::default() {
        let target = fs::canonicalize(path)
            .map_err(|error| format!("the path of '{}' is unknown: {error}", path.display()))?;
        link(&target, &place).map_err(|error| {
            format!("the link '{}' cannot be created: {error}", place.display())
        })?;
        return Ok(format!("{} -> {}\n", place.display(), target.display()));
    }
    if join.limits != LawWords::default() {
        return Err(format!(
            "{} already contains limits; remove --allow-target and the other limits, or name a \
             join file without limits",
            path.display()
        ));
    }
    Law::parse(&limits)?.complete()?;
    if place.is_symlink() {
        fs::remove_file(&place).map_err(|error| format!("'{}': {error}", place.display()))?;
    }
    files::write_join(&place, &Join { limits, ..join })?;
    Ok(format!("{}: a copy of {} with limits\n", place.display(), path.display()))
}
