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
mod tests {
    use super::*;

    type Words<'a> = [(&'a str, &'a str)];

    fn variable(words: &Words<'_>) -> impl Fn(&str) -> Option<String> {
        |name| words.iter().find(|(key, _)| *key == name).map(|(_, word)| (*word).to_owned())
    }

    fn of(words: &Words<'_>) -> Result<Option<(Launcher, u32, Option<u32>)>, Unreadable> {
        let placed = placed(&variable(words))?;
        Ok(placed.map(|it| (it.launcher, it.rank, it.size)))
    }

    const STEP: [(&str, &str); 4] = [
        ("SLURM_STEP_ID", "0"),
        ("SLURM_PROCID", "2"),
        ("SLURM_NTASKS", "4"),
        ("SLURM_JOB_ID", "17"),
    ];

    #[test]
    fn a_step_of_slurm_says_rank_and_size_and_has_a_name() {
        assert_eq!(of(&STEP), Ok(Some((Launcher::Slurm, 2, Some(4)))));
        assert_eq!(key(&variable(&STEP)), Some("memtide-17.0.0".to_owned()));
        let again = [&STEP[..], &[(SLURM_RESTARTS, "1")]].concat();
        assert_eq!(restarts(&variable(&again)), 1);
        assert_eq!(key(&variable(&again)), Some("memtide-17.0.1".to_owned()));
    }

    #[test]
    fn a_batch_script_and_a_shell_are_no_step() {
        assert_eq!(of(&STEP[1..]), Ok(None));
        // The variables of `salloc`'s interactive step.
        let shell = [&[("SLURM_STEP_ID", "4294967290")], &STEP[1..]].concat();
        assert_eq!((of(&shell), key(&variable(&shell))), (Ok(None), None));
    }

    #[test]
    fn launchers_within_a_slurm_job_say_more_than_their_daemons_step() {
        let own = [("OMPI_COMM_WORLD_RANK", "5"), ("OMPI_COMM_WORLD_SIZE", "8")];
        let words = [&STEP[..], &own].concat();
        assert_eq!(of(&words), Ok(Some((Launcher::OpenMpi, 5, Some(8)))));
        let served = [&STEP[..], &[("PMI_RANK", "2"), ("PMI_SIZE", "4")]].concat();
        assert_eq!(of(&served), Ok(Some((Launcher::Slurm, 2, Some(4)))));
    }

    #[test]
    fn launchers_without_a_size_say_only_the_rank() {
        for (name, launcher) in
            [("JOB_COMPLETION_INDEX", Launcher::Kubernetes), ("NOMAD_ALLOC_INDEX", Launcher::Nomad)]
        {
            assert_eq!(of(&[(name, "3")]), Ok(Some((launcher, 3, None))));
        }
    }

    #[test]
    fn what_is_no_place_is_named() {
        let error = of(&[("PMI_RANK", "x"), ("PMI_SIZE", "4")]).unwrap_err();
        assert_eq!((error.variable, &*error.value), ("PMI_RANK", "x"));
        let error = of(&[("PMI_RANK", "4"), ("PMI_SIZE", "4")]).unwrap_err();
        assert_eq!(error.allowed, "below the 4 of PMI_SIZE");
        let error = of(&[("SLURM_STEP_ID", "0")]).unwrap_err();
        assert_eq!((error.variable, &*error.value), ("SLURM_PROCID", ""));
    }
}
