//! Verification against servers with planted faults, in virtual time. Every planted fault is
//! counted once and in its class. A server without faults is never accused, even if operations
//! overlap, are refused, lost or late.

#[path = "rig/mod.rs"]
#[allow(dead_code, unused_imports, reason = "a part of the rig is wanted here")]
mod rig;
#[path = "rig/encrypted.rs"]
mod encrypted;

use encrypted::encrypted;
use memtide_base::{ConnectionId, Instant, Law, Span};
use memtide_metrics::{Counters, Mismatch, TallySum, VerifyClass};
use memtide_server::{FaultKind, ServerProfile, StoreOptions};
use memtide_sim::{Network, Script, Setting, SimFleet, SimServer, Trace, WorldFilter};
use memtide_workload::{KeySpace, Oracle, Popularity, SizeLaw, SourcePlan, ValueSpace};
use memtide_world::fleet::{Command, Fleet};
use memtide_world::{
    Address, Cooldown, Pacing, Plan, Protocol, ServerPlan, Stage, Verify, Window, WindowCommands,
};
use std::sync::Arc;

const KEYS: u64 = 2_000;
const NUMERIC: u64 = 100;
/// All kinds of operations that can be combined with verification.
const MIX: &str =
    "get=8,gets=1,gat=1,gats=1,set=4,add=1,replace=1,cas=2,delete=0.5,touch=1,incr=0.5";

/// A closed loop of `ops` operations by three workers with twelve connections. All reads are
/// verified, and versions are tracked for `keys_max` keys.
fn plan(ops: u64, keys_max: u64, values: &str) -> Plan {
    let base = rig::plan();
    let values: SizeLaw = values.parse().expect("a law");
    let window = Window {
        warmup: Span::ZERO,
        opened_by_command: false,
        closed_by_command: false,
        duration: Span::MAX,
        ops_max: Some(ops),
        cooldown: Cooldown::Drain,
    };
    Plan {
        workers: 3,
        connections: 12,
        depth: 8,
        pacing: Pacing::Closed,
        window,
        commands: WindowCommands::default(),
        source: SourcePlan {
            mix: MIX.parse().expect("a mix"),
            popularity: Popularity::Zipf(0.9),
            keys: KEYS,
            numeric_keys: NUMERIC,
            ..base.source.clone()
        },
        keys: KeySpace::new(KEYS + NUMERIC, SizeLaw::fixed(30), base.seed).expect("room"),
        values: ValueSpace::new(values, 1 << 20, base.seed),
        numeric_from: KEYS,
        samples: false,
        verify: Some(Verify {
            fraction: 1.0,
            writer: 77,
            oracles: vec![Arc::new(Oracle::new(KEYS, keys_max, base.seed))],
            lifetimes: None,
            lengths: false,
        }),
        ..base
    }
}

/// The plan changed to store every key once.
fn filling(plan: &Plan) -> Plan {
    let keys = KEYS + plan.source.numeric_keys;
    let source = SourcePlan {
        mix: "set=1".parse().expect("a mix"),
        popularity: Popularity::Sequential,
        keys,
        walkers: 1,
        multiget: 1,
        multiget_share: 1.0,
        numeric_keys: 0,
        ..plan.source.clone()
    };
    let window = Window { ops_max: Some(keys), ..plan.window };
    Plan { source, window, ..plan.clone() }
}

/// A world with one server, and a network in which answers of different connections overtake each
/// other.
fn fleet(faults: &str, delay: Law) -> SimFleet {
    fleet_over(faults, delay, None)
}

/// The world of [`fleet`] with this filter at the server's end.
fn fleet_over(faults: &str, delay: Law, filter: Option<WorldFilter>) -> SimFleet {
    let server = SimServer {
        addresses: vec![Address::Unix("one".to_owned())],
        store: StoreOptions { memory_bytes_max: 64 << 20, item_bytes_max: 1 << 20, shards: 1 },
        profile: ServerProfile {
            faults: faults.parse().expect("faults"),
            ..ServerProfile::default()
        },
        dead: Vec::new(),
    };
    let setting = Setting {
        seed: 5,
        network: Network { delay, ..Network::default() },
        servers: vec![server],
        filter,
        script: Script::default(),
        pauses: Vec::new(),
        work: Span::ZERO,
        interrupt_at: Instant::NEVER,
    };
    SimFleet::new(setting, Trace::new(), |_| {})
}

/// Carries out `plan` to its end. Returns the counts and the wrong values.
fn carry_out(fleet: &mut SimFleet, plan: &Plan) -> (Counters, Vec<Mismatch>) {
    let mut totals = TallySum::new(&plan.shape());
    fleet.start(plan, 0..plan.workers).expect("it starts");
    let step = Span::from_ms(20);
    let mut all = |fleet: &mut SimFleet, has: &dyn Fn(&memtide_world::WorkerReport) -> bool| {
        let interval = fleet.collect(fleet.now() + step, &mut totals).expect("it goes on");
        interval.workers.iter().all(has)
    };
    while !all(fleet, &|worker| worker.stage >= Stage::Ready) {}
    let start = fleet.now() + step;
    fleet.command(start, Command::Begin).expect("it begins");
    while !all(fleet, &|worker| worker.measured_done) {}
    fleet.command(fleet.now(), Command::Stop { grace: plan.timeout }).expect("it stops");
    while !all(fleet, &|worker| worker.stage == Stage::Finished) {}
    let mut counters = Counters::default();
    totals.segments.iter().for_each(|segment| counters += segment);
    assert_eq!(counters.settled(), counters.intended);
    assert_eq!(totals.mismatches.lost(), 0, "there was room for all of them");
    assert_eq!(totals.mismatches.kept().len() as u64, counters.wrong.iter().sum::<u64>());
    (counters, totals.mismatches.kept().to_vec())
}

fn of(counters: &Counters, class: VerifyClass) -> u64 {
    counters.wrong[class as usize]
}

/// Fills a server with these faults and loads it with `plan`. Checks that every answered key was
/// verified.
fn load(plan: &Plan, faults: &str) -> (SimFleet, Counters, Vec<Mismatch>) {
    load_in(fleet(faults, Law::Exponential(0.002)), plan)
}

/// Does what [`load`] does, in this world.
fn load_in(mut fleet: SimFleet, plan: &Plan) -> (SimFleet, Counters, Vec<Mismatch>) {
    let (filled, _) = carry_out(&mut fleet, &filling(plan));
    assert_eq!((filled.answered, filled.verified), (KEYS + plan.source.numeric_keys, 0));
    let (counters, wrong) = carry_out(&mut fleet, plan);
    assert_eq!(counters.answered, counters.intended);
    assert!(counters.verified >= counters.hits, "a cas is verified and counted by its store");
    (fleet, counters, wrong)
}

#[test]
fn a_healthy_server_is_never_accused() {
    for (ops, values, keys_max, multiget, protocol) in [
        (100_000, "uniform:0,64", KEYS, 1, Protocol::Text),
        (10_000, "fixed:200", KEYS / 3, 10, Protocol::Text),
        (20_000, "etc-value", 1, 1, Protocol::Text),
        (20_000, "uniform:0,64", KEYS, 1, Protocol::Binary),
        (10_000, "fixed:200", KEYS / 3, 10, Protocol::Binary),
        (20_000, "uniform:0,64", KEYS, 1, Protocol::Meta),
        (10_000, "fixed:200", KEYS / 3, 10, Protocol::Meta),
    ] {
        let mut plan = plan(ops, keys_max, values);
        plan.requests.protocol = protocol;
        plan.source.multiget = multiget;
        let (_, counters, wrong) = load(&plan, "none");
        assert_eq!(wrong, [], "values {values}, {keys_max} sampled, {multiget} at once");
        assert!(counters.verified > ops / 3, "{}", counters.verified);
    }
}

#[test]
fn expiries_and_misses_are_nobodys_fault() {
    let faults = "expire-early:0.01,expire-late:0.01,server-error:0.01@get";
    let mut plan = plan(40_000, KEYS, "fixed:64");
    plan.requests.expiry = 1;
    let mut fleet = fleet(faults, Law::Exponential(0.002));
    carry_out(&mut fleet, &filling(&plan));
    let (counters, wrong) = carry_out(&mut fleet, &plan);
    assert!(fleet.fault_count(0, FaultKind::ExpireEarly) > 100 && counters.misses > 1_000);
    assert_eq!(wrong, []);
}

#[test]
fn each_planted_fault_is_counted_once_and_in_its_class() {
    let cases = [
        ("flip:0.01", FaultKind::Flip, VerifyClass::Corrupt, "uniform:1,64"),
        ("other-key:0.01", FaultKind::OtherKey, VerifyClass::WrongKey, "uniform:16,300"),
        ("truncate:0.01", FaultKind::Truncate, VerifyClass::Truncated, "uniform:1,64"),
        ("stale:0.2", FaultKind::Stale, VerifyClass::Stale, "uniform:16,300"),
    ];
    for (faults, kind, class, values) in cases {
        for (multiget, keys_max, protocol, tls) in [
            (1, KEYS, Protocol::Text, false),
            (10, KEYS / 4, Protocol::Text, true),
            (1, KEYS / 4, Protocol::Binary, true),
            (10, KEYS, Protocol::Binary, false),
        ] {
            let mut plan = plan(30_000, keys_max, values);
            plan.requests.protocol = protocol;
            plan.source.multiget = multiget;
            plan.source.numeric_keys = 0;
            plan.source.mix = "get=8,gets=1,gat=1,set=4,cas=2".parse().expect("a mix");
            plan.source.popularity = Popularity::Uniform;
            let (plan, filter) = match tls {
                true => encrypted(&plan),
                false => (plan, None),
            };
            let fleet = fleet_over(faults, Law::Exponential(0.002), filter);
            let (fleet, counters, wrong) = load_in(fleet, &plan);
            let planted = fleet.fault_count(0, kind);
            assert!(planted > 100, "{faults}: {planted} planted");
            let found = VerifyClass::ALL.map(|class| (class, of(&counters, class)));
            let expected =
                VerifyClass::ALL.map(|one| (one, if one == class { planted } else { 0 }));
            assert_eq!(found, expected, "{faults}, {multiget} at once, {keys_max} sampled");
            let told = |m: &Mismatch| match class {
                VerifyClass::Stale => m.version.is_some_and(|version| version < m.version_min),
                _ => m.key < KEYS,
            };
            assert!(wrong.iter().all(told), "{wrong:?}");
        }
    }
}

#[test]
fn faults_side_by_side_are_told_apart() {
    let faults = "flip:0.01,other-key:0.01,truncate:0.01,stale:0.1,expire-early:0.01";
    let mut plan = plan(40_000, KEYS, "fixed:100");
    plan.source.mix = "get=8,set=4,delete=0.2".parse().expect("a mix");
    plan.source.popularity = Popularity::Uniform;
    let (fleet, counters, _) = load(&plan, faults);
    // Numeric keys were filled, so another key may be answered with the value of one.
    let corrupt_or_other =
        of(&counters, VerifyClass::Corrupt) + of(&counters, VerifyClass::WrongKey);
    let planted = |kind| fleet.fault_count(0, kind);
    assert_eq!(corrupt_or_other, planted(FaultKind::Flip) + planted(FaultKind::OtherKey));
    assert_eq!(of(&counters, VerifyClass::Truncated), planted(FaultKind::Truncate));
    assert_eq!(of(&counters, VerifyClass::Stale), planted(FaultKind::Stale));
    assert!(planted(FaultKind::Stale) > 20);
}

#[test]
fn a_fraction_of_the_reads_is_verified() {
    let mut plan = plan(20_000, KEYS, "fixed:100");
    plan.source.mix = "get=1".parse().expect("a mix");
    plan.verify.as_mut().expect("it verifies").fraction = 0.1;
    let mut fleet = fleet("flip:1", Law::Exponential(0.0005));
    carry_out(&mut fleet, &filling(&plan));
    let (counters, _) = carry_out(&mut fleet, &plan);
    // Four standard errors of 20 000 draws.
    assert!(counters.verified.abs_diff(2_000) < 170, "{} verified", counters.verified);
    assert_eq!(of(&counters, VerifyClass::Corrupt), counters.verified);
}

/// Writes without an answer may be carried out at any time: their answers come after the deadline,
/// or they request none.
#[test]
fn late_and_unacknowledged_writes_accuse_nobody() {
    for (noreply, timeout, protocol) in [
        (false, Span::from_ms(6), Protocol::Text),
        (true, Span::from_s(5), Protocol::Text),
        (false, Span::from_ms(6), Protocol::Binary),
        (true, Span::from_s(5), Protocol::Binary),
        (false, Span::from_ms(6), Protocol::Meta),
    ] {
        let mut plan = plan(40_000, KEYS, "fixed:100");
        let mut fleet = fleet("server-error:0.01", Law::Exponential(0.002));
        carry_out(&mut fleet, &filling(&plan));
        plan.requests.noreply = noreply;
        plan.requests.protocol = protocol;
        plan.timeout = timeout;
        let (counters, wrong) = carry_out(&mut fleet, &plan);
        assert!(counters.timed_out + counters.unacknowledged > 1_000);
        assert!(counters.verified > 10_000);
        assert_eq!(wrong, [], "noreply {noreply}, timeout {timeout}");
    }
}

/// Connections are closed while they carry writes that the server has carried out.
#[test]
fn lost_writes_accuse_nobody() {
    let close = |nth: u32| (rig::ms(50 + 20 * u64::from(nth)), ConnectionId(nth % 12));
    let script = Script { closes: (1..50).map(close).collect(), ..Script::default() };
    let plan = Plan { workers: 1, ..plan(40_000, KEYS, "fixed:100") };
    let ran = rig::run_far(&plan, Span::from_ms(2), script);
    let counters = ran.all();
    assert!(counters.lost > 50 && counters.verified > 10_000, "{counters:?}");
    assert_eq!(ran.totals.mismatches.kept(), []);
}

/// Two runs with the same seed load the same server: each finds the other's values in place of its
/// own. A server that is named twice counts as two.
#[test]
fn values_of_others_are_not_judged_by_their_version() {
    let mut one = plan(10_000, KEYS, "fixed:100");
    let twice = |name: &str| ServerPlan {
        name: name.to_owned(),
        addresses: vec![Address::Unix("one".to_owned())],
    };
    one.servers = vec![twice("one"), twice("the same")];
    let oracle = || Arc::new(Oracle::new(KEYS, KEYS, one.seed));
    let verify = |writer| {
        let oracles = vec![oracle(), oracle()];
        Some(Verify { fraction: 1.0, writer, oracles, lifetimes: None, lengths: false })
    };
    let (verified, verified_too) = (verify(77), verify(99));
    let mut fleet = fleet("none", Law::Exponential(0.0005));
    let silent = Plan { verify: None, ..filling(&one) };
    carry_out(&mut fleet, &silent);
    for round in 0..4 {
        one.verify = if round % 2 == 0 { verified.clone() } else { verified_too.clone() };
        let (counters, wrong) = carry_out(&mut fleet, &one);
        assert_eq!(wrong, [], "round {round}");
        assert!(counters.verified > 3_000);
    }
}
