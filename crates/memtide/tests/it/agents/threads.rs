//! CPUs of an agent's threads: its network threads must not use the CPUs of pinned workers.

use super::Lab;
use crate::child::{Running, shared};
use crate::peer::Peer;
use rustix::process::Signal;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::io::Write;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// The threads of a process by name, each with its allowed CPUs, as the kernel formats them.
fn threads(process: u32) -> Vec<(String, String)> {
    let folder = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let facts = folder.flatten().filter_map(|thread| {
        // A thread can end at any time.
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        Some((field("Name")?, field("Cpus_allowed_list")?))
    });
    facts.collect()
}

/// Allowed CPUs of a process's threads whose names begin with `name`, and a list of all its
/// threads.
fn cpus_of(process: u32, name: &str) -> (Vec<String>, String) {
    let found = threads(process);
    let of = found.iter().filter(|(found, _)| found.starts_with(name));
    (of.map(|(_, cpus)| cpus.clone()).collect(), format!("{found:?}"))
}

fn is_among(cpu: &str, list: &str) -> bool {
    list.split(',').any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let [cpu, first, last] = [cpu, first, last].map(|word| word.parse::<u32>().unwrap());
        (first..=last).contains(&cpu)
    })
}

/// Asserts that no network thread of a process may use the CPU of its one worker. Threads move to
/// their CPUs one after another, so a moment passes until all have.
fn stays_off(process: u32, nets: usize) {
    let begun = Instant::now();
    loop {
        let (workers, _) = cpus_of(process, "worker-");
        let (found, shown) = cpus_of(process, "memtide-net");
        let is_apart = workers.len() == 1
            && found.len() == nets
            && !found.iter().any(|net| is_among(&workers[0], net));
        if is_apart {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{shown}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Number of CPUs that this process may use.
fn cpus() -> usize {
    let mask = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).count()
}

#[test]
fn the_network_stays_off_the_cpus_of_pinned_workers() {
    let _turn = shared();
    if cpus() < 2 {
        drop(writeln!(std::io::stderr(), "skipped: this process may use one CPU only"));
        return;
    }
    let (lab, peer) = (Lab::new("threads"), Peer::memcached(""));
    let agent = lab.agent("a0");
    agent.await_log("connects to its master");
    let net = || cpus_of(agent.id(), "memtide-net").0;
    let free = net();
    let load = |words: &str| {
        let before = peer.figure("cmd_get");
        let json = lab.path("run.json");
        let words = format!("--rate 2k --duration 5m --mix get=1 --load always {words}");
        let running = lab.start(&peer, "1", &words, &json);
        peer.await_figure("cmd_get", before + 500);
        running
    };
    let end = |running: Running| {
        running.signal(Signal::INT);
        running.finish().exits(130);
    };
    let running = load("--pin");
    stays_off(agent.id(), 1);
    end(running);
    // A master with its own share has two network threads: its own, and that of its agent.
    let running = load("--pin --master-share");
    stays_off(running.id(), 2);
    end(running);
    // Without pinning, no CPU is reserved.
    let running = load("");
    assert_eq!(net(), free);
    end(running);
    // If workers have every CPU, the network thread stays where it is.
    let running = load(&format!("--pin --threads {0} --connections {0}", cpus()));
    assert_eq!(net(), free);
    end(running);
}
