//! Shares by words and environments: who carries out what, and the messages of refusals.

use super::*;

type Words<'a> = &'a [(&'a str, &'a str)];

const STEP: Words<'_> =
    &[("SLURM_STEP_ID", "3"), ("SLURM_PROCID", "2"), ("SLURM_NTASKS", "4"), ("SLURM_JOB_ID", "9")];
const BATCH: Words<'_> = &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4"), ("SLURM_JOB_ID", "9")];
const POD: Words<'_> = &[("JOB_COMPLETION_INDEX", "2")];

fn environment(words: Words<'_>) -> impl Fn(&str) -> Option<String> {
    |name| words.iter().find(|(key, _)| *key == name).map(|(_, word)| (*word).to_owned())
}

fn said(word: &str) -> Option<ShardWord> {
    (!word.is_empty()).then(|| word.parse().unwrap())
}

/// The share for these words.
fn share(word: &str, words: Words<'_>) -> Result<Option<(u32, u32)>, String> {
    let division = division(said(word), &environment(words)).map_err(|stop| stop.message)?;
    Ok(division.map(|it| (it.share.number, it.share.of)))
}

#[test]
fn words_and_launchers_name_a_share() {
    for (word, words, wanted) in [
        ("", &[][..], None),
        ("", BATCH, None),
        ("", POD, None),
        ("", &[("PMI_RANK", "0"), ("PMI_SIZE", "1")], None),
        ("none", STEP, None),
        ("1/2", &[], Some((1, 2))),
        ("1/2", STEP, Some((1, 2))),
        ("auto", STEP, Some((2, 4))),
        ("auto/4", STEP, Some((2, 4))),
        ("auto/3", POD, Some((2, 3))),
        ("auto", &[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2")], Some((0, 2))),
    ] {
        assert_eq!(share(word, words), Ok(wanted), "{word} {words:?}");
    }
}

#[test]
fn accidents_are_refused_with_what_was_found_and_what_to_do() {
    for (word, words, sentence) in [
        ("", STEP, &["Slurm started 4 processes", "process 2, SLURM_PROCID", "--shard auto"][..]),
        ("", STEP, &["--shard none to send it 4 times"]),
        ("auto", &[], &["is set: SLURM_STEP_ID", "PMI_RANK", "--shard 0/4"]),
        ("auto", BATCH, &["is set: SLURM_STEP_ID"]),
        ("auto/3", &[], &["JOB_COMPLETION_INDEX", "NOMAD_ALLOC_INDEX", "--shard 0/3"]),
        ("auto", POD, &["Kubernetes gives the number", "JOB_COMPLETION_INDEX=2", "--shard auto/N"]),
        ("auto/2", POD, &["JOB_COMPLETION_INDEX is 2", "0 to 1"]),
        ("auto/2", STEP, &["Slurm started 4 processes", "--shard auto/4"]),
        ("auto", &[("PMI_RANK", "a")], &["PMI_RANK is 'a'", "not a number", "--shard none"]),
        ("", &[("PMI_RANK", "0")], &["PMI_SIZE of PMI is not set", "--shard none"]),
    ] {
        let message = share(word, words).unwrap_err();
        for part in sentence {
            assert!(message.contains(part), "{word}: '{part}' is not in: {message}");
        }
    }
}

#[test]
fn searches_are_not_divided_and_not_copied() {
    let refusal = |word, words| {
        check_undivided("search", said(word), &environment(words)).map_err(|stop| stop.message)
    };
    assert_eq!(
        (refusal("", &[]), refusal("none", STEP), refusal("", BATCH)),
        (Ok(()), Ok(()), Ok(()))
    );
    let divided = refusal("0/2", &[]).unwrap_err();
    assert!(divided.contains("search cannot be divided") && divided.contains("--shard 0/2"));
    let copied = refusal("", STEP).unwrap_err();
    assert!(copied.contains("Slurm started 4 processes") && copied.contains("cannot be divided"));
}

#[test]
fn a_share_that_slurm_started_again_says_so() {
    let again = [STEP, &[("SLURM_RESTART_COUNT", "2")]].concat();
    for word in ["auto", "1/2"] {
        let first = division(said(word), &environment(STEP)).unwrap().unwrap();
        assert_eq!((first.check_first(), first.key.as_deref()), (Ok(()), Some("memtide-9.3.0")));
        let second = division(said(word), &environment(&again)).unwrap().unwrap();
        let NotRun(why) = second.check_first().unwrap_err();
        assert!(why.contains("SLURM_RESTART_COUNT=2"), "{why}");
    }
}
