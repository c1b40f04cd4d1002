//! Environments of launchers, and the share that each one names.

use super::*;

type Words<'a> = [(&'a str, &'a str)];

fn variable(words: &Words<'_>) -> impl Fn(&str) -> Option<String> {
    |name| words.iter().find(|(key, _)| *key == name).map(|(_, word)| (*word).to_owned())
}

/// The launcher, the rank and the size.
type Found = Option<(&'static str, u32, Option<u32>)>;

fn of(words: &Words<'_>) -> Result<Found, String> {
    let placed = placed(&variable(words))?;
    Ok(placed.map(|it| (it.launcher, it.rank, it.size)))
}

const STEP: [(&str, &str); 4] =
    [("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "2"), ("SLURM_NTASKS", "4"), ("SLURM_JOB_ID", "17")];

#[test]
fn a_step_of_slurm_says_rank_and_size_and_has_a_name() {
    assert_eq!(of(&STEP), Ok(Some(("Slurm", 2, Some(4)))));
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
    assert_eq!(of(&words), Ok(Some(("Open MPI", 5, Some(8)))));
    let served = [&STEP[..], &[("PMI_RANK", "2"), ("PMI_SIZE", "4")]].concat();
    assert_eq!(of(&served), Ok(Some(("Slurm", 2, Some(4)))));
}

#[test]
fn launchers_without_a_size_say_only_the_rank() {
    for (name, launcher) in [("JOB_COMPLETION_INDEX", "Kubernetes"), ("NOMAD_ALLOC_INDEX", "Nomad")]
    {
        assert_eq!(of(&[(name, "3")]), Ok(Some((launcher, 3, None))));
    }
}

#[test]
fn what_is_no_place_is_named() {
    for (words, sentence) in [
        (&[("PMI_RANK", "x"), ("PMI_SIZE", "4")][..], "PMI_RANK is 'x', which is not a number"),
        (&[("PMI_RANK", "4"), ("PMI_SIZE", "4")], "PMI_RANK is '4', which is not below the 4 of"),
        (&[("PMI_RANK", "4"), ("PMI_SIZE", "")], "PMI_SIZE is '', which is not a number"),
        (&[("PMI_RANK", "4")], "PMI_SIZE of PMI is not set"),
        (&[("SLURM_STEP_ID", "0")], "SLURM_PROCID of Slurm is not set"),
    ] {
        let error = of(words).unwrap_err();
        assert!(error.contains(sentence), "{words:?}: {error}");
    }
}
