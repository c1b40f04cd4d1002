//! A barrier in a folder that all processes share, such as one on NFS: each process creates a file
//! when it is ready, and the first process publishes the start by a rename.
//!
//! A rename is atomic, so no file is read incomplete. Locks are not used because shared file
//! systems implement them differently.

use super::{BarrierError, BarrierStart, Limit, Place};
use memtide_base::{Instant, Span};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{fs, io, process};

const READY: &str = "ready.";
const GONE: &str = "gone.";
const START: &str = "start";
const MISSING: &str = "missing ";
/// The interval at which a process looks into the folder.
const LOOK_EVERY: Span = Span::from_ms(10);
/// The interval at which a process changes the folder, which makes an NFS client ask its server
/// instead of its cache, which may be a minute old.
const REFRESH_EVERY: Span = Span::from_ms(500);
/// The time from publishing the start to the start: every process sees it after [`REFRESH_EVERY`]
/// at the latest, and the rest allows for a slow server.
const LEAD: Span = Span::from_s(2);

/// A process's place at a barrier.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    rank: u32,
    size: u32,
}

impl Folder {
    /// The barrier of `size` processes in the folder `key` in `path`, which is made if it is
    /// missing. A folder serves one run.
    ///
    /// # Errors
    /// If the folder cannot be made, or this process was there before, or the others have begun.
    /// Also if the folder around `path` is missing: a mistyped path would be a folder of this
    /// process alone.
    pub(super) fn open(
        path: &Path,
        key: &str,
        (rank, size): (u32, u32),
    ) -> Result<Self, BarrierError> {
        let around = path.parent().filter(|around| !around.as_os_str().is_empty());
        if let Some(around) = around {
            fs::metadata(around).map_err(|error| unusable(around, &error))?;
        }
        let path = if key.is_empty() { path.to_owned() } else { path.join(key) };
        fs::create_dir_all(&path).map_err(|error| unusable(&path, &error))?;
        let folder = Self { path, rank, size };
        if folder.has(READY) || folder.has(GONE) {
            return Err(BarrierError::Twice { rank });
        }
        match folder.said()? {
            None => Ok(folder),
            Some(said) => parse(&said).and(Err(BarrierError::Passed)),
        }
    }

    /// Announces that this process is ready.
    fn ready(&self) -> Result<(), BarrierError> {
        let path = self.own(READY);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(BarrierError::Twice { rank: self.rank })
            }
            Err(error) => Err(unusable(&path, &error)),
        }
    }

    /// The start, once it is published. The first process publishes it when all are ready.
    fn look(&self) -> Result<Option<BarrierStart>, BarrierError> {
        if let Some(said) = self.said()? {
            return parse(&said).map(Some);
        }
        if self.rank != 0 {
            return Ok(None);
        }
        let (absent, gone) = self.absent()?;
        if !gone.is_empty() {
            let ranks = self.missing_by(&gone);
            self.publish(START, &missing_words(&ranks))?;
            return Err(BarrierError::Missing { ranks });
        }
        if !absent.is_empty() {
            return Ok(None);
        }
        let words = BarrierStart::in_words(LEAD);
        self.publish(START, &words)?;
        BarrierStart::of_words(&words).map(Some)
    }

    /// Leaves after the time limit; returns the missing processes, or the reason why they are
    /// unknown.
    fn give_up(&self) -> BarrierError {
        let (absent, gone) = match self.absent() {
            Ok(missing) => missing,
            Err(error) => return error,
        };
        let mut gone = self.missing_by(&gone);
        gone.extend(absent);
        gone.sort_unstable();
        gone.dedup();
        self.go(&gone);
        match gone.is_empty() {
            // All processes came in the end, but the first has not published the start.
            true => BarrierError::Late,
            false => BarrierError::Missing { ranks: gone },
        }
    }

    /// Tells the other processes not to wait for this one; the first process ends all waits. A
    /// failure to write this is ignored.
    fn go(&self, missing: &[u32]) {
        if self.rank == 0 {
            drop(self.publish(START, &missing_words(missing)));
            return;
        }
        let why = if missing.is_empty() { String::new() } else { missing_words(missing) };
        drop(self.publish(&format!("{GONE}{}", self.rank), &why));
        drop(fs::remove_file(self.own(READY)));
    }

    /// The processes that those in `gone` waited for in vain, ascending. A process in `gone` that
    /// names no other is missing itself.
    fn missing_by(&self, gone: &[u32]) -> Vec<u32> {
        let all = gone.iter().flat_map(|rank| {
            let said = fs::read_to_string(self.path.join(format!("{GONE}{rank}")));
            match said.ok().map(|said| parse(&said)) {
                Some(Err(BarrierError::Missing { ranks })) => ranks,
                _ => vec![*rank],
            }
        });
        all.collect::<BTreeSet<u32>>().into_iter().collect()
    }

    /// The processes that have not come, and those that came and have left.
    fn absent(&self) -> Result<(Vec<u32>, Vec<u32>), BarrierError> {
        let entries = fs::read_dir(&self.path).map_err(|error| unusable(&self.path, &error))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let (mut ready, mut gone) = (BTreeSet::new(), BTreeSet::new());
        for name in names {
            for (prefix, ranks) in [(READY, &mut ready), (GONE, &mut gone)] {
                ranks.extend(name.strip_prefix(prefix).and_then(|rank| rank.parse::<u32>().ok()));
            }
        }
        let absent = (0..self.size).filter(|rank| !ready.contains(rank) && !gone.contains(rank));
        Ok((absent.collect(), gone.into_iter().collect()))
    }

    fn said(&self) -> Result<Option<String>, BarrierError> {
        let path = self.path.join(START);
        match fs::read_to_string(&path) {
            Ok(said) => Ok(Some(said)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unusable(&path, &error)),
        }
    }

    fn publish(&self, name: &str, text: &str) -> Result<(), BarrierError> {
        let draft = self.path.join(format!(".{name}.{}.{}", self.rank, process::id()));
        fs::write(&draft, text).map_err(|error| unusable(&draft, &error))?;
        let path = self.path.join(name);
        fs::rename(&draft, &path).map_err(|error| unusable(&path, &error))
    }

    /// Changes the folder without leaving a file. If that fails, the next look reports why.
    fn refresh(&self) {
        let path = self.own(".look.");
        drop(fs::write(&path, "").and_then(|()| fs::remove_file(&path)));
    }

    fn own(&self, prefix: &str) -> PathBuf {
        self.path.join(format!("{prefix}{}", self.rank))
    }

    fn has(&self, prefix: &str) -> bool {
        self.own(prefix).exists()
    }
}

impl Place for Folder {
    fn meet(self, until: &Limit) -> Result<BarrierStart, BarrierError> {
        self.ready()?;
        let mut refreshed = Instant::ZERO;
        loop {
            if until.is_abandoned() {
                self.go(&[self.rank]);
                return Err(BarrierError::Late);
            }
            if let Some(start) = self.look()? {
                return Ok(start);
            }
            if until.is_over() {
                return Err(self.give_up());
            }
            let now = until.clock.now();
            if now.since(refreshed) >= REFRESH_EVERY {
                refreshed = now;
                self.refresh();
            }
            until.clock.sleep_until(now + LOOK_EVERY);
        }
    }

    fn leave(self) {
        self.go(&[self.rank]);
    }
}

fn missing_words(ranks: &[u32]) -> String {
    let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
    format!("{MISSING}{}", ranks.join(","))
}

fn parse(said: &str) -> Result<BarrierStart, BarrierError> {
    match said.strip_prefix(MISSING) {
        Some(ranks) => {
            let ranks = ranks.split(',').filter_map(|rank| rank.trim().parse().ok()).collect();
            Err(BarrierError::Missing { ranks })
        }
        None => BarrierStart::of_words(said),
    }
}

fn unusable(path: &Path, error: &io::Error) -> BarrierError {
    BarrierError::Folder { path: path.to_owned(), why: error.to_string() }
}
