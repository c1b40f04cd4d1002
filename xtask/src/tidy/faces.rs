//! Flags in the texts that users of other load generators can see: a face's user knows none of
//! memtide's flags. Reads the strings of the sources, so that no message can be forgotten.

use super::Finding;
use super::source::Source;
use std::collections::BTreeSet;

/// Sources that only memtide's own commands run; faces share all others.
const NATIVE: [&str; 6] = [
    "crates/belief/src/machine",
    "crates/memtide/src/cmd/",
    "crates/memtide/src/flags/",
    "crates/memtide/src/exit/foreign",
    "crates/scenario/src/",
    "crates/report/src/",
];

/// Texts with flags in the other sources: their path, a part of the text, and why no face's user
/// sees them. One that excuses nothing is itself a finding.
const EXCUSED: &[(&str, &str, &str)] = &[
    ("crates/cluster/src/master/gathering.rs", "--join FILE", "faces name all of their agents"),
    ("crates/compat/src/memaslap/transcript.rs", "--", "it replaces these flags by options"),
    ("crates/session/src/cluster/folder.rs", "--records", "a flag of memtide agent"),
    ("crates/session/src/cluster/master_runner.rs", "--abort-on", "no face has it"),
    ("crates/session/src/cluster/master_runner.rs", "--agents", "a face without agents has none"),
    (
        "crates/session/src/cluster/master_runner.rs",
        "--prepare-timeout",
        "none with a face's words",
    ),
    ("crates/session/src/cluster/master_world.rs", "--", "faces set none of these fields"),
    ("crates/session/src/cluster/serving.rs", "start it with", "no master of a face requests it"),
    ("crates/memtide/src/exit.rs", "--release", "a flag of cargo, to users of memtide itself"),
    ("crates/memtide/src/cmd/face/install/", "--allow-target", "a flag of memtide install-faces"),
    ("crates/session/src/placement/", "--", "the face has variables in place of these flags"),
    ("crates/session/src/world/embedded.rs", "--", "faces need servers"),
    ("crates/session/src/front.rs", "--expect", "it is in the profile of memtide itself"),
    ("crates/session/src/outlets.rs", "--verify-details", "no face has it"),
    ("crates/session/src/outlets.rs", "a simulation", "no face simulates"),
    ("crates/session/src/room.rs", "--", "only memtide's own commands check memory"),
    ("crates/session/src/watching.rs", "--", "no face shows a run in these ways"),
    ("crates/session/src/world/simulated.rs", "--trace", "no face simulates"),
    ("crates/session/src/world/no_tls.rs", "--tls", "no face has TLS"),
    ("crates/session/src/world/tls.rs", "--", "no face has TLS"),
    ("crates/merge/src/", "--force", "a flag of memtide merge"),
    ("crates/record/src/warning", "--", "remedies, which faces leave out or word themselves"),
    ("crates/sinks/src/ending.rs", "--", "these names are compared, and not printed"),
    ("crates/sinks/src/influx/output.rs", "spool", "no face has a spool"),
    ("crates/sinks/src/kinds.rs", "--verify-details", "no face has it"),
];

/// A finding for each text of a face with a flag that is none of the faces' options, and for each
/// text of a source that faces share with a flag of memtide.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let of_options = |source: &&Source| {
        let names = ["rows.rs", "options.rs", "twemperf/args.rs"];
        source.part() == "compat" && names.iter().any(|name| source.path.ends_with(name))
    };
    let options: BTreeSet<&str> = sources
        .iter()
        .filter(of_options)
        .flat_map(|source| source.strings().map(|(_, text)| text))
        .collect();
    let mut findings = Vec::new();
    let mut idle: Vec<_> = EXCUSED.to_vec();
    for source in sources.iter().filter(|source| source.path.starts_with("crates/")) {
        let is_face = is_face(source);
        if !is_face && NATIVE.iter().any(|begin| source.path.starts_with(begin)) {
            continue;
        }
        for (at, text) in source.strings() {
            let text = shown(text);
            let foreign = |flag: &&str| !(is_face && options.contains(flag));
            let Some(flag) = flags(&text).into_iter().find(foreign) else { continue };
            let excuses = |(path, part, _): &&(&str, &str, &str)| {
                source.path.starts_with(path) && text.contains(part)
            };
            if let Some(excuse) = EXCUSED.iter().find(excuses) {
                idle.retain(|other| other != excuse);
                continue;
            }
            let what = format!("a user of a face can see --{flag} in '{text}'");
            let why = "no other load generator has memtide's flags";
            let instead = "word it as a Remedy, which each face says in its own words, or say in \
                           xtask/src/tidy/faces.rs why no face prints it";
            findings.push(Finding::in_source(source, at, what, why, instead));
        }
    }
    for (path, part, _) in idle {
        let what = format!("the excuse for '{part}' excuses nothing");
        let instead = "take it out of xtask/src/tidy/faces.rs";
        findings.push(Finding::new(path, 0, what, "the list must stay true", instead));
    }
    findings
}

/// True if the file words what another load generator says.
fn is_face(source: &Source) -> bool {
    let is_face = source.path.contains("/face/") && !source.path.ends_with("/install.rs");
    is_face || source.part() == "compat"
}

/// A string of the source as users see it, without the line breaks of the source.
fn shown(text: &str) -> String {
    let mut lines = text.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |shown, line| shown + line.trim_start())
}

/// The long flags in `text`, without their dashes, outside of quoted commands of memtide.
fn flags(text: &str) -> Vec<&str> {
    let mut parts = text.split("'memtide ");
    let first = parts.next();
    let behind = parts.filter_map(|part| part.split_once('\'').map(|(_, rest)| rest));
    let plain = first.into_iter().chain(behind);
    let is_flag = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    let names = plain.flat_map(|part| part.split("--").skip(1));
    let names = names.map(|rest| rest.split(|c| !is_flag(c)).next().unwrap_or_default());
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())).collect()
}

#[cfg(test)]
mod tests;
