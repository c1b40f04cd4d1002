//! The faces of older load generators: memtide under their names, with their command lines.
//!
//! A face is chosen by the name that the program was called by, or by the subcommand; the words
//! after it are the face's alone.

mod install;
mod mutilate;
mod screen;

pub(super) use install::install;

use memtide_compat::mutilate::{Face, face_for};
use std::ffi::OsString;
use std::path::Path;

/// A face that was asked for.
pub(crate) struct Call {
    face: Face,
    /// The name under which it complains.
    program: String,
    /// The words after that name.
    words: Vec<String>,
}

impl Call {
    /// The face that these arguments ask for, the program's own name being the first.
    pub(crate) fn of(arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut words = arguments.map(|word| word.to_string_lossy().into_owned());
        let program = words.next()?;
        let name = Path::new(&program).file_name()?.to_str()?.to_owned();
        if let Some(face) = Face::named(&name) {
            return Some(Self::new(face, program, words.collect()));
        }
        let name = words.next()?;
        Face::named(&name).map(|face| Self::new(face, name.clone(), words.collect()))
    }

    fn new(face: Face, program: String, words: Vec<String>) -> Self {
        Self { face: face_for(face, &words), program, words }
    }

    /// Does what was asked; returns the exit code.
    pub(crate) fn answer(&self) -> u8 {
        mutilate::run(self.face, &self.program, &self.words)
    }
}
