//! Environment variables by which schedulers and launchers number their processes.
//!
//! Pure: the caller passes the environment, and decides whether a share may run.

/// The process's position among others, from the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Name of the launcher that set it.
    pub(crate) launcher: &'static str,
    /// Name of the variable that holds the rank.
    pub(crate) variable: &'static str,
    /// Rank of the process, from 0.
    pub(crate) rank: u32,
    /// Number of processes; none if the launcher does not report it.
    pub(crate) size: Option<u32>,
}

/// A launcher and the names of its variables.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Launcher {
    name: &'static str,
    /// The variable with the rank, which also identifies the launcher.
    rank: &'static str,
    size: Option<&'static str>,
}

/// Slurm's `srun`; a batch script has the variables of its job but is no step.
const SLURM: Launcher =
    Launcher { name: "Slurm", rank: "SLURM_PROCID", size: Some("SLURM_NTASKS") };

/// The launchers. Open MPI and PMI come before Slurm: within a job they start their own daemons as
/// a step, whose variables their processes inherit. An Indexed Job of Kubernetes and a job of Nomad
/// do not report their size.
const LAUNCHERS: [Launcher; 5] = [
    Launcher { name: "Open MPI", rank: "OMPI_COMM_WORLD_RANK", size: Some("OMPI_COMM_WORLD_SIZE") },
    Launcher { name: "PMI", rank: "PMI_RANK", size: Some("PMI_SIZE") },
    SLURM,
    Launcher { name: "Kubernetes", rank: "JOB_COMPLETION_INDEX", size: None },
    Launcher { name: "Nomad", rank: "NOMAD_ALLOC_INDEX", size: None },
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

/// The position that the environment `variable` gives this process; none without a launcher.
///
/// # Errors
/// If a launcher's variables are missing or are no numbers, as a sentence.
pub(crate) fn placed(variable: &impl Fn(&str) -> Option<String>) -> Result<Option<Placed>, String> {
    let launcher = LAUNCHERS.into_iter().find(|launcher| match *launcher {
        SLURM => step(variable).is_some(),
        Launcher { rank, .. } => variable(rank).is_some(),
    });
    let Some(launcher) = launcher else { return Ok(None) };
    let found = read(launcher, variable)?;
    // Slurm itself can serve PMI.
    let own = step(variable).and_then(|_| read(SLURM, variable).ok());
    let own = own.filter(|own| (own.rank, own.size) == (found.rank, found.size));
    Ok(Some(own.unwrap_or(found)))
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

/// The position that a launcher's variables describe.
fn read(launcher: Launcher, variable: &impl Fn(&str) -> Option<String>) -> Result<Placed, String> {
    let Launcher { name, rank: of_rank, size: of_size } = launcher;
    let rank = number(of_rank, name, variable)?;
    let size = of_size.map(|of_size| number(of_size, name, variable)).transpose()?;
    match size.zip(of_size) {
        Some((size, of_size)) if rank >= size => Err(format!(
            "the environment variable {of_rank} is '{rank}', which is not below the {size} of \
             {of_size}"
        )),
        _ => Ok(Placed { launcher: name, variable: of_rank, rank, size }),
    }
}

/// The number in the variable `name` of `launcher`.
fn number(
    name: &str,
    launcher: &str,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<u32, String> {
    let Some(word) = variable(name) else {
        return Err(format!("the environment variable {name} of {launcher} is not set"));
    };
    word.trim().parse().map_err(|_| {
        format!(
            "the environment variable {name} is '{word}', which is not a number from 0 to \
             4294967295"
        )
    })
}

#[cfg(test)]
mod tests;
