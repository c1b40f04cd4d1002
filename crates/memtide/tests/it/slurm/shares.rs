//! Shares that `srun` starts: together, lost during the load, restarted, and refused if not
//! divided.

use super::cluster::Cluster;
use super::processes_in;
use crate::prelude::*;
use rustix::process::{Pid, kill_process};

/// Rate of the whole run, in operations per second.
const RATE: u64 = 800;
/// Time limit until the load is in progress.
const PATIENCE: Duration = Duration::from_secs(120);

/// A line that runs four shares of a run with these words, each on a node, with records in
/// `folder`. `srun` gets the words of `launch`; each share runs `first` before.
fn step(folder: &str, launch: &str, first: &str, words: &str) -> String {
    format!(
        "mkdir {folder}; srun -N4 -n4 {launch} bash -c '{first} exec \"$MEMTIDE\" run \
         --server $HEAD --rate {RATE} --arrival fixed --connections 8 --keys 100 --load always \
         --quiet --shard auto {words} --json {folder}/$SLURM_PROCID.json >/dev/null'\n"
    )
}

/// The records in `folder`, by share number.
fn records(folder: &Path) -> Vec<(u32, Record)> {
    let read = |number: u32| {
        let path = folder.join(format!("{number}.json"));
        path.exists().then(|| (number, record_at(&path)))
    };
    (0..4).filter_map(read).collect()
}

/// Asserts that `count` is near `planned`: each lane's schedule begins with a part of a gap, and
/// the window's ends cut others.
fn assert_near(count: u64, planned: u64) {
    assert!(count.abs_diff(planned) <= 8, "{count} operations, {planned} planned");
}

/// Merges the records in `folder` with these words; the merged record is `folder` with `.json`.
fn merge(folder: &Path, words: &str) -> (Finished, Record) {
    let path = folder.with_extension("json");
    let line = format!("merge {} {words} --json {}", folder.display(), path.display());
    let merged = memtide(&line);
    assert!(path.exists(), "{merged}");
    let record = record_at(&path);
    (merged, record)
}

#[test]
fn shares_of_a_step_begin_together_and_their_servers_counts_are_exact() {
    let Some(cluster) =
        Cluster::up("shares_of_a_step_begin_together_and_their_servers_counts_are_exact")
    else {
        return;
    };
    cluster.start_server();
    for (folder, launch, barrier) in [("pmi", "--mpi=pmi2", "pmi"), ("dir", "", "dir:$PWD/barrier")]
    {
        let words = format!("--duration 1500ms --barrier {barrier}");
        let ran = cluster.shell(&step(folder, launch, "", &words)).exits(0);
        let folder = cluster.folder().join(folder);
        let records = records(&folder);
        assert_eq!(records.len(), 4, "{ran}");
        for (number, record) in &records {
            let share = record.share.as_ref().unwrap();
            assert_eq!((share.number, share.of, &share.not_run), (*number, 4, &None), "{ran}");
            assert!(!record.partial, "{ran}");
            assert_near(record.totals.intended, RATE * 3 / 2 / 4);
        }
        let (merged, record) = merge(&folder, "");
        let merged = merged.exits(0);
        assert_near(record.totals.intended, RATE * 3 / 2);
        assert_eq!(record.totals.answered, record.totals.intended, "{merged}");
        assert_eq!(record.totals.misses, 0, "{merged}");
        assert_counters_equal(&record);
        // All nodes are one machine here, so they have one clock, and the skew is known.
        assert!(record.start_skew_ns.is_some(), "{merged}");
        assert!(merged.out.contains("start skew"), "{merged}");
    }
}

/// Gets that a share sends after its fill, as a sample of its keys.
const SAMPLE: u64 = 1_000;

/// Waits until the server beside the controller has counted `least` gets.
fn await_gets(cluster: &Cluster, least: u64) {
    let ask = "exec 3<>/dev/tcp/$HEAD/11211; printf 'stats\\r\\nquit\\r\\n' >&3; cat <&3";
    let started = Instant::now();
    loop {
        let said = cluster.shell(ask).exits(0);
        let gets = said.out.lines().find_map(|line| line.strip_prefix("STAT cmd_get "));
        if gets.unwrap().trim().parse::<u64>().unwrap() >= least {
            return;
        }
        assert!(started.elapsed() < PATIENCE, "the load does not get under way: {said}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The cluster's process that carries out this share.
fn process_of(cluster: &Cluster, share: u32) -> Pid {
    let of_share = |path: &Path| {
        let program = fs::read_link(path.join("exe")).ok()?;
        let environment = fs::read(path.join("environ")).ok()?;
        let word = format!("SLURM_PROCID={share}");
        let is_it = program == Path::new(env!("CARGO_BIN_EXE_memtide"))
            && environment.split(|byte| *byte == 0).any(|each| each == word.as_bytes());
        is_it.then(|| path.file_name()?.to_str()?.parse().ok()).flatten()
    };
    let found = processes_in(&cluster.namespace()).iter().find_map(|path| of_share(path));
    Pid::from_raw(found.unwrap()).unwrap()
}

/// Runs four shares and kills number 2 during the load.
fn lose_a_share(cluster: &Cluster, launch: &str) -> Vec<(u32, Record)> {
    cluster.start_server();
    let words = "--barrier pmi --duration 8s";
    let running = cluster.start(&step("lost", &format!("--mpi=pmi2 {launch}"), "", words));
    await_gets(cluster, 4 * SAMPLE + RATE / 2);
    kill_process(process_of(cluster, 2), Signal::KILL).unwrap();
    let ran = running.finish().exits(137);
    let records = records(&cluster.folder().join("lost"));
    let numbers: Vec<u32> = records.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 1, 3], "{ran}");
    records
}

/// Merges the records of the remaining shares; the merged record must name the lost one.
fn merge_the_rest(cluster: &Cluster, survivors: &[(u32, Record)]) -> Record {
    let folder = cluster.folder().join("lost");
    let (refused, record) = merge(&folder, "");
    let refused = refused.exits(1);
    let (merged, allowed) = merge(&folder, "--allow-missing");
    let merged = merged.exits(0);
    for said in [&refused, &merged] {
        let text = format!("{}{}", said.out, said.err);
        assert!(text.contains("lane 2") && text.contains("25"), "{said}");
    }
    assert_eq!(record, allowed, "{merged}");
    let sum = |count: fn(&Record) -> u64| -> u64 {
        survivors.iter().map(|(_, record)| count(record)).sum()
    };
    assert_eq!(record.totals.intended, sum(|record| record.totals.intended));
    assert_eq!(record.totals.answered, sum(|record| record.totals.answered));
    record
}

#[test]
fn the_others_finish_and_merge_when_a_share_is_killed() {
    let Some(cluster) = Cluster::up("the_others_finish_and_merge_when_a_share_is_killed") else {
        return;
    };
    let survivors = lose_a_share(&cluster, "");
    for (_, record) in &survivors {
        assert!(!record.partial);
        assert_near(record.totals.intended, RATE * 8 / 4);
    }
    let record = merge_the_rest(&cluster, &survivors);
    assert_near(record.totals.intended, RATE * 8 / 4 * 3);
    // The servers also counted the lost share's operations.
    let (result, why) = check(&record, CheckKind::ServerCounters);
    assert_ne!(result, CheckResult::Passed, "{why}");
}

#[test]
fn the_others_write_what_they_have_when_slurm_ends_the_step_for_a_killed_share() {
    let Some(cluster) =
        Cluster::up("the_others_write_what_they_have_when_slurm_ends_the_step_for_a_killed_share")
    else {
        return;
    };
    let survivors = lose_a_share(&cluster, "--kill-on-bad-exit=1");
    for (_, record) in &survivors {
        assert_eq!((record.partial, record.ended_by), (true, EndedBy::Interrupted));
        assert!(record.totals.intended > 0);
    }
    merge_the_rest(&cluster, &survivors);
}

#[test]
fn a_step_of_several_tasks_without_shares_sends_nothing() {
    let Some(cluster) = Cluster::up("a_step_of_several_tasks_without_shares_sends_nothing") else {
        return;
    };
    cluster.start_server();
    let refused = cluster.shell("srun -N2 -n2 $MEMTIDE run --server $HEAD --duration 1s").exits(2);
    for words in ["Slurm started 2 processes", "process 1, SLURM_PROCID", "--shard auto"] {
        assert!(refused.err.contains(words), "{refused}");
    }
    // A single task is no copy, and an allocation is no step.
    let alone = "$MEMTIDE run --server $HEAD --rate 500 --arrival fixed --keys 10 \
                 --duration 200ms --json -";
    let script = format!("srun -N1 -n1 {alone} >one.json; salloc -N2 bash -c '{alone} >two.json'");
    let ran = cluster.shell(&script).exits(0);
    for name in ["one.json", "two.json"] {
        let record = record_at(&cluster.folder().join(name));
        assert_near(record.totals.intended, 100);
        assert_eq!(record.share, None, "{ran}");
    }
}
