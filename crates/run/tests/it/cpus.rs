//! CPUs of workers and server, how workers wait, and the warnings if there are too few.

use crate::world::{around, scenario};
use memtide_run::{Doors, Lowered, Surroundings, lower};
use memtide_world::Wait;

fn machine(cpus: usize, local: bool) -> Surroundings {
    Surroundings { cpus_allowed: (0..cpus).collect(), cpus_online: cpus, ..around(1, local) }
}

/// A machine on which the embedded server is measured.
fn own(cpus: usize) -> Surroundings {
    let io = Doors::Kernel { uring: Ok(()) };
    Surroundings { embedded: true, io, ..machine(cpus, true) }
}

fn lowered(toml: &str, around: &Surroundings) -> Lowered {
    lower(&scenario(toml), around).expect("it can be run")
}

const NAMED: &str = "server = 'a'\n";

#[test]
fn the_embedded_server_and_the_workers_get_cpus_of_their_own() {
    // Earlier versions shared all CPUs, and workers slept until each instant.
    for cpus in 2..20 {
        let run = lowered("", &own(cpus));
        let (server, workers) = (run.placement.server.expect("it has one"), &run.placement.workers);
        assert_eq!(workers.len(), usize::from(run.plan.workers), "{cpus} CPUs");
        let mut all = workers.clone();
        all.push(server);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), workers.len() + 1, "{cpus} CPUs: each is used once");
        assert!(all.iter().all(|&cpu| cpu < cpus));
        assert_eq!((run.plan.wait, run.placement.shared), (Wait::Hybrid, None));
        assert_eq!(run.record.server_cpu, Some(server as u32));
        for field in ["wait", "server"] {
            assert!(run.record.why[field].contains("CPU of their own"), "{field}");
        }
    }
    let run = lowered("", &own(2));
    assert_eq!((run.placement.server, &*run.placement.workers), (Some(0), &[1][..]));
}

#[test]
fn workers_take_second_threads_of_a_core_last() {
    let paired = |core: fn(usize) -> usize| {
        let cores = (0..8).map(|cpu| (cpu, core(cpu))).collect();
        let mut cpus = lowered("", &Surroundings { cores, ..own(8) }).placement.workers;
        cpus.truncate(3);
        cpus
    };
    assert_eq!(paired(|cpu| cpu % 4), [7, 6, 5], "4 would be on the core of the server");
    assert_eq!(paired(|cpu| cpu & !1), [7, 5, 3]);
}

#[test]
fn one_cpu_for_server_and_workers_is_told_and_nobody_spins() {
    for around in [own(1), Surroundings { cpu_quota: Some(1.5), ..own(8) }] {
        let run = lowered("", &around);
        assert_eq!((run.plan.wait, run.placement.server), (Wait::Sleep, None));
        assert!(run.placement.shared.is_some_and(|cpus| cpus < 2.0));
        assert!(run.record.why["wait"].contains("embedded server"), "{:?}", run.record.why);
    }
    for around in [machine(1, true), machine(1, false)] {
        assert_eq!(lowered(NAMED, &around).placement.shared, None, "it may run elsewhere");
    }
    let simulated = Surroundings { embedded: true, ..machine(1, true) };
    assert_eq!(lowered("", &simulated).placement, memtide_run::CpuPlacement::default());
}

#[test]
fn what_the_user_asks_for_stays() {
    let run = lowered("wait = 'sleep'\n", &own(4));
    assert_eq!((run.plan.wait, run.record.why.get("wait")), (Wait::Sleep, None));
    assert!(run.placement.server.is_some());
    let run = lowered("threads = 2\n", &own(2));
    assert_eq!((run.plan.workers, run.plan.wait), (2, Wait::Sleep), "no CPU is left over");
    assert_eq!((run.placement.server, run.placement.workers.len()), (None, 0));
    let run = lowered("threads = 2\npin = true\n", &own(2));
    assert_eq!((run.placement.server, &*run.placement.workers), (None, &[0, 1][..]));
    // A narrowed mask limits the CPUs.
    let mask = Surroundings { cpus_allowed: vec![3, 5], cpus_online: 8, ..own(8) };
    let run = lowered("", &mask);
    assert_eq!((run.placement.server, &*run.placement.workers), (Some(3), &[5][..]));
    let enough = Surroundings { cpu_quota: Some(2.0), ..own(2) };
    assert_eq!(lowered("", &enough).plan.wait, Wait::Hybrid);
}

#[test]
fn with_a_named_server_waiting_spins_only_where_it_takes_nothing_from_it() {
    let wait = |around: &Surroundings| lowered(NAMED, around).plan.wait;
    assert_eq!(wait(&machine(2, false)), Wait::Sleep);
    assert_eq!(wait(&machine(8, true)), Wait::Sleep);
    assert_eq!(wait(&Surroundings { cpu_quota: Some(6.0), ..machine(8, false) }), Wait::Sleep);
    assert_eq!(wait(&machine(8, false)), Wait::Hybrid);
    let told = lowered("server = 'a'\nwait = 'spin'\n", &machine(2, true));
    assert_eq!(told.plan.wait, Wait::Spin);
}

#[test]
fn workers_are_pinned_when_the_mask_was_narrowed_and_is_wide_enough() {
    let narrowed = |allowed: usize, threads: usize| {
        let around = Surroundings { cpus_online: 8, ..machine(allowed, true) };
        lowered(&format!("server = 'a'\nthreads = {threads}\n"), &around)
    };
    assert_eq!(narrowed(2, 2).placement.workers, [0, 1]);
    assert_eq!(narrowed(2, 2).record.cpus, [0, 1]);
    assert!(narrowed(2, 3).placement.workers.is_empty(), "two of them would share");
    assert!(narrowed(8, 2).placement.workers.is_empty(), "nobody narrowed anything");
    let pinned = lowered("server = 'a'\npin = true\nthreads = 3\n", &machine(2, true));
    assert_eq!(pinned.placement.workers, [0, 1, 0]);
}

#[test]
fn workers_stay_off_the_cpus_of_servers_that_are_limited_to_some() {
    let limited = |allowed: &[usize], servers: &[usize]| Surroundings {
        cpus_allowed: allowed.to_vec(),
        server_cpus: servers.iter().copied().collect(),
        ..machine(4, true)
    };
    let of =
        |words: &str, around: &Surroundings| lowered(&format!("server = 'a'\n{words}"), around);
    let run = of("", &limited(&[0, 1], &[1]));
    assert_eq!((&*run.placement.workers, run.plan.wait), (&[0][..], Wait::Hybrid));
    for field in ["pin", "wait"] {
        assert!(run.record.why[field].contains("limited to other CPUs"), "{field}");
    }
    // Workers of several runs find room on the CPUs that are left.
    let run = of("", &limited(&[0, 1, 2, 3], &[1]));
    assert_eq!((&*run.placement.workers, run.plan.wait), (&[0, 2, 3][..], Wait::Hybrid));
    assert_eq!(run.record.cpus, [0, 2, 3]);
    // Those of other cores, if they are enough; a mask that holds nothing else is as good.
    let cores = (0..4).map(|cpu| (cpu, cpu % 2)).collect();
    let run = of("", &Surroundings { cores, ..limited(&[0, 1, 2, 3], &[1]) });
    assert_eq!(run.placement.workers, [0, 2]);
    let run = of("threads = 2\n", &limited(&[1, 2, 3], &[0]));
    assert_eq!((&*run.placement.workers, run.plan.wait), (&[1, 2][..], Wait::Hybrid));
    // Only its own CPU: spinning would take it from memtide's other threads.
    let run = of("", &limited(&[0], &[1]));
    assert_eq!((&*run.placement.workers, run.plan.wait), (&[0][..], Wait::Sleep));
    let quota = Surroundings { cpu_quota: Some(1.5), ..limited(&[0, 1], &[1]) };
    assert_eq!(of("", &quota).plan.wait, Wait::Sleep);
    // As without a limit, if the servers may use all CPUs, or leave too few.
    for (words, servers) in [("", &[0, 1][..]), ("threads = 2\n", &[1]), ("", &[])] {
        let run = of(words, &limited(&[0, 1], servers));
        let plain = of(words, &limited(&[0, 1], &[]));
        assert_eq!((run.placement, run.plan.wait), (plain.placement, plain.plan.wait));
    }
    let told = of("pin = true\nwait = 'spin'\n", &limited(&[0, 1], &[0]));
    assert_eq!((&*told.placement.workers, told.plan.wait), (&[1][..], Wait::Spin));
}
