//! The manifests in deploy/kubernetes match the program: their words and variables, unchanged, are
//! accepted up to the connection to an absent server.

use super::{Command, folder, program};
use crate::child::cleared;
use crate::prelude::*;

const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/kubernetes");

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(MANIFESTS).join(file)).unwrap()
}

/// The container's arguments: a list on one line, or one word per line.
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

/// The program with `words` and `more`, as a pod would start it, but with an absent server.
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
        // The agreed time has passed.
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
    // The signal may arrive before the agent listens for it.
    assert!(ended.code == Some(0) || ended.signal.is_some(), "{ended}");
    drop(fs::remove_dir_all(key));
}

/// The commands below a heading of the README.
fn commands(heading: &str) -> String {
    let text = read("README.md");
    let (_, below) = text.split_once(heading).unwrap();
    let (_, block) = below.split_once("```sh\n").unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

/// The secret once lacked a file, and no master could start.
#[test]
fn the_secret_of_the_readme_has_every_file_of_a_key() {
    let key = folder("manifests-secret");
    let words = "--address master:11298 --bind 0.0.0.0:11298 --allow-target 10.0.0.0/8:11211";
    memtide(&format!("key new {} {words}", key.display())).exits(0);
    let commands = commands("### Agents and a master");
    let secret = commands.lines().find(|line| line.contains("create secret")).unwrap();
    let named: Vec<&str> =
        secret.split_whitespace().filter_map(|word| word.strip_prefix("--from-file=")).collect();
    for entry in fs::read_dir(&key).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let file = format!("lab/{name}");
        assert!(named.iter().any(|&named| named == "lab" || named == file), "{secret}: {name}");
    }
    drop(fs::remove_dir_all(key));
}

/// The empty log of a failed pod once kept the other records from being merged.
#[test]
fn the_commands_of_the_readme_merge_what_logs_have() {
    let _turn = shared();
    let place = folder("manifests-logs");
    fs::create_dir_all(place.join("bin")).unwrap();
    let peer = Peer::memcached("");
    let line = "--rate 1k --duration 500ms --keys 100 --shard 0/2 --quiet --json -";
    let share = Running::start(&format!("run -s {} {line}", peer.name)).finish();
    let share = share.exits(0);
    fs::write(place.join("a"), format!("memtide: a note\n{}memtide: another\n", share.out))
        .unwrap();
    fs::write(place.join("b"), "memtide: cannot start\n").unwrap();
    let kubectl = "#!/bin/sh\nif [ \"$1\" = get ]; then echo pod/memtide-0-a pod/memtide-1-b\n\
                   else cat \"${2##*-}\"; fi\n";
    fs::write(place.join("bin/kubectl"), kubectl).unwrap();
    let commands = commands("### Shares, records by log");
    let (_, commands) = commands.split_once("mkdir records").unwrap();
    let program = program();
    let bin = Path::new(program.get_program()).parent().unwrap();
    let mut shell = cleared(Command::new("sh"));
    shell.arg("-uc").arg(format!("chmod +x bin/kubectl; mkdir records{commands}"));
    let path = std::env::var("PATH").unwrap();
    shell.env("PATH", format!("{}/bin:{}:{path}", place.display(), bin.display()));
    let merged = finished(shell.current_dir(&place));
    assert_eq!(merged.code, Some(1), "{merged}");
    assert!(merged.out.contains("1 of 2 shares are missing"), "{merged}");
    assert!(place.join("run.json").is_file(), "{merged}");
    drop(fs::remove_dir_all(place));
}

#[test]
fn all_manifests_have_one_image_and_ask_for_no_privilege() {
    for file in ["shares/job.yaml", "agents/agents.yaml", "agents/master.yaml"] {
        let text = read(file);
        let lines = "image: localhost/memtide|runAsNonRoot: true|allowPrivilegeEscalation: false|\
             capabilities: {drop: [ALL]}|seccompProfile: {type: RuntimeDefault}|\
             enableServiceLinks: false|automountServiceAccountToken: false";
        for line in lines.split('|') {
            let count = text.lines().filter(|found| found.trim() == line).count();
            assert_eq!(count, 1, "{file}: {line}");
        }
    }
}
