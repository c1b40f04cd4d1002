//! The proof itself: applies the manifests of `deploy/kubernetes` with the exact commands of their
//! README. Only sizes are changed beforehand: CPUs, rate, duration, and the time that shares wait.

use super::cluster::{Cluster, NO_URING, NODE};
use super::{FAILS, records};
use crate::bench::server::Counters;
use crate::commands::{output, text, told};
use crate::files::{self, at, put, removed};
use serde_json::Value;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The server under load, at the port that the policies allow.
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(NODE), 11211);
/// The share that fails on purpose.
const FAILING: &str = "3";
/// The warning of `merge` about the failed share.
const MISSING: &str = "1 of 4 shares are missing, with 25.0 % of the load: share 3 (lane 3)";
/// The sizes that are reduced against the manifests and their README.
const SIZES: [(&str, &str); 6] = [
    ("cpu: \"2\"", "cpu: 50m"),
    ("cpu: \"1\"", "cpu: 50m"),
    ("MEMTIDE_RATE=200k", "MEMTIDE_RATE=4k\nMEMTIDE_KEYS=10000"),
    ("MEMTIDE_DURATION=60s", "MEMTIDE_DURATION=5s"),
    ("(date +%s) + 60", "(date +%s) + 20"),
    ("--timeout=10m", "--timeout=2m"),
];
/// The surroundings of the manifests that a user of the cluster has: a namespace with the
/// restricted profile, a service called `cache`, and a volume.
const AROUND: &str = include_str!("../../kubernetes/around.yaml");

/// A working copy of the manifests, and the cluster to which they are applied.
pub(super) struct Proof<'a> {
    cluster: &'a Cluster,
    root: &'a Path,
    folder: PathBuf,
    readme: String,
}

impl<'a> Proof<'a> {
    /// Makes a working copy of the manifests in an empty `folder`, and starts the server under
    /// load.
    ///
    /// # Errors
    /// If a file cannot be written or memcached does not start.
    pub(super) fn new(
        cluster: &'a mut Cluster,
        root: &'a Path,
        folder: PathBuf,
    ) -> Result<Self, String> {
        let mut memcached = Command::new(crate::setup::find("memcached").unwrap_or_default());
        let (address, port) = (SERVER.ip().to_string(), SERVER.port().to_string());
        memcached.args(["-u", "nobody", "-U", "0", "-l", &address, "-p", &port, "-m", "256"]);
        cluster.spawn("memcached", &mut memcached)?;
        cluster.wait("memcached", |_| Counters::of(SERVER).is_ok())?;
        let readme = root.join("deploy/kubernetes/README.md");
        let readme = fs::read_to_string(&readme).map_err(at(&readme))?;
        Ok(Self { cluster, root, folder, readme: smaller(&readme) })
    }

    /// Proves everything, and prints the findings and the time that they took.
    ///
    /// # Errors
    /// At the first proof that fails.
    pub(super) fn all(&self) -> Result<(), String> {
        self.step("strict dry run at the server", Self::strict)?;
        self.step("shares, records by log", Self::by_log)?;
        self.step("shares, records on a volume, without io_uring", Self::by_volume)?;
        self.step("one index exits with 1, records by log", Self::failing)?;
        self.step("agents and a master", Self::agents)
    }

    /// Proves one thing with an empty server; `prove` gets the number of commands that the server
    /// has counted before.
    fn step(
        &self,
        name: &str,
        prove: fn(&Self, u64) -> Result<String, String>,
    ) -> Result<(), String> {
        let began = Instant::now();
        let mut counters = Counters::of(SERVER)?;
        counters.flush()?;
        let before = counters.commands()?;
        let found = prove(self, before).map_err(|error| format!("{name}: {error}"))?;
        println!("{:>6.1} s  {name}: {found}", began.elapsed().as_secs_f64());
        Ok(())
    }

    /// Applies all manifests unchanged, with the API server's strict validation, in a namespace
    /// with the restricted profile.
    fn strict(&self, _: u64) -> Result<String, String> {
        put(&self.folder.join("around.yaml"), self.around().as_bytes())?;
        self.shell("kubectl apply --validate=strict -f around.yaml")?;
        let mut objects = 0;
        for kind in ["shares", "shares-volume", "agents"] {
            let place = self.root.join("deploy/kubernetes").join(kind);
            let mut apply = self.cluster.kubectl("apply --dry-run=server --validate=strict -k");
            let output = output(apply.arg(place))?;
            let (out, err) = (text(&output.stdout), text(&output.stderr));
            // The profile's objections to the pods of a Job are warnings.
            if !output.status.success() || !err.is_empty() {
                return Err(format!("{kind}: {err} {out}"));
            }
            objects += out.lines().count();
        }
        let refused = output(
            &mut self.cluster.kubectl("run refused --image=localhost/memtide --dry-run=server"),
        )?;
        let why = text(&refused.stderr);
        if refused.status.success() || !why.contains("violates PodSecurity \"restricted") {
            return Err(format!("a pod without a security context was not refused: {why}"));
        }
        Ok(format!("{objects} objects accepted; a pod without the profile is refused"))
    }

    fn by_log(&self, before: u64) -> Result<String, String> {
        self.fresh()?;
        self.shell(&self.commands("### Shares, records by log")?)?;
        self.measured(["deploy/kubernetes/shares/run.json", "memtide"], before)
    }

    /// The pods' seccomp profile forbids io_uring, like that of recent container runtimes.
    fn by_volume(&self, before: u64) -> Result<String, String> {
        self.fresh()?;
        self.edit("shares/job.yaml", &|text| {
            let profile = format!("{{type: Localhost, localhostProfile: {NO_URING}}}");
            text.replace("{type: RuntimeDefault}", &profile)
        })?;
        self.shell(&self.commands("### Shares, records on a volume")?)?;
        let share = files::inside(&self.folder.join("records"))?;
        let share = share.iter().find(|path| path.extension().is_some_and(|end| end == "json"));
        let share = self.record(share.ok_or("the volume has no record")?)?;
        let why = share["plan"]["why"]["io"].as_str().unwrap_or_default();
        if !why.contains("forbids io_uring") {
            return Err(format!("a share's record says of --io: '{why}'"));
        }
        self.shell("memtide merge \"$RECORDS\"/*.json --json run.json")?;
        self.measured(["run.json", "memtide"], before)
    }

    /// Checks the whole record of a run, and deletes its Job.
    fn measured(&self, [record, job]: [&str; 2], before: u64) -> Result<String, String> {
        let record = self.record(record)?;
        let found = records::figures(&record, 4, true)?;
        let commands = Counters::of(SERVER)?.commands()? - before;
        let counted = records::counted(&record, commands)?;
        self.end(job)?;
        Ok(format!("{found}; {counted} as the server counts"))
    }

    /// The pod of one index exits before it has made any load; merging the other three records
    /// reports which share is missing.
    fn failing(&self, _: u64) -> Result<String, String> {
        self.fresh()?;
        self.edit("shares/kustomization.yaml", &|text| {
            let (name, _) = FAILS.split_once(':').expect("an image has a tag");
            text.replace("newTag: latest", &format!("newName: {name}, newTag: latest"))
        })?;
        self.edit("shares/job.yaml", &|text| {
            text.replace("args: [run", &format!("args: [\"{FAILING}\", run"))
        })?;
        let commands = self.commands("### Shares, records by log")?;
        let commands = commands.replace("condition=complete", "condition=failed");
        let (commands, merge) = commands
            .rsplit_once("memtide merge")
            .ok_or("the README does not merge the records of logs")?;
        self.shell(commands)?;
        let pods = "kubectl get pods -l job-name=memtide --no-headers -o custom-columns='\
                    :.metadata.labels.batch\\.kubernetes\\.io/job-completion-index,\
                    :.status.containerStatuses[0].state.terminated.exitCode'";
        let mut exits: Vec<String> = self.shell(pods)?.lines().map(squeezed).collect();
        exits.sort();
        if exits != ["0 0", "1 0", "2 0", "3 1"] {
            return Err(format!("the pods of indexes ended with {exits:?}"));
        }
        let (place, merge) = ("deploy/kubernetes/shares", format!("memtide merge{merge}"));
        let ended = output(&mut self.shell_in(place, &merge))?;
        let (said, err) = (text(&ended.stdout), text(&ended.stderr));
        let named = said.find(MISSING).and_then(|at| said[at..].lines().next());
        let (Some(1), Some(named)) = (ended.status.code(), named) else {
            return Err(format!("`{merge}` ended with {}: {err} {said}", ended.status));
        };
        told(&mut self.shell_in(place, &format!("{} --allow-missing=1", merge.trim_end())))?;
        // The other shares also request the keys of the one that is missing.
        let found = records::figures(&self.record(format!("{place}/run.json"))?, 3, false)?;
        self.end("memtide")?;
        Ok(format!("exit codes of indexes {}; {found}; \"{named}\"", exits.join(", ")))
    }

    fn agents(&self, before: u64) -> Result<String, String> {
        self.fresh()?;
        self.shell(&self.commands("### Agents and a master")?)?;
        let found = self.measured(["run.json", "memtide-master"], before)?;
        let line = "kubectl get pods -l app.kubernetes.io/component=agent --no-headers";
        let agents = self.shell(line)?;
        let waiting = agents.lines().filter(|line| line.contains("Running")).count();
        if waiting != 4 {
            return Err(format!("agents do not go on waiting: {agents}"));
        }
        self.shell("kubectl delete deployment memtide-agents --cascade=foreground")?;
        Ok(format!("{found}; {waiting} agents go on waiting"))
    }

    /// The commands of the README below `heading`, with the smaller sizes.
    fn commands(&self, heading: &str) -> Result<String, String> {
        let found = self.readme.split_once(heading).and_then(|(_, rest)| {
            let (_, block) = rest.split_once("```sh\n")?;
            Some(block.split_once("```")?.0.to_owned())
        });
        found
            .ok_or_else(|| format!("deploy/kubernetes/README.md has no commands below '{heading}'"))
    }

    /// Makes a new working copy, and an empty folder for records on the volume.
    fn fresh(&self) -> Result<(), String> {
        for name in ["deploy", "lab", "records"] {
            removed(&self.folder.join(name))?;
        }
        let copy = self.folder.join("deploy");
        fs::create_dir(&copy).map_err(at(&copy))?;
        told(Command::new("cp").arg("-R").arg(self.root.join("deploy/kubernetes")).arg(&copy))?;
        for entry in ["shares", "shares-volume", "agents"] {
            for file in files::inside(&copy.join("kubernetes").join(entry))? {
                self.edit_file(&file, &smaller)?;
            }
        }
        self.shell("mkdir -p \"$RECORDS\"; chgrp 65532 \"$RECORDS\"; chmod 2770 \"$RECORDS\"")?;
        Ok(())
    }

    fn edit(&self, name: &str, change: &dyn Fn(&str) -> String) -> Result<(), String> {
        let file = self.folder.join("deploy/kubernetes").join(name);
        match self.edit_file(&file, change)? {
            true => Ok(()),
            false => Err(format!("deploy/kubernetes/{name} has not what is to be changed in it")),
        }
    }

    /// Changes a file's text; returns true if it differs now.
    fn edit_file(&self, file: &Path, change: &dyn Fn(&str) -> String) -> Result<bool, String> {
        let old = fs::read_to_string(file).map_err(at(file))?;
        let new = change(&old);
        put(file, new.as_bytes())?;
        Ok(new != old)
    }

    /// Deletes a Job, and waits until its pods are gone.
    fn end(&self, job: &str) -> Result<(), String> {
        self.shell(&format!("kubectl delete job {job} --cascade=foreground")).map(drop)
    }

    fn around(&self) -> String {
        let records = self.folder.join("records");
        AROUND.replace("$NODE", &NODE.to_string()).replace("$RECORDS", &records.to_string_lossy())
    }

    fn record(&self, name: impl AsRef<Path>) -> Result<Value, String> {
        files::json(&self.folder.join(name))
    }

    fn shell(&self, script: &str) -> Result<String, String> {
        told(&mut self.shell_in(".", script))
    }

    /// A shell in the working copy that finds kubectl, memtide, and the records on the volume.
    fn shell_in(&self, place: &str, script: &str) -> Command {
        let kubectl = self.cluster.kubectl("");
        let bin = Path::new(kubectl.get_program()).parent().unwrap_or(Path::new("/"));
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell.args(["-euc", script]).current_dir(self.folder.join(place));
        shell.envs(kubectl.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.env("PATH", format!("{}:{path}", bin.display()));
        shell.env("RECORDS", self.folder.join("records"));
        shell
    }
}

fn smaller(text: &str) -> String {
    SIZES.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The words of a line with one space between them.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
