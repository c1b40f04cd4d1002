//! Two outputs to one file, found also through links.

use super::{folder, followed, stdout_file};
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Identifies a file, to compare two outputs.
#[derive(PartialEq, Eq)]
enum Identity {
    There { device: u64, number: u64 },
    NotYet(PathBuf),
}

/// Refuses two outputs to the same file, also through links; `-` is stdout, and `has_report` says
/// that the report goes to stdout, too.
///
/// # Errors
/// A sentence that names both.
pub fn check_distinct(outputs: &[(&str, Option<&str>)], has_report: bool) -> Result<(), String> {
    let mut seen: Vec<(&str, &str, Identity)> = Vec::new();
    let given = outputs.iter().filter_map(|&(flag, place)| Some((flag, place?)));
    for (flag, place) in given {
        let Some(identity) = identity(place) else { continue };
        if let Some((other, there, _)) = seen.iter().find(|(.., seen)| *seen == identity) {
            return Err(format!(
                "{other} '{there}' and {flag} '{place}' are the same file; give each a file of \
                 its own"
            ));
        }
        seen.push((flag, place, identity));
    }
    let report = stdout().filter(|out| has_report && out.is_file());
    let Some(report) = report.and_then(|out| identity_of(&out)) else { return Ok(()) };
    match seen.iter().find(|(_, place, seen)| *place != "-" && *seen == report) {
        Some((flag, place, _)) => Err(format!(
            "{flag} '{place}' is the file to which stdout writes the report; name another file"
        )),
        None => Ok(()),
    }
}

fn identity(place: &str) -> Option<Identity> {
    if place == "-" {
        return stdout().and_then(|out| identity_of(&out));
    }
    match fs::metadata(place) {
        Ok(there) => identity_of(&there),
        Err(_) => {
            let path = followed(Path::new(place)).ok()?;
            Some(Identity::NotYet(fs::canonicalize(folder(&path)).ok()?.join(path.file_name()?)))
        }
    }
}

fn stdout() -> Option<Metadata> {
    stdout_file().ok()?.metadata().ok()
}

/// Identity of a file; none for devices such as /dev/null, which keep nothing.
fn identity_of(there: &Metadata) -> Option<Identity> {
    /// Major number of `/dev/null`, `/dev/full` and similar devices.
    const MEMORY_DEVICES: u64 = 1;
    let is_memory = there.file_type().is_char_device() && there.rdev() >> 8 == MEMORY_DEVICES;
    (!is_memory).then(|| Identity::There { device: there.dev(), number: there.ino() })
}
