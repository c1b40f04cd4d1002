//! The faces of older load generators: memtide under their names, with their command lines.
//!
//! A face is chosen by the name that the program was called by, or by the subcommand; the face
//! alone interprets the words after it.

mod install;
mod mutilate;
mod memaslap;
mod twemperf;
mod screen;

pub(super) use install::install;

use crate::exit::no_text;
use crate::flags::MCPERF;
use memtide_compat::{Mcperf, Stop, mutilate as family};
use memtide_host::machine;
use memtide_host::signal::StopFlag;
use memtide_scenario::Settings;
#[cfg(feature = "cluster")]
use memtide_session::cluster::MasterWorld;
use memtide_session::console::{complain, say_part, show};
use memtide_session::placement::{division, variable};
use memtide_session::world::HostWorld;
use memtide_session::{Front, Session, Task};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Exit code of all older load generators for a wrong command line.
const USAGE: u8 = 1;
/// The join file beside a face's link, by which masters and agents authenticate each other.
#[cfg(feature = "cluster")]
const JOIN_FILE: &str = "memtide.join";
/// A longer chain of links is a cycle.
const LINKS_MAX: usize = 40;

/// An older load generator that memtide imitates: its command line becomes settings, a task, and a
/// front that prints the original's output.
trait Face {
    /// The original's exit code if it cannot begin.
    fn fatal(&self) -> u8;

    /// Parses `words` of a program called `program`. The error is the original's immediate end.
    fn read(&self, program: &str, words: &[String]) -> Result<Asked, Stop>;
}

/// The meaning of a face's command line.
enum Asked {
    /// A run, here or by agents.
    Run { settings: Box<Settings>, task: Task, front: Box<dyn Front> },
    /// Something else, which ends with this exit code.
    #[cfg(feature = "cluster")]
    Other(Box<dyn FnOnce() -> u8>),
}

/// A call of a face.
pub(crate) struct Call {
    face: Box<dyn Face>,
    /// The name in its error messages.
    program: String,
    /// The words after that name.
    words: Vec<String>,
    /// The error of the first word that is not text.
    garbled: Option<String>,
}

/// No face can be chosen, for this reason.
struct Unknown(String);

impl Face for Unknown {
    fn fatal(&self) -> u8 {
        USAGE
    }

    fn read(&self, program: &str, _words: &[String]) -> Result<Asked, Stop> {
        Err(Stop::complaint(format!("{program}: {}", self.0), USAGE))
    }
}

/// The face with this name.
fn named(name: &str, words: &[String]) -> Option<Box<dyn Face>> {
    match name {
        "memaslap" | "memcaslap" => Some(Box::new(memaslap::Memaslap)),
        "mutilate" => Some(Box::new(family::Face::Mutilate)),
        "mcperf" => Some(mcperf(words)),
        _ => Mcperf::of_link(name).map(face_of),
    }
}

/// Chooses one of the three tools called `mcperf`: the one that the environment names, else the one
/// whose folder or link the program was called by, else the one to which the options in `words`
/// belong.
fn mcperf(words: &[String]) -> Box<dyn Face> {
    let named = env::var_os(MCPERF).filter(|word| !word.is_empty());
    match named.map(|word| word.to_string_lossy().parse::<Mcperf>()) {
        Some(Ok(which)) => face_of(which),
        Some(Err(why)) => Box::new(Unknown(format!("{MCPERF}: {why}"))),
        None => face_of(by_link(machine::started_as()).unwrap_or_else(|| Mcperf::of_words(words))),
    }
}

fn face_of(which: Mcperf) -> Box<dyn Face> {
    match which {
        Mcperf::Perf => Box::new(family::Face::Mcperf),
        Mcperf::Dynamic => Box::new(family::Face::McperfDynamic),
        Mcperf::Twemperf => Box::new(twemperf::Twemperf),
    }
}

/// The tool that owns the folder of a link called `mcperf`, or to whose link it leads; links are
/// followed one after another.
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
    /// The face that these arguments call; the first argument is the program's own name.
    pub(crate) fn of(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let program = arguments.next()?.to_string_lossy().into_owned();
        let link = Path::new(&program).file_name()?.to_str()?;
        let mut garbled = None;
        let words = arguments.map(|word| {
            garbled = garbled.take().or_else(|| no_text(&word));
            word.to_string_lossy().into_owned()
        });
        let mut words: Vec<_> = words.collect();
        if let Some(face) = named(link, &words) {
            return Some(Self { face, program, words, garbled });
        }
        let program = (!words.is_empty()).then(|| words.remove(0))?;
        if program == "help" {
            // `memtide help mutilate` shows what `memtide mutilate --help` does.
            let [name] = words.as_slice() else { return None };
            let (face, program) = (named(name, &[])?, name.clone());
            let words = vec!["--help".to_owned()];
            return Some(Self { face, program, words, garbled });
        }
        named(&program, &words).map(|face| Self { face, program, words, garbled })
    }

    /// Runs the face; returns the exit code.
    pub(crate) fn answer(&self) -> u8 {
        if let Some(message) = &self.garbled {
            complain(message);
            return self.face.fatal();
        }
        match self.face.read(&self.program, &self.words) {
            Ok(Asked::Run { settings, task, front }) => run(*settings, task, front),
            #[cfg(feature = "cluster")]
            Ok(Asked::Other(perform)) => perform(),
            Err(stop) => {
                // If stdout is gone, the error cannot be reported.
                drop(show(&stop.stdout));
                say_part(&stop.stderr);
                stop.code
            }
        }
    }
}

/// Carries out a run, here or by agents; returns the exit code.
fn run(settings: Settings, task: Task, front: Box<dyn Front>) -> u8 {
    #[cfg(feature = "cluster")]
    if settings.placement.agents.which.is_some() {
        return Session { settings, task, front, world: MasterWorld }.run();
    }
    let division = match settings.placement.shard {
        None => Ok(None),
        shard => division(shard, &variable),
    };
    match division {
        Ok(share) => Session { settings, task, front, world: HostWorld::new(share) }.run(),
        Err(stop) => front.exit(Err(stop), &StopFlag::default()),
    }
}
