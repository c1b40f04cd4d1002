//! The faces of older load generators: memtide under their names, with their command lines.
//!
//! A face is chosen by the name that the program was called by, or by the subcommand; the words
//! after it are the face's alone.

mod install;
mod mutilate;
mod memaslap;
mod twemperf;
mod screen;

pub(super) use install::install;

use crate::exit::{Stop, no_text};
use crate::flags::MCPERF;
use crate::output::{complain, say_part, show};
use memtide_compat::Mcperf;
use memtide_compat::mutilate::Face;
use memtide_host::machine;
use memtide_host::signal::StopFlag;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What all older load generators exit with when a word is wrong.
const USAGE: u8 = 1;
/// More links than this in a row are a circle.
const LINKS_MAX: usize = 40;

/// A face that was asked for.
pub(crate) struct Call {
    tool: Tool,
    /// The name under which it complains.
    program: String,
    /// The words after that name.
    words: Vec<String>,
    /// What is wrong with the first word that is no text.
    garbled: Option<String>,
}

/// An older load generator.
enum Tool {
    /// One of mutilate's family.
    Mutilate(Face),
    Memaslap,
    Twemperf,
    /// None, for this reason.
    Unknown(String),
}

impl Tool {
    /// The tool of this name.
    fn named(name: &str, words: &[String]) -> Option<Self> {
        match name {
            "memaslap" | "memcaslap" => Some(Self::Memaslap),
            "mutilate" => Some(Self::Mutilate(Face::Mutilate)),
            "mcperf" => Some(Self::mcperf(words)),
            _ => Mcperf::of_link(name).map(Self::from),
        }
    }

    /// Of the three tools called `mcperf` the one that the environment names, else the one whose
    /// folder or link the program was called by, else the one whose options `words` are.
    fn mcperf(words: &[String]) -> Self {
        let named = env::var_os(MCPERF).filter(|word| !word.is_empty());
        match named.map(|word| word.to_string_lossy().parse::<Mcperf>()) {
            Some(Ok(which)) => which.into(),
            Some(Err(why)) => Self::Unknown(format!("{MCPERF}: {why}")),
            None => {
                by_link(machine::started_as()).unwrap_or_else(|| Mcperf::of_words(words)).into()
            }
        }
    }
}

impl From<Mcperf> for Tool {
    fn from(which: Mcperf) -> Self {
        match which {
            Mcperf::Perf => Self::Mutilate(Face::Mcperf),
            Mcperf::Dynamic => Self::Mutilate(Face::McperfDynamic),
            Mcperf::Twemperf => Self::Twemperf,
        }
    }
}

/// The tool in whose folder a link called `mcperf` stands, or whose own link it leads to, from one
/// link to the next.
fn by_link(mut path: PathBuf) -> Option<Mcperf> {
    for _ in 0..LINKS_MAX {
        let name = path.file_name()?.to_str()?;
        if name != "mcperf" {
            return Mcperf::of_link(name);
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = fs::canonicalize(parent.unwrap_or(Path::new("."))).ok()?;
        let named = folder.file_name().and_then(|name| name.to_str());
        if let Some(which) = named.and_then(Mcperf::of_folder) {
            return Some(which);
        }
        path = folder.join(fs::read_link(&path).ok()?);
    }
    None
}

impl Call {
    /// The face that these arguments ask for, the program's own name being the first.
    pub(crate) fn of(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let program = arguments.next()?.to_string_lossy().into_owned();
        let link = Path::new(&program).file_name()?.to_str()?;
        let mut garbled = None;
        let words = arguments.map(|word| {
            garbled = garbled.take().or_else(|| no_text(&word));
            word.to_string_lossy().into_owned()
        });
        let mut words: Vec<_> = words.collect();
        if let Some(tool) = Tool::named(link, &words) {
            return Some(Self { tool, program, words, garbled });
        }
        let program = (!words.is_empty()).then(|| words.remove(0))?;
        if program == "help" {
            // `memtide help mutilate` shows what `memtide mutilate --help` does.
            let [face] = words.as_slice() else { return None };
            let tool = Tool::named(face, &[])?;
            let words = vec!["--help".to_owned()];
            return Some(Self { tool, program: face.clone(), words, garbled });
        }
        Tool::named(&program, &words).map(|tool| Self { tool, program, words, garbled })
    }

    /// Does what was asked; returns the exit code.
    pub(crate) fn answer(&self) -> u8 {
        if let Some(message) = &self.garbled {
            complain(message);
            return match self.tool {
                Tool::Mutilate(_) => mutilate::FATAL,
                Tool::Memaslap => memaslap::FATAL,
                Tool::Twemperf => twemperf::FATAL,
                Tool::Unknown(_) => USAGE,
            };
        }
        match &self.tool {
            Tool::Mutilate(face) => mutilate::run(*face, &self.program, &self.words),
            Tool::Memaslap => memaslap::run(&self.program, &self.words),
            Tool::Twemperf => twemperf::run(&self.words),
            Tool::Unknown(why) => {
                say_part(&format!("{}: {why}\n", self.program));
                USAGE
            }
        }
    }
}

/// The flag that signals raise as they kill the older load generators.
fn stop_flag() -> Result<StopFlag, Stop> {
    StopFlag::on_deadly_signals()
        .map_err(|error| Stop::usage(format!("signals cannot be caught: {error}")))
}

/// Ends with words that were all decided beforehand.
fn ended(stop: &memtide_compat::Stop) -> u8 {
    // Nobody is left to tell if stdout is gone.
    drop(show(&stop.stdout));
    say_part(&stop.stderr);
    stop.code
}
