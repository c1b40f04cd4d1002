//! The proof itself: `deploy/kubernetes/try.sh` for each set of manifests, and the records that it
//! leaves, against the server's own counters. Manifests are changed only where a step says so.

use super::NODE;
use crate::bench::server::Counters;
use crate::commands::{output, succeeded, text, told};
use crate::files::{self, at, emptied, put};
use serde_json::Value;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// The server under load, at the port that the policies allow.
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(NODE), 11211);
/// The warning of `merge` about the share that fails on purpose.
const MISSING: &str = "1 of 4 shares are missing, with 25.0 % of the load: share 3 (lane 3)";
/// The surroundings of the manifests that a user of the cluster has: a namespace with the
/// restricted profile, a service called `cache`, and a volume.
const AROUND: &str = include_str!("../../kubernetes/around.yaml");

/// A set of manifests, and how it is tried.
struct Step {
    name: &'static str,
    /// The words of `try.sh` behind the server.
    words: &'static str,
    /// Files of `deploy/kubernetes`, with a text in each and what replaces it.
    changes: &'static [(&'static str, &'static str, &'static str)],
    /// The number of shares whose records are merged.
    shares: usize,
    /// What else must hold; returns it in words.
    check: fn(&Proof) -> Result<String, String>,
}

const STEPS: [Step; 4] = [
    Step {
        name: "shares, records by log",
        words: "shares",
        changes: &[],
        shares: 4,
        check: |_| Ok("a pod of each share".to_owned()),
    },
    Step {
        name: "shares, records on a volume, without io_uring",
        words: "shares-volume",
        // Like the profiles of recent container runtimes.
        changes: &[(
            "shares/job.yaml",
            "{type: RuntimeDefault}",
            "{type: Localhost, localhostProfile: no-uring.json}",
        )],
        shares: 4,
        check: Proof::on_volume,
    },
    Step {
        name: "one index exits with 1, records by log",
        words: "shares localhost/memtide-fails:latest",
        changes: &[
            ("shares/job.yaml", "args: [run", "args: [\"3\", run"),
            ("README.md", "=complete --timeout=10m job/memtide\nmkdir", FAILED),
            ("README.md", "memtide merge records --json run.json", MERGES),
        ],
        // The other shares also request the keys of the one that is missing.
        shares: 3,
        check: Proof::names_the_missing_share,
    },
    Step {
        name: "agents and a master",
        words: "agents",
        changes: &[],
        shares: 4,
        check: |_| Ok("a pod of each agent".to_owned()),
    },
];

const FAILED: &str = "=failed --timeout=10m job/memtide
kubectl get pods -l job-name=memtide --no-headers -o custom-columns='\
:.metadata.labels.batch\\.kubernetes\\.io/job-completion-index,\
:.status.containerStatuses[0].state.terminated.exitCode' | sort >\"$WORK/exits\"
mkdir";
const MERGES: &str = "code=0; memtide merge records >\"$WORK/said\" || code=$?; [ \"$code\" = 1 ]
memtide merge records --json run.json --allow-missing=1";

/// The cluster, and a folder for copies of the manifests.
pub(super) struct Proof {
    pub(super) root: PathBuf,
    /// The folder of the cluster, with its programs in `bin`.
    pub(super) cluster: PathBuf,
    pub(super) folder: PathBuf,
}

impl Proof {
    /// Proves everything, and prints the findings and the time that they took.
    ///
    /// # Errors
    /// At the first proof that fails.
    pub(super) fn all(&self) -> Result<(), String> {
        let around = AROUND.replace("$NODE", &NODE.to_string());
        let records = self.folder.join("records").display().to_string();
        put(&self.folder.join("around.yaml"), around.replace("$RECORDS", &records).as_bytes())?;
        told(&mut self.shell("kubectl apply --validate=strict -f around.yaml"))?;
        let pod = "kubectl run refused --image=localhost/memtide --dry-run=server";
        let refused = output(&mut self.shell(pod))?;
        let why = text(&refused.stderr);
        if refused.status.success() || !why.contains("violates PodSecurity \"restricted") {
            return Err(format!("a pod without a security context was not refused: {why}"));
        }
        for step in &STEPS {
            let began = Instant::now();
            let found = self.step(step).map_err(|error| format!("{}: {error}", step.name))?;
            println!("{:>6.1} s  {}: {found}", began.elapsed().as_secs_f64(), step.name);
        }
        Ok(())
    }

    /// Tries one set of manifests with an empty server, and compares the record with the server's
    /// counters.
    fn step(&self, step: &Step) -> Result<String, String> {
        let copy = emptied(self.folder.join("copy"))?.join("kubernetes");
        told(Command::new("cp").arg("-R").arg(self.root.join("deploy/kubernetes")).arg(&copy))?;
        for (name, from, to) in step.changes {
            let file = copy.join(name);
            let old = fs::read_to_string(&file).map_err(at(&file))?;
            if !old.contains(from) {
                return Err(format!("deploy/kubernetes/{name} has no '{from}'"));
            }
            put(&file, old.replace(from, to).as_bytes())?;
        }
        emptied(self.folder.join("records"))?;
        told(&mut self.shell("chgrp 65532 \"$RECORDS\"; chmod 2770 \"$RECORDS\""))?;
        let mut counters = Counters::of(SERVER)?;
        counters.flush()?;
        let before = counters.commands()?;
        let line = format!("copy/kubernetes/try.sh cache:11211 {}", step.words);
        let tried = succeeded(&mut self.shell(&line))?;
        // The profile's objections to the pods of a Job are warnings.
        let err = text(&tried.stderr);
        if err.contains("PodSecurity") {
            return Err(err);
        }
        let more = (step.check)(self)?;
        let record = files::json(&self.folder.join("run.json"))?;
        let found = figures(&record, step.shares)?;
        // A failed share has loaded keys that no record counts.
        if step.shares == 4 {
            counted(&record, Counters::of(SERVER)?.commands()? - before)?;
        }
        Ok(format!("{found}; {more}"))
    }

    fn on_volume(&self) -> Result<String, String> {
        let merge = "memtide merge \"$RECORDS\"/*.json --json run.json";
        told(&mut self.shell(merge))?;
        let shares = files::inside(&self.folder.join("records"))?;
        let share = shares.iter().find(|path| path.extension().is_some_and(|end| end == "json"));
        let share = files::json(share.ok_or("the volume has no record")?)?;
        let why = share["plan"]["why"]["io"].as_str().unwrap_or_default();
        match why.contains("forbids io_uring") {
            true => Ok(why.to_owned()),
            false => Err(format!("a share's record says of --io: '{why}'")),
        }
    }

    /// The pod of one index exits before it has made any load; merging the other three records
    /// reports which share is missing.
    fn names_the_missing_share(&self) -> Result<String, String> {
        let [exits, said] = ["exits", "said"].map(|name| files::read(&self.folder.join(name)));
        let (exits, said) = (text(&exits?), text(&said?));
        let exits = exits.split_whitespace().collect::<Vec<_>>().join(" ");
        if exits != "0 0 1 0 2 0 3 1" {
            return Err(format!("the pods of indexes ended with {exits}"));
        }
        let named = said.find(MISSING).and_then(|at| said[at..].lines().next());
        named.map(str::to_owned).ok_or_else(|| format!("merge names no missing share: {said}"))
    }

    /// A shell in the working folder that finds kubectl and memtide.
    fn shell(&self, script: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell.args(["-euc", script]).current_dir(&self.folder);
        shell.env("PATH", format!("{}:{path}", self.cluster.join("bin").display()));
        shell.env("KUBECONFIG", self.cluster.join("admin.conf")).env("HOME", &self.cluster);
        shell.env("WORK", &self.folder).env("RECORDS", self.folder.join("records"));
        shell
    }
}

/// The figures of a merged record of this many shares, in words.
///
/// # Errors
/// If shares are missing, an operation was not answered, or, if all four shares have filled the
/// server, a key was not found.
fn figures(record: &Value, shares: usize) -> Result<String, String> {
    let count = |name: &str| record["totals"][name].as_u64().unwrap_or_default();
    let merged = record["shards"].as_array().map_or(0, Vec::len);
    let [intended, answered, keys, hits] = ["intended", "answered", "keys", "hits"].map(count);
    let wrong =
        merged != shares || answered != intended || keys == 0 || hits != keys && shares == 4;
    let io = record["plan"]["io"].as_str().unwrap_or("?");
    let figures = format!(
        "{merged} of {shares} shares, {answered} of {intended} operations answered, hits {hits} of \
         {keys}, {:.0}/s, start skew {:.3} ms, {io}",
        record["rate"]["achieved_per_s"].as_f64().unwrap_or(f64::NAN),
        record["start_skew_ns"].as_f64().unwrap_or(f64::NAN) / 1e6,
    );
    if wrong { Err(figures) } else { Ok(figures) }
}

/// Compares memtide's predictions with the gets and sets that the server counted meanwhile.
///
/// # Errors
/// If they differ, or if the record does not say that memtide compared them, too.
fn counted(record: &Value, commands: u64) -> Result<(), String> {
    let counters = &record["server"]["expected"]["counters"];
    let ours = ["cmd_get", "cmd_set"].iter().map(|name| counters[name]["ours"].as_u64());
    let ours: Option<u64> = ours.sum();
    let checks = record["believable"]["checks"].as_array();
    let check = checks.into_iter().flatten().find(|check| check["code"] == "server_counters");
    let is_compared = check.is_some_and(|check| check["result"] == "passed");
    match ours == Some(commands) && is_compared {
        true => Ok(()),
        false => Err(format!(
            "gets and sets: memtide has {ours:?}, the server {commands}; the check is {check:?}"
        )),
    }
}

#[cfg(test)]
mod tests;
