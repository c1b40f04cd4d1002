//! Determines the share of a run that this process carries out, from the user's words and its
//! launcher; refuses divisions that are probably mistakes.
//!
//! It makes no load and opens nothing; the barriers are in `barrier`.

pub(crate) mod barrier;
mod launcher;

use crate::exit::Stop;
use launcher::{Placed, WITH_SIZE, WITHOUT_SIZE, key, placed, restarts};
use memtide_run::{NotRun, Share};
use memtide_scenario::ShardWord;

/// A process's share of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    /// The share.
    pub share: Share,
    /// Number of times that the launcher restarted the share.
    restarts: u32,
    /// An identifier that only processes started together have; none if no launcher sets one.
    pub(crate) key: Option<String>,
}

impl Division {
    /// A share that no launcher assigned.
    #[cfg(feature = "cluster")]
    pub(crate) const fn of(share: Share) -> Self {
        Self { share, restarts: 0, key: None }
    }

    /// Refuses a share that was restarted: the others have begun, either without it or with its
    /// first start.
    pub(crate) fn check_first(&self) -> Result<(), NotRun> {
        match self.restarts {
            0 => Ok(()),
            count => Err(NotRun(format!(
                "Slurm restarted it ({}={count}), and the other shares began without it; submit \
                 the whole job anew",
                launcher::SLURM_RESTARTS
            ))),
        }
    }
}

/// The value of an environment variable.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The share of a run or a fill, from `word` and the environment `variable`; none if this process
/// does all of it.
pub fn division(
    word: Option<ShardWord>,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Option<Division>, Stop> {
    let share = match word {
        Some(ShardWord::Whole) => return Ok(None),
        None => {
            return alone(variable, |count| {
                format!(
                    "add --shard auto to divide the load, or --shard none to send it {count} \
                         times"
                )
            });
        }
        Some(ShardWord::One { number, of }) => Share::one(number, of),
        Some(ShardWord::Auto { of }) => automatic(of, variable)?,
    };
    Ok(Some(Division { share, restarts: restarts(variable), key: key(variable) }))
}

/// Refuses shares and copies of `command`, a search or a scan.
pub fn check_undivided(
    command: &str,
    word: Option<ShardWord>,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<(), Stop> {
    let why = format!(
        "memtide {command} cannot be divided into shares, because each step depends \
                       on the result of the one before"
    );
    match word {
        Some(ShardWord::Whole) => Ok(()),
        Some(word) => Err(Stop::usage(format!(
            "--shard {word}: {why}; start it once, with more --threads, or use memtide run --shard \
             for each rate"
        ))),
        None => alone(variable, |count| {
            format!("{why}; start it once, or use --shard none to start it {count} times")
        })
        .map(drop),
    }
}

/// Refuses one of several processes that would each send the whole load; `instead` gives the remedy
/// for their number.
fn alone(
    variable: &impl Fn(&str) -> Option<String>,
    instead: impl Fn(u32) -> String,
) -> Result<Option<Division>, Stop> {
    let found = placed(variable).map_err(unreadable)?;
    let Some((Placed { launcher, variable, rank, .. }, size)) =
        found.and_then(|found| Some((found, found.size.filter(|size| *size > 1)?)))
    else {
        return Ok(None);
    };
    Err(Stop::usage(format!(
        "{launcher} started {size} processes, and each would send the whole load (this is process \
         {rank}, {variable}); {}",
        instead(size)
    )))
}

/// The share that the launcher assigned to this process; of `of` shares if the user gives their
/// number.
fn automatic(of: Option<u32>, variable: &impl Fn(&str) -> Option<String>) -> Result<Share, Stop> {
    let found = placed(variable).map_err(unreadable)?;
    let Some(Placed { launcher, variable, rank, size }) = found else {
        return Err(Stop::usage(match of {
            None => format!(
                "--shard auto: none of these variables is set: {WITH_SIZE}; give the share, such \
                 as --shard 0/4"
            ),
            Some(of) => format!(
                "--shard auto/{of}: none of these variables is set: {WITH_SIZE}, {WITHOUT_SIZE}; \
                 give the share, such as --shard 0/{of}"
            ),
        }));
    };
    let why = match (of, size) {
        (None, None) => format!(
            "--shard auto: {launcher} gives the number of this process ({variable}={rank}) but not \
             their count; use --shard auto/N"
        ),
        (Some(of), Some(size)) if of != size => format!(
            "--shard auto/{of}: {launcher} started {size} processes; use --shard auto/{size} or \
             --shard auto"
        ),
        (Some(of), _) if rank >= of => format!(
            "--shard auto/{of}: {variable} is {rank}, but shares are numbered 0 to {}; give the \
             number of processes that {launcher} starts",
            of - 1
        ),
        (Some(of), _) | (None, Some(of)) => return Ok(Share::one(rank, of)),
    };
    Err(Stop::usage(why))
}

fn unreadable(why: String) -> Stop {
    Stop::usage(format!("{why}; give the share, such as --shard 0/4, or use --shard none"))
}

#[cfg(test)]
mod tests;
