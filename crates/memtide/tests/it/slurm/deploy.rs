//! The script that users submit, unchanged from deploy/slurm.

use super::cluster::Cluster;
use crate::prelude::*;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/slurm/run.sh");
const WORDS: &str =
    "--server $HEAD --rate 800 --arrival fixed --connections 8 --keys 1000 --duration 1s";

/// Checks the records and the output of the script in `folder` of a cluster.
fn check_records(cluster: &Cluster, folder: &str, (said, ran): (&str, &Finished)) {
    let folder = cluster.folder().join(folder);
    let shares = fs::read_dir(folder.join("shares")).unwrap().count();
    assert_eq!(shares, 4, "{ran}");
    let record = record_at(&folder.join("merged.json"));
    assert!(!record.partial && record.totals.intended.abs_diff(800) <= 8, "{ran}");
    assert_eq!(record.totals.misses, 0, "{ran}");
    assert_counters_equal(&record);
    assert!(said.contains("start skew") && said.contains("believable: "), "{said}\n{ran}");
    assert!(said.contains(&format!("records: {}", folder.display())), "{said}\n{ran}");
}

#[test]
fn the_script_divides_a_run_that_waits_for_its_allocation_and_one_that_is_submitted() {
    let Some(cluster) = Cluster::up(
        "the_script_divides_a_run_that_waits_for_its_allocation_and_one_that_is_submitted",
    ) else {
        return;
    };
    cluster.start_server();
    let setting = "PROGRAM=$MEMTIDE RECORDS=$PWD";
    let waits = format!("{setting}/waits salloc --nodes=4 {SCRIPT} {WORDS}");
    let ran = cluster.shell(&waits).exits(0);
    check_records(&cluster, "waits", (&ran.out, &ran));
    // `sbatch --wait` polls only every ten seconds.
    let submitted = format!(
        "job=$({setting}/batch BARRIER=dir sbatch --parsable --nodes=4 --output=batch.out \
           {SCRIPT} {WORDS})
         for i in $(seq 1200); do
           state=$(scontrol show job $job | grep -o 'JobState=[A-Z]*')
           case $state in *PENDING|*RUNNING|*CONFIGURING|*COMPLETING) sleep 0.1 ;; *) break ;; esac
         done
         echo $state"
    );
    let ran = cluster.shell(&submitted).exits(0);
    let said = fs::read_to_string(cluster.folder().join("batch.out")).unwrap();
    assert!(ran.out.contains("JobState=COMPLETED"), "{said}\n{ran}");
    check_records(&cluster, "batch", (&said, &ran));
    // Records of an earlier run are not overwritten.
    let again = cluster.shell(&waits);
    assert_eq!(again.code, Some(1), "{again}");
    assert!(again.err.contains("shares") && again.err.contains("exists"), "{again}");
}
