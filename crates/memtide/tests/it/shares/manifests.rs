//! What the manifests in deploy/kubernetes start is what the program knows: their words and
//! variables, as they stand there, come as far as a server that is not there.

use super::{Command, folder, program};
use crate::child::{Finished, Running, cleared, memtide};
use crate::peer::free_port;
use rustix::process::Signal;
use std::fs;
use std::path::Path;

const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/kubernetes");

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(MANIFESTS).join(file)).unwrap()
}

/// The container's arguments: a list on one line, or one word on each.
fn words(file: &str) -> Vec<String> {
    let text = read(file);
    let mut lines = text.lines().map(str::trim).skip_while(|line| !line.starts_with("args:"));
    let list = lines.next().unwrap().trim_start_matches("args:").trim().to_owned();
    let word = |word: &str| word.trim().trim_matches('"').to_owned();
    if let Some(list) = list.strip_prefix('[').and_then(|list| list.strip_suffix(']')) {
        return list.split(',').map(word).collect();
    }
    lines.map_while(|line| line.strip_prefix("- ")).map(word).collect()
}

fn variables(file: &str) -> Vec<(String, String)> {
    let text = read(file);
    let split = |line: &str| line.split_once('=').map(|(name, value)| (name.into(), value.into()));
    text.lines().map(|line| split(line).unwrap()).collect()
}

/// The program with `words` and `more` as a pod would start it, but for a server that is not there.
fn pod(words: &[String], variables: &[(String, String)], more: &[&str]) -> Command {
    let mut command = cleared(program());
    command.args(words).args(more).envs(variables.iter().cloned());
    command.env("MEMTIDE_SERVER", format!("127.0.0.1:{}", free_port()));
    command.env("JOB_COMPLETION_INDEX", "2");
    command
}

fn finished(command: &mut Command) -> Finished {
    Running::of(command).finish()
}

#[test]
fn the_jobs_words_are_those_of_a_share() {
    let records = folder("manifests-records");
    fs::create_dir_all(&records).unwrap();
    let put = |word: &String| {
        let word = word.replace("/records", &records.display().to_string());
        word.replace("$(RUN)", "1f").replace("$(SHARE)", "2")
    };
    for (job, run) in [("shares/job.yaml", "shares/run.env"), RECORDS] {
        let words: Vec<String> = words(job).iter().map(put).collect();
        let mut command = pod(&words, &variables(run), &[]);
        // The agreed time is past.
        command.env_remove("MEMTIDE_START_AT");
        finished(&mut command).complains(3, &["127.0.0.1"]);
    }
    drop(fs::remove_dir_all(records));
}

const RECORDS: (&str, &str) = ("shares-volume/records.yaml", "shares-volume/run.env");

#[test]
fn the_agents_and_the_master_have_words_that_the_program_knows() {
    let key = folder("manifests-key");
    let address = format!("127.0.0.1:{}", free_port());
    let target = "--allow-target 127.0.0.0/8:*";
    memtide(&format!("key new {} --address {address} {target}", key.display())).exits(0);
    let put = |word: &String| {
        let records = key.join("records").display().to_string();
        let word = word.replace("/tmp/records", &records);
        word.replace("/etc/memtide", &key.display().to_string())
    };
    let master: Vec<String> = words("agents/master.yaml").iter().map(put).collect();
    let mut command = pod(&master, &variables("agents/run.env"), &["--expect", "100ms"]);
    finished(&mut command).complains(3, &["0 of 4 agents", "--expect"]);
    let agent: Vec<String> = words("agents/agents.yaml").iter().map(put).collect();
    let agent = Running::of(&mut pod(&agent, &[], &[]));
    agent.signal(Signal::TERM);
    let ended = agent.finish();
    // The signal may come before the agent has begun to listen for it.
    assert!(ended.code == Some(0) || ended.signal.is_some(), "{ended}");
    drop(fs::remove_dir_all(key));
}

#[test]
fn all_manifests_have_one_image_and_ask_for_no_privilege() {
    for file in ["shares/job.yaml", "agents/agents.yaml", "agents/master.yaml"] {
        let text = read(file);
        for line in [
            "image: localhost/memtide",
            "runAsNonRoot: true",
            "allowPrivilegeEscalation: false",
            "capabilities: {drop: [ALL]}",
            "seccompProfile: {type: RuntimeDefault}",
            "enableServiceLinks: false",
            "automountServiceAccountToken: false",
        ] {
            let count = text.lines().filter(|found| found.trim() == line).count();
            assert_eq!(count, 1, "{file}: {line}");
        }
    }
}
