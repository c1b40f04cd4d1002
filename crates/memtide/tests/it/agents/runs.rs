//! Successful runs by agents: every command and flag.

use super::{Agent, Lab, OWN_ADDRESS, is_untouched, names, record, until};
use crate::child::{assert_counters_equal, memtide, program, shared};
use crate::peer::Peer;
use memtide_record::compare::Trial;
use memtide_record::{CheckKind, CheckResult, EndedBy, GoalResult, Record, ShareStart, WarmupEnd};
use std::fs;
use std::path::Path;
use std::sync::PoisonError;

const WORDS: &str = "--rate 2k --duration 1s --arrival fixed";

#[test]
fn agents_make_one_run_after_another() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("runs"), Peer::memcached(""));
    let agents = lab.agents(2);
    for _ in 0..2 {
        let (finished, record) = lab.run(&peer, "2", WORDS);
        assert_eq!((record.ended_by, record.partial), (EndedBy::Duration, false), "{finished}");
        assert_eq!((record.totals.intended, record.shards.len()), (2_000, 2), "{finished}");
        assert_eq!(names(&record), ["a0", "a1"]);
        for (number, shard) in (0..).zip(&record.shards) {
            let share = shard.share.as_ref().unwrap();
            assert_eq!((share.number, share.of, share.start), (number, 2, ShareStart::Agents));
            assert!(share.agent.as_ref().unwrap().began_late_ns.is_some());
            assert!(shard.clock.as_ref().unwrap().reference.is_some());
        }
        assert!(record.start_skew_ns.is_some());
        for name in ["a0", "a1", "start skew"] {
            assert!(finished.out.contains(name), "the report says '{name}': {finished}");
        }
        assert_counters_equal(&record);
    }
    for agent in agents {
        assert_eq!(agent.said().matches("done with share").count(), 2, "{}", agent.said());
        agent.signal(rustix::process::Signal::TERM);
        assert_eq!(agent.code(), Some(0));
    }
}

/// Real agents: the window opens for all once the load is steady, closes for all once p50 is
/// narrow, and memcached has counted what their records say.
#[test]
fn agents_find_their_warm_up_and_end_when_figures_are_narrow() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("steady"), Peer::memcached(""));
    let _agents = lab.agents(2);
    let (finished, record) = lab.run(&peer, "2", "--rate 2k --duration 10s --mix get=1");
    assert_eq!((record.ended_by, record.partial), (EndedBy::Duration, false), "{finished}");
    assert_eq!(record.shards.len(), 2);
    let warmup_s = record.plan.warmup_s;
    match record.plan.warmup_end {
        WarmupEnd::Steady => assert!((1.7..3.0).contains(&warmup_s), "{warmup_s}"),
        // A busy machine is not steady.
        end => assert_eq!((end, warmup_s), (WarmupEnd::Unsteady, 3.0)),
    }
    // By the compared clocks it is one instant, as far as they are known.
    let references = record.shards.iter().flat_map(|shard| &shard.clock);
    let errors_ns = references.map(|clock| clock.reference.as_ref().unwrap().error_max_ns as f64);
    let apart_max = 0.01 + errors_ns.sum::<f64>() / 1e9;
    for shard in &record.shards {
        assert_eq!(shard.plan.warmup_end, record.plan.warmup_end);
        assert!((shard.plan.warmup_s - warmup_s).abs() < apart_max, "{}", shard.plan.warmup_s);
    }
    assert!(finished.out.contains("of warm-up"), "{finished}");
    assert_counters_equal(&record);
    let file = lab.path("narrow.toml");
    fs::write(&file, "precision = \"rate 9%\"\n").unwrap();
    let words = format!("{} --rate 2k --warmup 0 --at-most 20s --mix get=1", file.display());
    let (finished, record) = lab.run(&peer, "2", &words);
    let precision = record.plan.precision.as_ref().expect("the plan has a precision");
    // On a busy machine the rate may not settle; the window then closes at the latest instant.
    let is_latest = precision.reached == Some(false) && record.measured_s == 20.0;
    let is_told = precision.reached == Some(true) && (5.7..20.0).contains(&record.measured_s);
    assert!(is_latest || is_told, "{finished}");
    assert_counters_equal(&record);
}

#[test]
fn agents_speak_meta_with_all_that_only_it_has() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("meta"), Peer::embedded(""));
    let _agents = lab.agents(2);
    let mix = "get=4,gets=1,set=1,recache=3,invalidate=1,peek=2";
    let words = format!("--protocol meta --mix {mix} --recache-time 1ms --meta-flags thl {WORDS}");
    let (finished, record) = lab.run(&peer, "2", &words);
    assert_eq!((record.totals.intended, record.shards.len()), (2_000, 2), "{finished}");
    for name in ["won", "values", "unchanged", "invalidated"] {
        assert!(record.totals.replies[name] > 0, "no {name}: {finished}");
    }
    assert!(record.items.as_ref().is_some_and(|items| items.age_s.count > 0), "{finished}");
    assert_counters_equal(&record);
}

#[test]
fn agents_fill_search_and_scan() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("commands"), Peer::memcached(""));
    let _agents = lab.agents(2);
    let at = format!("-s {} --agents 2 --quiet --keys 1001", peer.name);
    lab.master(&format!("load {at}")).finish().exits(0);
    assert_eq!((peer.figure("cmd_set"), peer.figure("curr_items")), (1_001, 1_001));
    let words = "--duration 500ms --warmup 0";
    lab.master(&format!("scan {at} --rates 400,800 {words}")).finish().exits(0);
    let search =
        format!("search {at} --rate-min 500 --rate-max 1k --goal all.p50<5s --steps-max 2 {words}");
    let search = lab.master(&search).finish();
    assert!(search.code == Some(0) || search.code == Some(1), "{search}");
    assert!(search.out.contains("1 000/s"), "{search}");
}

#[test]
fn agents_make_both_arms_of_a_trial() {
    let _turn = shared();
    let (lab, peer, other) = (Lab::new("ab"), Peer::memcached(""), Peer::memcached(""));
    let agents = lab.agents(2);
    let (json, page) = (lab.path("ab.json"), lab.path("ab.html"));
    let line = format!(
        "ab --a server={} --b server={} --agents 2 --keys 100 {WORDS} --figures all.p50,rate \
         --at-most 1s --json {} --out html={}",
        peer.name,
        other.name,
        json.display(),
        page.display()
    );
    let finished = lab.master(&line).finish();
    // A busy machine may spoil all pairs.
    assert!(matches!(finished.code, Some(0 | 1)), "{finished}");
    let trial: Trial = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert!(!trial.pairs.is_empty(), "{finished}");
    assert!(finished.out.contains("\npair 1: "), "{finished}");
    for pair in trial.pairs.iter().filter(|pair| pair.left_out.is_none()) {
        for arm in &pair.values {
            let rate = arm[1].unwrap();
            // Each alone has half of the rate, and sends none before it is due.
            assert!((1_050.0..2_010.0).contains(&rate), "both agents made it: {rate}: {finished}");
        }
    }
    // Each agent made a share of each run.
    let shares = 2 * trial.pairs.len();
    for agent in &agents {
        assert_eq!(agent.said().matches("done with share").count(), shares, "{}", agent.said());
    }
    assert!(fs::read_to_string(page).unwrap().contains("Pair by pair"), "{finished}");
}

#[test]
fn agents_that_wait_are_listed_and_say_whether_they_are_free() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("listed"), Peer::memcached(""));
    let ((_one, first), (_other, second)) = (lab.listening("zoe"), lab.listening("amy"));
    let status = format!("agent status --key {} {first} {second}", lab.key());
    let free = memtide(&status).exits(0);
    assert_eq!(free.out.matches("free: ").count(), 2, "{free}");
    let (_, record) = lab.run(&peer, &format!("{first},{second}"), WORDS);
    // Shares are numbered in the order of the list.
    assert_eq!((names(&record), record.totals.intended), (vec!["zoe".into(), "amy".into()], 2_000));
    let busy = lab.start(&peer, &first, "--rate 1k --duration 5m --mix get=1", &lab.path("b"));
    peer.await_figure("cmd_get", peer.figure("cmd_get") + 2_000);
    let told = memtide(&status).exits(1);
    assert!(told.out.contains("busy since @") && told.out.contains("free: amy"), "{told}");
    drop(busy);
    let gone = memtide(&format!("agent status --key {} 127.0.0.1:1", lab.key()));
    assert_eq!(gone.code, Some(3), "{gone}");
}

#[test]
fn the_master_can_have_a_share_too() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("own"), Peer::memcached(""));
    let _agent = lab.agent("a0");
    let (finished, record) = lab.run(&peer, "1", &format!("{WORDS} --master-share"));
    assert_eq!((record.totals.intended, record.shards.len()), (2_000, 2), "{finished}");
    assert_eq!(names(&record), ["a0", "master"]);
    let (_listening, address) = lab.listening("b0");
    let (_, record) = lab.run(&peer, &address, &format!("{WORDS} --master-share"));
    assert_eq!(names(&record), ["b0", "master"]);
}

#[test]
fn goals_and_conditions_are_judged_over_all_agents() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("goals"), Peer::memcached(""));
    let (_agents, json) = (lab.agents(2), lab.path("run.json"));
    // Each agent alone has half of the rate.
    let words = format!("{WORDS} --goal rate>1050");
    let (finished, met) = lab.run(&peer, "2", &words);
    assert!(met.goals.iter().all(|goal| goal.result == GoalResult::Met), "{finished}");
    let missed = lab.start(&peer, "2", &format!("{WORDS} --goal rate>1G"), &json).finish();
    missed.fails(1, &[]);
    let words = "--rate 2k --duration 2m --abort-on rate>1050";
    let aborted = lab.start(&peer, "2", words, &json).finish();
    let record = record(&json);
    assert_eq!((record.ended_by, record.partial), (EndedBy::Aborted, true), "{aborted}");
    assert!(record.aborted.is_some() && record.shards.len() == 2, "{aborted}");
    assert!(record.window_ns < 60_000_000_000, "{aborted}");
}

#[test]
fn agents_of_the_same_user_need_no_key_on_this_machine() {
    let _turn = shared();
    let _address = OWN_ADDRESS.lock().unwrap_or_else(PoisonError::into_inner);
    let (lab, peer) = (Lab::new("state"), Peer::memcached(""));
    let state = lab.path("state");
    let own = || {
        let mut command = program();
        command.env("XDG_STATE_HOME", &state);
        command
    };
    let agent = Agent::start(&lab, "mine", "agent --once", own());
    agent.await_log("connects to its master");
    let line = |server: &str| {
        format!("run -s {server} --quiet --keys 50 --agents 1 --expect 60s {WORDS} --json -")
    };
    let run = |server: &str| {
        crate::child::Running::of(own().args(line(server).split_whitespace())).finish()
    };
    let record = run(&peer.name).exits(0).record();
    assert_eq!((record.totals.intended, names(&record)), (2_000, vec!["mine".to_owned()]));
    // It served one master.
    assert_eq!(agent.code(), Some(0));
    // Agents without a join file load only servers on this machine.
    let again = Agent::start(&lab, "again", "agent", own());
    run("192.0.2.1:11211").fails(2, &["192.0.2.1", "not among the targets"]);
    drop(again);
}

#[test]
fn what_agents_cannot_do_is_refused_before_they_are_asked() {
    let (lab, peer) = (Lab::new("refused"), Peer::memcached(""));
    for (words, said) in [
        ("--agents 1 --samples x.csv", &["--samples agents"][..]),
        ("--agents 1 --plan", &["--plan"]),
        ("--agents 1 --verify 1 --verify-details x", &["--verify-details"]),
        ("--agents 1 --shard 0/2 --json -", &["shard and agents cannot be used together"]),
    ] {
        let line = format!("run -s {} {words}", peer.name);
        lab.refuses(&line, 2, said);
    }
    lab.refuses("run --agents 1", 2, &["--agents needs --server"]);
    lab.refuses(&format!("run -s {} --allow-lost 1", peer.name), 2, &["needs agents: add agents"]);
    is_untouched(&peer);
    let agent = lab.agent("a0");
    let line = format!("run -s {} --agents 1 --keys 50 --samples agents {WORDS}", peer.name);
    lab.refuses(&line, 2, &["a0", "it has no folder for samples"]);
    until(|| agent.said().contains("refused share 0 of 1"), || agent.said());
    is_untouched(&peer);
}

#[test]
fn an_agent_for_one_master_ends_after_its_runs() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("once"), Peer::memcached(""));
    let agent = lab.agent_with("a0", "--once");
    let line = format!(
        "scan -s {} --agents 1 --quiet --keys 50 --rates 400,800 --duration 300ms --warmup 0 \
        ",
        peer.name
    );
    lab.master(&line).finish().exits(0);
    assert_eq!(agent.said().matches("done with share").count(), 2, "{}", agent.said());
    assert_eq!(agent.code(), Some(0));
    let json = lab.path("none.json");
    lab.start(&peer, "1", "--expect 500ms", &json).finish().fails(3, &["0 of 1 agents joined"]);
    assert!(!json.exists() || record(&json).totals.intended == 0);
}

#[test]
fn a_master_measures_at_a_rate_of_its_own_while_agents_load() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("own-load"), Peer::memcached(""));
    let _agents = lab.agents(2);
    let outputs = ["junit=a.xml", "md=a.md", "summary=s.csv", "intervals=i.csv", "hgrm=a.hgrm"];
    let [junit, md, summary, intervals, hgrm] =
        outputs.map(|output| lab.path(output.split_once('=').unwrap().1));
    let outputs = outputs.map(|output| {
        let (kind, file) = output.split_once('=').unwrap();
        format!(" --out {kind}={}", lab.path(file).display())
    });
    let words =
        format!("{WORDS} --master-rate 500 --goal all.p99<5s --warmup 0{}", outputs.concat());
    let (finished, record) = lab.run(&peer, "2", &words);
    assert_eq!((record.totals.intended, record.shards.len()), (2_000, 2), "{finished}");
    let own = record.own.as_ref().expect("the master has a record of its own");
    assert_eq!((own.totals.intended, own.rate.target_per_s), (500, Some(500.0)), "{finished}");
    assert_eq!((own.goals.len(), &own.goals[0].goal), (1, &record.goals[0].goal));
    assert_eq!(record.goals[0].result, GoalResult::Met);
    // Each output holds both loads and tells them apart, or says which it holds.
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    assert!(record.goals[0].why.starts_with("the master's own load: "), "{finished}");
    assert!(read(&md).contains("| the master's own load: "), "{}", read(&md));
    let junit = read(&junit);
    for whose in ["the agents&apos; load", "the master&apos;s own load"] {
        assert!(junit.contains(whose) || junit.contains(&whose.replace("&apos;", "'")), "{junit}");
    }
    assert_eq!(junit.matches("memtide.goal").count(), 1, "{junit}");
    let rows = read(&summary);
    let loads: Vec<&str> = rows.lines().skip(1).filter_map(|row| row.rsplit(',').next()).collect();
    assert_eq!(loads, ["agents", "master"], "{rows}");
    assert!(read(&hgrm).ends_with("#[Load = the master's own, beside the agents' load]\n"));
    let settled = super::bad_days::settled(&read(&intervals));
    let ended = |it: &Record| {
        let phases = [&it.phases.warmup, &it.phases.measure, &it.phases.cooldown];
        phases.map(|phase| phase.totals.intended).iter().sum::<u64>()
    };
    assert_eq!(settled, ended(&record), "the rows hold the agents' load");
    assert!(finished.out.contains("load of the master itself"), "{finished}");
    // The servers saw both loads.
    let code = CheckKind::ServerCounters;
    let mut checks = record.believable.checks.iter();
    let counters = checks.find(|check| check.code == code).unwrap();
    assert_eq!(counters.result, CheckResult::Passed, "{}", counters.message);
    let json = lab.folder.join("own.json");
    fs::write(&json, record.to_json()).unwrap();
    memtide(&format!("merge {}", json.display())).complains(2, &["the master's own load"]);
    let shown = memtide(&format!("report {}", json.display()));
    assert!(shown.out.contains("load of the master itself"), "{shown}");
    // A goal that the master misses is missed, whatever the agents measure.
    let words = "--rate 1k --duration 500ms --warmup 0 --master-rate 200 --goal all.p50<1ns";
    let missed = lab.master(&format!("run -s {} --agents 2 {words}", peer.name)).finish();
    missed.exits(1);
    let scan = "--rates 400,800 --duration 500ms --warmup 0 --master-rate 200 --goal all.p50<1ns";
    let scan = lab.master(&format!("scan -s {} --agents 2 {scan}", peer.name)).finish();
    assert_eq!(scan.out.matches("missed").count(), 2, "{scan}");
    for (wrong, said) in [
        ("--agents 2 --master-rate 0", "above 0"),
        ("--master-rate 10", "needs agents: add agents"),
        ("--agents 2 --master-rate 10 --master-share", "remove one of them"),
        ("--agents 2 --master-rate 10 --ops-max 10", "needs --duration"),
    ] {
        lab.refuses(&format!("run -s {} {wrong}", peer.name), 2, &[said]);
    }
}

#[test]
fn an_agent_takes_as_many_shares_as_it_is_told() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("units"), Peer::memcached(""));
    let _one = lab.agent("a0");
    let _three = lab.agent_with("a1", "--shares 3");
    let (finished, record) = lab.run(&peer, "2", &format!("{WORDS} --warmup 0"));
    let shares: Vec<_> = record.shards.iter().map(|shard| shard.share.clone().unwrap()).collect();
    let units: Vec<_> = shares.iter().map(|it| (it.number, it.units, it.of)).collect();
    assert_eq!(units, [(0, 1, 4), (1, 3, 4)], "{finished}");
    let lanes: Vec<_> = record.shards.iter().map(|it| it.lanes.unwrap().count).collect();
    assert_eq!((lanes, record.totals.intended), (vec![1, 3], 2_000), "{finished}");
    assert_eq!(record.missing, None);
    for (shard, rate) in record.shards.iter().zip([500.0, 1_500.0]) {
        assert_eq!(shard.rate.target_per_s, Some(rate));
    }
    assert_counters_equal(&record);
}
