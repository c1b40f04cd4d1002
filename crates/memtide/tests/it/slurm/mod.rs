//! Shares of one run on a real Slurm of four nodes, each a separate host. If the tests do not run
//! as root, or Slurm is not installed, each test says so and passes.

mod shares;
mod deploy;
mod plain;

mod cluster;

use crate::prelude::*;
use cluster::{Cluster, NODES};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The processes of a PID namespace.
fn processes_in(namespace: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    all.filter(|path| fs::read_link(path.join("ns/pid")).is_ok_and(|of| of == namespace)).collect()
}

fn network_names() -> usize {
    fs::read_dir("/run/netns").map_or(0, Iterator::count)
}

#[test]
fn a_cluster_has_a_host_for_each_task_and_leaves_nothing_behind() {
    let names = network_names();
    let Some(cluster) = Cluster::up("a_cluster_has_a_host_for_each_task_and_leaves_nothing_behind")
    else {
        return;
    };
    let (folder, namespace) = (cluster.folder().to_owned(), cluster.namespace());
    let ran =
        cluster.shell("srun --mpi=pmi2 -N4 -n4 sh -c 'test -n \"$PMI_FD\"; hostname'").exits(0);
    let hosts: BTreeSet<String> = ran.out.lines().map(str::to_owned).collect();
    let expected = (1..=NODES).map(|i| format!("n{i}")).collect();
    assert_eq!(hosts, expected, "{ran}");
    // A process that only the cluster's end will end.
    cluster.shell("sleep 600 >/dev/null 2>&1 & disown; echo started").exits(0);
    assert!(processes_in(&namespace).len() > NODES as usize);
    drop(cluster);
    assert_eq!(processes_in(&namespace), Vec::<PathBuf>::new());
    assert!(!folder.exists());
    assert_eq!(network_names(), names);
}

#[test]
fn a_cluster_that_does_not_come_up_leaves_nothing_behind() {
    let test = "a_cluster_that_does_not_come_up_leaves_nothing_behind";
    if Cluster::up(test).is_none() {
        return;
    }
    let broken = catch_unwind(AssertUnwindSafe(|| drop(Cluster::with("Nonsense=1\n"))));
    let said = broken.unwrap_err().downcast::<String>().unwrap();
    assert!(said.contains("Nonsense") && said.contains("controller has ended"), "{said}");
    let mine = format!("memtide-slurm-{}-", std::process::id());
    let folder = said.split_once(&mine).map(|(_, rest)| rest.split('/').next().unwrap());
    let folder = std::env::temp_dir().join(format!("{mine}{}", folder.unwrap()));
    assert!(!folder.exists(), "{}", folder.display());
}
