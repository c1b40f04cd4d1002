//! Environment variables by which schedulers and launchers number their processes.
//!
//! Pure: the caller passes the environment, and decides whether a share may run.

use std::fmt;

/// A launcher that starts the processes of one job and numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launcher {
    /// Slurm's `srun`; a batch script has the variables of its job but is no step.
    Slurm,
    /// A launcher that serves PMI-1, such as `mpiexec.hydra`.
    Pmi,
    /// Open MPI's `mpirun`.
    OpenMpi,
    /// An Indexed Job of Kubernetes, which does not report its number of pods.
    Kubernetes,
    /// A job of Nomad, which does not report its number of allocations.
    Nomad,
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slurm => "Slurm",
            Self::Pmi => "PMI",
            Self::OpenMpi => "Open MPI",
            Self::Kubernetes => "Kubernetes",
            Self::Nomad => "Nomad",
        })
    }
}

/// The process's position among others, from the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// The launcher that set it.
    pub(crate) launcher: Launcher,
    /// Name of the variable that holds the rank.
    pub(crate) variable: &'static str,
    /// Rank of the process, from 0.
    pub(crate) rank: u32,
    /// Number of processes; none if the launcher does not report it.
    pub(crate) size: Option<u32>,
}

/// A launcher's variables: the one that identifies it, the rank, and the size.
struct Variables {
    launcher: Launcher,
    mark: &'static str,
    rank: &'static str,
    size: Option<&'static str>,
}

const SLURM: Variables = Variables {
    launcher: Launcher::Slurm,
    mark: SLURM_STEP,
    rank: "SLURM_PROCID",
    size: Some("SLURM_NTASKS"),
};

/// Open MPI and PMI come before Slurm: within a job they start their own daemons as a step, whose
/// variables their processes inherit.
const LAUNCHERS: [Variables; 5] = [
    Variables {
        launcher: Launcher::OpenMpi,
        mark: "OMPI_COMM_WORLD_RANK",
        rank: "OMPI_COMM_WORLD_RANK",
        size: Some("OMPI_COMM_WORLD_SIZE"),
    },
    Variables {
        launcher: Launcher::Pmi,
        mark: "PMI_RANK",
        rank: "PMI_RANK",
        size: Some("PMI_SIZE"),
    },
    SLURM,
    Variables {
        launcher: Launcher::Kubernetes,
        mark: "JOB_COMPLETION_INDEX",
        rank: "JOB_COMPLETION_INDEX",
        size: None,
    },
    Variables {
        launcher: Launcher::Nomad,
        mark: "NOMAD_ALLOC_INDEX",
        rank: "NOMAD_ALLOC_INDEX",
        size: None,
    },
];

const SLURM_STEP: &str = "SLURM_STEP_ID";
/// The variable with the number of times that Slurm has requeued the job.
pub(crate) const SLURM_RESTARTS: &str = "SLURM_RESTART_COUNT";
/// Slurm's step numbers from here on are not from `srun`: batch scripts, interactive shells.
const SLURM_STEPS_END: u32 = 0xffff_fff0;

/// Variables with rank and size, for messages.
pub(crate) const WITH_SIZE: &str =
    "SLURM_STEP_ID (a step of Slurm), PMI_RANK (PMI) or OMPI_COMM_WORLD_RANK (Open MPI)";
/// Variables with only a rank, for messages.
pub(crate) const WITHOUT_SIZE: &str =
    "JOB_COMPLETION_INDEX (Kubernetes) or NOMAD_ALLOC_INDEX (Nomad)";

/// A launcher's variable that is no number, or a rank outside its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    variable: &'static str,
    value: String,
    allowed: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { variable, value, allowed } = self;
        write!(f, "the environment variable {variable} is '{value}', which is not {allowed}")
    }
}

/// The position that the environment `variable` gives this process; none without a launcher.
///
/// # Errors
/// If a launcher's variables are missing or are no numbers.
pub(crate) fn placed(
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Option<Placed>, Unreadable> {
    let is_there = |names: &&Variables| match names.launcher {
        Launcher::Slurm => step(variable).is_some(),
        _ => variable(names.mark).is_some(),
    };
    let Some(names) = LAUNCHERS.iter().find(is_there) else { return Ok(None) };
    let found = read(names, variable)?;
    // Slurm itself can serve PMI.
    let own = step(variable).and_then(|_| read(&SLURM, variable).ok());
    let is_same = |own: &Placed| (own.rank, own.size) == (found.rank, found.size);
    Ok(Some(own.filter(is_same).unwrap_or(found)))
}

/// Number of times that Slurm has restarted the job; 0 without Slurm.
pub(crate) fn restarts(variable: &impl Fn(&str) -> Option<String>) -> u32 {
    variable(SLURM_RESTARTS).and_then(|word| word.trim().parse().ok()).unwrap_or(0)
}

/// An identifier that only processes started together have; none if no launcher sets one.
pub(crate) fn key(variable: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let job = variable("SLURM_JOB_ID").filter(|job| job.bytes().all(|b| b.is_ascii_digit()))?;
    Some(format!("memtide-{job}.{}.{}", step(variable)?, restarts(variable)))
}

/// Number of this process's Slurm step; none outside `srun`.
fn step(variable: &impl Fn(&str) -> Option<String>) -> Option<u32> {
    let number: u32 = variable(SLURM_STEP)?.trim().parse().ok()?;
    Some(number).filter(|number| *number < SLURM_STEPS_END)
}

fn read(
    names: &Variables,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Placed, Unreadable> {
    let number = |name: &'static str| {
        let value = variable(name).unwrap_or_default();
        value.trim().parse::<u32>().map_err(|_| {
            let allowed = "a number from 0 to 4294967295".to_owned();
            Unreadable { variable: name, value, allowed }
        })
    };
    let rank = number(names.rank)?;
    let size = names.size.map(number).transpose()?;
    if let Some(size) = size
        && rank >= size
    {
        let allowed = format!("below the {size} of {}", names.size.unwrap_or_default());
        return Err(Unreadable { variable: names.rank, value: rank.to_string(), allowed });
    }
    Ok(Placed { launcher: names.launcher, variable: names.rank, rank, size })
}

#[cfg(test)]
mod tests;
