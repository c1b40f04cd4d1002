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

use crate::exit::no_text;
use crate::output::{complain, say_part, show};
use memtide_compat::mutilate::{Face, face_for};
use memtide_compat::twemperf::is_asked_for;
use std::ffi::OsString;
use std::path::Path;

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
}

impl Tool {
    /// The tool of this name; of the two called `mcperf` the one whose options `words` are.
    fn named(name: &str, words: &[String]) -> Option<Self> {
        match name {
            "memaslap" | "memcaslap" => Some(Self::Memaslap),
            "twemperf" => Some(Self::Twemperf),
            "mcperf" if is_asked_for(words) => Some(Self::Twemperf),
            _ => Face::named(name).map(|face| Self::Mutilate(face_for(face, words))),
        }
    }
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
            };
        }
        match self.tool {
            Tool::Mutilate(face) => mutilate::run(face, &self.program, &self.words),
            Tool::Memaslap => memaslap::run(&self.program, &self.words),
            Tool::Twemperf => twemperf::run(&self.words),
        }
    }
}

/// Ends with words that were all decided beforehand.
fn ended(stop: &memtide_compat::Stop) -> u8 {
    // Nobody is left to tell if stdout is gone.
    drop(show(&stop.stdout));
    say_part(&stop.stderr);
    stop.code
}
