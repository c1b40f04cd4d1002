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

/// A launcher's name and its variables: the rank, which also identifies it, and the size.
type Variables = (&'static str, &'static str, Option<&'static str>);

/// Slurm's `srun`; a batch script has the variables of its job but is no step.
const SLURM: Variables = ("Slurm", "SLURM_PROCID", Some("SLURM_NTASKS"));

/// The launchers. Open MPI and PMI come before Slurm: within a job they start their own daemons as
/// a step, whose variables their processes inherit. An Indexed Job of Kubernetes and a job of Nomad
/// do not report their size.
const LAUNCHERS: [Variables; 5] = [
    ("Open MPI", "OMPI_COMM_WORLD_RANK", Some("OMPI_COMM_WORLD_SIZE")),
    ("PMI", "PMI_RANK", Some("PMI_SIZE")),
    SLURM,
    ("Kubernetes", "JOB_COMPLETION_INDEX", None),
    ("Nomad", "NOMAD_ALLOC_INDEX", None),
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
    let is_there = |names: &&Variables| match **names {
        SLURM => step(variable).is_some(),
        (_, rank, _) => variable(rank).is_some(),
    };
    let Some(&names) = LAUNCHERS.iter().find(is_there) else { return Ok(None) };
    let found = read(names, variable)?;
    // Slurm itself can serve PMI.
    let own = step(variable).and_then(|_| read(SLURM, variable).ok());
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

/// The position that a launcher's variables describe.
fn read(
    (launcher, of_rank, of_size): Variables,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Placed, String> {
    let number = |name: &str| match variable(name) {
        None => Err(format!("the environment variable {name} of {launcher} is not set")),
        Some(word) => word.trim().parse::<u32>().map_err(|_| {
            format!(
                "the environment variable {name} is '{word}', which is not a number from 0 to \
                 4294967295"
            )
        }),
    };
    let rank = number(of_rank)?;
    let size = of_size.map(number).transpose()?;
    match size.zip(of_size) {
        Some((size, name)) if rank >= size => Err(format!(
            "the environment variable {of_rank} is '{rank}', which is not below the {size} of \
             {name}"
        )),
        _ => Ok(Placed { launcher, variable: of_rank, rank, size }),
    }
}

#[cfg(test)]
mod tests;
