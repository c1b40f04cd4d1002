//! Defaults that depend on the machine and on other fields, and their reasons.

use crate::world::{around, scenario};
use memtide_base::Span;
use memtide_record::LoopKind;
use memtide_run::{Lowered, Surroundings, lower};
use memtide_world::{Address, Clients, Cooldown, Pacing, Reach, Replicate, Sharing, Transport};

fn machine(cpus: usize, local: bool) -> Surroundings {
    Surroundings { cpus_allowed: (0..cpus).collect(), cpus_online: cpus, ..around(1, local) }
}

fn lowered(toml: &str, around: &Surroundings) -> Lowered {
    lower(&scenario(toml), around).expect("it can be run")
}

const NAMED: &str = "server = 'a'\n";

#[test]
fn what_is_said_of_connections_and_rows_is_kept_in_the_record() {
    let usual = lowered(NAMED, &machine(4, true)).record;
    assert_eq!(
        (usual.multiget_share, usual.interval_s, usual.pause_after_reply_s),
        (None, None, 0.0)
    );
    assert_eq!(
        (&*usual.key_form, &*usual.protocol, &*usual.reconnect),
        ("base32", "text", "10ms..1s")
    );
    let said = "mix = 'get=1'\nmultiget = 5\nmultiget-share = 0.25\ninterval = '2s'\n\
                interval-times = true\npause-after-reply = '1ms'\nkey-form = 'decimal'\n\
                reconnect = 'never'\nnagle = true\nbefore = 'a b'\nafter = 'c'\n";
    let record = lowered(&format!("{NAMED}{said}"), &machine(4, true)).record;
    assert_eq!((record.multiget_share, record.interval_s), (Some(0.25), Some(2.0)));
    assert_eq!((record.pause_after_reply_s, record.interval_times), (0.001, true));
    assert_eq!((&*record.key_form, &*record.reconnect, record.nagle), ("decimal", "never", true));
    assert_eq!((record.before.as_deref(), record.after.as_deref()), (Some("a b"), Some("c")));
}

#[test]
fn workers_are_half_of_the_cpus_within_bounds() {
    let cases = [
        (1, true, None, 1),
        (2, true, None, 1),
        (6, true, None, 3),
        (64, true, None, 4),
        (6, false, None, 3),
        (64, false, None, 8),
        (64, false, Some(3.0), 1),
        (64, false, Some(0.5), 1),
        (4, false, Some(64.0), 2),
    ];
    for (cpus, local, cpu_quota, workers) in cases {
        let around = Surroundings { cpu_quota, ..machine(cpus, local) };
        let lowered = lowered(NAMED, &around);
        assert_eq!(lowered.plan.workers, workers, "{cpus} CPUs, quota {cpu_quota:?}");
        assert!(lowered.record.why.contains_key("threads"));
    }
    let told = lowered("server = 'a'\nthreads = 7\n", &machine(2, true));
    assert_eq!(told.plan.workers, 7);
    assert!(!told.record.why.contains_key("threads"), "it was the user's decision");
}

#[test]
fn there_is_a_connection_for_every_worker() {
    let by_itself = lowered("server = 'a'\nconnections = 3\n", &machine(64, false));
    assert_eq!((by_itself.plan.workers, by_itself.plan.connections), (3, 3));
    let asked = scenario("server = 'a'\nthreads = 7\nconnections = 3\n");
    let problem = lower(&asked, &machine(8, true)).expect_err("four would have nothing to do");
    assert_eq!(problem.field, "threads");
}

#[test]
fn without_a_rate_a_named_server_gets_a_closed_loop_and_our_own_ten_thousand() {
    let closed = lowered(NAMED, &machine(8, true));
    assert!(matches!(closed.plan.pacing, Pacing::Closed));
    assert_eq!(closed.record.loop_kind, LoopKind::Closed);
    assert_eq!((closed.plan.depth, closed.record.rate_per_s), (1, None));
    let own = lowered("", &Surroundings { embedded: true, ..machine(8, true) });
    assert_eq!(own.record.rate_per_s, Some(10_000.0));
    assert_eq!(own.record.loop_kind, LoopKind::Open);
    assert_eq!(own.plan.depth, 64);
    let paced = lowered("server = 'a'\nrate = '20k'\n", &machine(8, true));
    assert_eq!((paced.record.rate_per_s, paced.plan.depth), (Some(20_000.0), 64));
    let deep = lowered("server = 'a'\ndepth = 5\n", &machine(8, true));
    assert_eq!(deep.plan.depth, 5);
}

#[test]
fn connections_that_come_and_go_have_places_and_rates_of_their_own() {
    let of = |toml: &str| lowered(&format!("{NAMED}{toml}"), &machine(8, true));
    let paced = of("calls = 10\n'connection-rate' = 1000\n'call-rate' = 500\nlinger = '2s'\n");
    let churn = paced.plan.churn().expect("connections are the load");
    assert_eq!((churn.calls, churn.openings_max, churn.linger), (10, None, Some(Span::from_s(2))));
    assert!(churn.openings.is_some() && churn.call_pace.is_some());
    assert_eq!((paced.plan.connections, paced.plan.depth), (1_024, 10));
    assert_eq!(paced.record.loop_kind, LoopKind::Open);
    assert_eq!(paced.plan.window.duration, Span::from_s(10));
    // Each connection opens when another has ended, up to the total.
    let chain = of("calls = 3\n'connections-total' = 50\n");
    let churn = chain.plan.churn().expect("connections are the load");
    assert!(churn.openings.is_none() && churn.call_pace.is_none());
    assert_eq!((chain.plan.connections, chain.plan.workers, chain.plan.depth), (1, 1, 1));
    assert_eq!(chain.record.loop_kind, LoopKind::Closed);
    assert_eq!(chain.plan.window.duration, Span::MAX);
    assert_eq!(chain.plan.window.cooldown, Cooldown::Drain);
    // No more slots than connections, and a wave that counts connections.
    let few = of("'connection-rate' = 5\n'connections-total' = 7\n");
    assert_eq!((few.plan.connections, few.record.churn.map(|churn| churn.calls)), (7, Some(1)));
    let wave = of("calls = 1\nwave = 'ramp:10,90'\nduration = '4s'\n");
    let openings =
        wave.plan.churn().and_then(|churn| churn.openings.clone()).expect("they have a rate");
    assert_eq!(openings.curve.cumulative(Span::from_s(4)).round(), 200.0);
}

#[test]
fn connections_are_per_server_and_dealt_evenly() {
    let plan = lowered("server = 'a,b,c'\nthreads = 2\n", &around(3, true)).plan;
    assert_eq!(plan.connections, 3 * 64);
    let mut of_server = [0; 3];
    for worker in 0..plan.workers {
        for nth in 0..plan.connections_of(worker) {
            of_server[plan.server_of(worker, nth).index()] += 1;
        }
    }
    assert_eq!(of_server, [64; 3]);
    let few = lowered("server = 'a,b'\nconnections = 5\n", &around(2, true)).plan;
    assert_eq!(few.connections, 10);
}

#[test]
fn connections_are_dealt_evenly_over_servers_whatever_the_workers() {
    for servers in 1..6 {
        for workers in 1..9u32 {
            for connections in [1u32, 2, 7, 64] {
                if workers > connections {
                    continue;
                }
                let names = vec!["s"; servers].join(",");
                let toml = format!(
                    "server = '{names}'\nthreads = {workers}\nconnections = {connections}\n"
                );
                let plan = lowered(&toml, &around(servers, true)).plan;
                let mut of_server = vec![0u32; servers];
                for worker in 0..plan.workers {
                    for nth in 0..plan.connections_of(worker) {
                        of_server[plan.server_of(worker, nth).index()] += 1;
                    }
                }
                let case = format!("{servers} servers, {workers} workers");
                assert_eq!(of_server, vec![connections; servers], "{case}");
            }
        }
    }
}

#[test]
fn the_window_ends_by_time_or_by_operations() {
    let window = |toml: &str| lowered(toml, &machine(8, true)).plan.window;
    assert_eq!(window(NAMED).duration, Span::from_s(10));
    assert_eq!(window(NAMED).cooldown, Cooldown::Load);
    let counted = window("server = 'a'\nops-max = 5\n");
    assert_eq!((counted.duration, counted.ops_max), (Span::MAX, Some(5)));
    assert_eq!(counted.cooldown, Cooldown::Drain, "nothing may follow the last operation");
    let both = window("server = 'a'\nops-max = 5\nduration = '3s'\n");
    assert_eq!((both.duration, both.ops_max), (Span::from_s(3), Some(5)));
    assert_eq!(window("server = 'a'\ncooldown = 'drain'\n").cooldown, Cooldown::Drain);
    assert_eq!(window("server = 'a'\ncooldown = 'stop'\n").cooldown, Cooldown::Stop);
}

#[test]
fn schedules_and_numeric_keys_are_as_asked() {
    let plan = lowered(
        "server = 'a'\nrate = 5\nschedule = 'connection'\nmix = 'incr=1'\nkeys = 10\n",
        &machine(8, true),
    )
    .plan;
    assert!(matches!(plan.pacing, Pacing::Open { sharing: Sharing::Connection, .. }));
    assert_eq!((plan.source.numeric_keys, plan.numeric_from), (10, 10));
    let plain = lowered("server = 'a'\nkeys = 10\n", &machine(8, true)).plan;
    assert_eq!(plain.source.numeric_keys, 0);
}

#[test]
fn keys_too_short_to_be_unique_are_refused_by_name() {
    let toml = "server = 'a'\nkeys = '1M'\nkey-size = 'fixed:2'\n";
    let problem = lower(&scenario(toml), &machine(8, true)).expect_err("there are not so many");
    assert_eq!(problem.field, "key-size");
}

#[test]
fn an_address_on_this_machine_is_local() {
    let far = Address::Tcp(([192, 0, 2, 7], 11_211).into());
    let near = Address::Tcp(([127, 0, 0, 1], 11_211).into());
    assert!(near.is_local() && !far.is_local() && Address::Unix("/s".to_owned()).is_local());
}

#[test]
fn clients_that_are_counted_are_dealt_to_workers_and_servers() {
    let text = "server = 'a'\nclients = 7\nconnections-per-client = 3\nthreads = 2\n";
    let plan = lower(&scenario(text), &around(3, true)).expect("it can be run").plan;
    assert_eq!((plan.workers, plan.connections, plan.depth), (2, 21, 1));
    let mut of_server = [0u32; 3];
    for worker in 0..plan.workers {
        let count = plan.connections_of(worker);
        assert_eq!(count, if worker == 0 { 12 } else { 9 });
        let servers: Vec<usize> =
            (0..count).map(|nth| plan.server_of(worker, nth).index()).collect();
        for of_client in servers.chunks(3) {
            assert!(of_client.iter().all(|server| *server == of_client[0]), "one server");
            of_server[of_client[0]] += 1;
        }
    }
    assert_eq!(of_server, [3, 2, 2]);
}

#[test]
fn a_window_is_as_large_as_a_cache_asks_for() {
    let text = "server = 'a'\nclients = 128\nkey-size = 128\nvalue-size = 2048\n";
    let objects = |window: &str, servers: usize| {
        let lowered = lower(&scenario(&format!("{text}{window}")), &around(servers, true));
        let lowered = lowered.expect("it can be run");
        assert_eq!(lowered.record.why.contains_key("window"), window.contains("auto"));
        lowered.plan.source.window.expect("there is one").objects
    };
    assert_eq!(objects("window = 'auto:4G,0'", 1), 7_710);
    assert_eq!(objects("window = 'auto:4G,5%'", 1), 10_794);
    assert_eq!(objects("window = 'auto:4G,0'", 2), 15_420, "each server has half of the clients");
    assert_eq!(objects("window = '10k'", 1), 10_000);
    let many = lower(&scenario(&format!("{text}window = '1G'")), &around(1, true));
    assert_eq!(many.expect_err("it would take 512 GB").field, "window");
}

#[test]
fn clients_reach_all_servers_or_one_in_two_ways() {
    let reach = |toml: &str, servers: usize| {
        let around = Surroundings { cpus_online: 4, ..around(servers, true) };
        let lowered = lowered(&format!("{toml}clients = 6\nconnections-per-client = 4\n"), &around);
        let Clients::Counted { connections, reach, .. } = lowered.plan.clients else {
            panic!("clients are counted")
        };
        assert_eq!(lowered.plan.connections, 6 * connections);
        assert_eq!(lowered.plan.requests.transport, Transport::Stream);
        (connections, reach, lowered)
    };
    let (each, to, lowered) = reach("server = 'a,b,c'\nwriters = 2\n", 3);
    assert_eq!((each, to), (12, Reach::Servers { writers: 2, copies: Replicate::All }));
    let servers: Vec<usize> = (0..12).map(|nth| lowered.plan.server_of(0, nth).index()).collect();
    assert_eq!(servers, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    assert!(lowered.record.routes.is_some_and(|words| words.contains("all of the first 2")));
    let (_, to, _) = reach("server = 'a,b'\nwriters = 2\nreplicate = 'one'\n", 2);
    assert_eq!(to, Reach::Servers { writers: 2, copies: Replicate::One });
    let (each, to, _) = reach("server = 'a'\ntransport = 'split'\n", 1);
    assert!(each == 5 && matches!(to, Reach::Split { .. }), "{each} {to:?}");
    let (each, to, lowered) = reach("server = 'a'\n", 1);
    assert_eq!((each, to, lowered.record.routes), (4, Reach::Server, None));
}
