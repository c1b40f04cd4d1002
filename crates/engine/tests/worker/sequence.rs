//! The run's one sequence of operations: how lanes divide it, its bytes on the wire, and that a
//! repeated run makes the same sequence.

use crate::prelude::*;
use memtide_engine::probe::ask;
use memtide_world::fleet::TroubleKind;
use memtide_world::plan::slot;
use memtide_world::question::{Answer, AskError, Question};
use memtide_world::{ConnectError, Credentials, Matching, SocketOptions};
use std::sync::Arc;

#[test]
fn ops_max_makes_exactly_the_first_operations_whatever_the_workers() {
    for workers in [1, 2, 3, 5] {
        for case in 0..4 {
            let mut plan = Plan { workers, connections: 7, depth: 3, ..plan() };
            plan.window.warmup = Span::ZERO;
            plan.window.duration = Span::MAX;
            plan.window.ops_max = Some(1_003);
            plan.window.cooldown = Cooldown::Drain;
            let plan = match case {
                0 => plan.closed(),
                1 => plan.open(5_000.0, Arrival::Fixed, Sharing::Shared),
                2 => plan.open(5_000.0, Arrival::Poisson, Sharing::Shared),
                _ => plan.open(5_000.0, Arrival::Uniform, Sharing::Connection),
            };
            let mut asked = run(&plan, Script::default()).asked;
            asked.sort_unstable();
            let all: Vec<u64> = (0..1_003).collect();
            assert_eq!(asked, all, "{workers} workers, case {case}");
        }
    }
}

#[test]
fn every_server_has_equally_many_connections_whatever_the_workers() {
    for (servers, each, workers) in [(3, 3, 4), (2, 5, 3), (5, 7, 8), (4, 1, 3)] {
        let server = plan().servers[0].clone();
        let connections = servers as u32 * each;
        let plan = Plan { servers: vec![server; servers], connections, workers, ..plan() };
        let mut counts = vec![0; servers];
        for worker in 0..workers {
            for nth in 0..plan.connections_of(worker) {
                counts[plan.server_of(worker, nth).index()] += 1;
            }
        }
        assert_eq!(counts, vec![each; servers], "{workers} workers");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_at_the_same_instants() {
    let script = Script {
        closes: closes([(300, 1), (500, 0)]),
        server_stops: vec![Stretch::ms(600, 700)],
        ..Script::default()
    };
    let plan = plan().open(2_000.0, Arrival::Poisson, Sharing::Shared);
    let first = run(&plan, script.clone());
    let second = run(&plan, script.clone());
    let other = run(&Plan { seed: 8, ..plan }, script);
    let sent = |ran: &Ran| ran.seen.borrow().sent.clone();
    assert_eq!(sent(&first), sent(&second));
    assert_ne!(sent(&first), sent(&other));
}

const PROTOCOLS: [Protocol; 3] = [Protocol::Text, Protocol::Binary, Protocol::Meta];
const EVERYTHING: &str = "get=5,gets=1,set=5,add=1,replace=1,append=1,prepend=1,cas=2,delete=1,\
                          incr=1,decr=1,touch=1,gat=1";

/// A closed loop of few operations, because appended values grow with each of them.
fn small(plan: Plan) -> Plan {
    Plan { connections: 2, depth: 2, ..plan }.closed().lasting(Span::from_ms(20))
}

#[test]
fn the_servers_counters_equal_ours_over_the_full_mix() {
    for protocol in PROTOCOLS {
        for (multiget, closed) in [(1, false), (3, false), (3, true)] {
            let mut plan = plan().mixing(EVERYTHING);
            plan.requests.protocol = protocol;
            plan.source.multiget = multiget;
            let plan = if closed { small(plan) } else { plan };
            let ran = run(&plan, Script::default());
            let all = ran.all();
            assert_eq!((all.answered, all.failed), (all.intended, 0));
            // A meta command that should set an expiry and finds no item counts as a get.
            let as_reads = match protocol {
                Protocol::Meta => all.touch_commands - ran.server_says("touch_hits"),
                Protocol::Text | Protocol::Binary => 0,
            };
            assert_eq!(ran.server_says("cmd_get"), all.keys_asked + as_reads, "{protocol}");
            assert_eq!(ran.server_says("cmd_set"), all.storage_commands);
            assert_eq!(ran.server_says("cmd_touch"), all.touch_commands - as_reads, "{protocol}");
        }
    }
}

/// Neither the requests nor the hits depend on the protocol.
#[test]
fn all_protocols_come_to_the_same() {
    let counted = |protocol, matching, multiget| {
        let mut plan = plan().mixing(EVERYTHING);
        plan.requests.protocol = protocol;
        plan.requests.matching = matching;
        plan.source.multiget = multiget;
        // One operation at a time, so that answers depend only on earlier requests.
        let ran = run(&Plan { connections: 1, depth: 1, ..plan }, Script::default());
        let all = ran.all();
        let frames = ran.seen.borrow().sent.iter().all(|sent| sent.bytes[0] == 0x80);
        assert_eq!(frames, protocol == Protocol::Binary);
        (all.answered, all.hits, all.misses, all.replies)
    };
    let [order, opaque] = [Matching::Order, Matching::Opaque];
    let text = counted(Protocol::Text, order, 3);
    assert_eq!(counted(Protocol::Binary, order, 3), text);
    assert_eq!(counted(Protocol::Meta, order, 3), text);
    assert_eq!(counted(Protocol::Meta, opaque, 1), counted(Protocol::Text, order, 1));
}

/// A get of several keys is timed with the hits only if it finds all of them.
#[test]
fn a_get_that_finds_some_of_its_keys_is_a_miss() {
    let mut plan = plan().mixing("get=9,set=1");
    plan.source.multiget = 3;
    let ran = run(&plan, Script::default());
    let count = |at: usize| ran.totals.times.response[at].as_ref().map_or(0, Histogram::count);
    let (hits, misses) = (count(slot::GET_HIT), count(slot::GET_MISS));
    let measured = ran.measured();
    assert_eq!(hits + misses, measured.kinds[OpKind::Get.index()].answered);
    assert!(misses > 0 && 3 * hits < measured.hits, "some find one key or two of three");
    assert_eq!(measured.hits + measured.misses, 3 * (hits + misses));
}

#[test]
fn credentials_that_nobody_asked_for_are_a_failed_connect() {
    for protocol in PROTOCOLS {
        let mut plan = plan();
        plan.requests.protocol = protocol;
        let credentials = Credentials { user: "tim".to_owned(), password: "tan".to_owned() };
        plan.credentials = Some(Arc::new(credentials));
        let world = World::new(&plan, Script::default());
        let source = PlannedSource::new(&plan.source);
        let mut worker = Worker::new(world.driver(), &plan, 0, &source);
        worker.open();
        let trouble = loop {
            let now = worker.turn().expect("the world does not fail");
            assert!(now < ms(1_000), "it is told");
            if let Some(trouble) = worker.report().trouble {
                break trouble;
            }
        };
        let TroubleKind::Connect(error) = trouble.what else { panic!("{:?}", trouble.what) };
        let ConnectError::CredentialsUnwanted(words) = error else { panic!("{error:?}") };
        let report = worker.report();
        assert_eq!((report.stage, report.connections_open), (Stage::Opening, 0));
        let error = ask(&mut world.driver(), &plan, &plan.servers[0], Question::Version);
        let is_unwanted = matches!(
            error,
            Err(AskError::Connect(ConnectError::CredentialsUnwanted(said))) if said == words
        );
        assert!(is_unwanted, "{error:?}");
    }
}

#[test]
fn connections_are_made_with_sockets_as_the_plan_says() {
    for nagle in [false, true] {
        let sockets =
            SocketOptions { nagle, send_buffer_bytes: Some(4096), ..SocketOptions::default() };
        let ran = run(&Plan { sockets, ..plan() }, Script::default());
        assert_eq!(ran.seen.borrow().sockets, sockets);
    }
}

#[test]
fn questions_are_asked_in_the_plans_protocol() {
    let answers = PROTOCOLS.map(|protocol| {
        let mut plan = plan();
        plan.requests.protocol = protocol;
        let world = World::new(&plan, Script::default());
        let ask = |question| ask(&mut world.driver(), &plan, &plan.servers[0], question);
        let all = [Question::Version, Question::Statistics, Question::Settings, Question::Get];
        all.map(|question| match ask(question) {
            Ok(Answer::Found(found)) => found.to_string(),
            Ok(Answer::Version(line) | Answer::Line(line)) => line,
            Ok(Answer::Statistics(rows)) => {
                rows.into_iter().map(|(name, _)| name + " ").collect::<String>()
            }
            Err(error) => panic!("{error:?}"),
        })
    });
    assert_eq!(answers[0], answers[1]);
}

#[test]
fn a_line_is_told_as_it_is_and_answered_by_a_line() {
    for protocol in PROTOCOLS {
        let mut plan = plan();
        plan.requests.protocol = protocol;
        let world = World::new(&plan, Script::default());
        let tell = |line| {
            let mut driver = world.driver();
            ask(&mut driver, &plan, &plan.servers[0], Question::Line(line))
        };
        assert_eq!(tell("verbosity 1"), Ok(Answer::Line("OK".to_owned())));
        assert_eq!(tell("get nothing"), Ok(Answer::Line("END".to_owned())));
        assert_eq!(tell("start_trace"), Err(AskError::Refused("ERROR".to_owned())));
        assert_eq!(world.seen.borrow().sent[0].bytes, b"verbosity 1\r\n");
    }
    let refused = b"SERVER_ERROR no\r\n";
    for (says, heard) in [
        (&b"TRACE 7 on\r\nmore"[..], Ok(Answer::Line("TRACE 7 on".to_owned()))),
        (b"ERRORS 0\n", Ok(Answer::Line("ERRORS 0".to_owned()))),
        (refused, Err(AskError::Refused("SERVER_ERROR no".to_owned()))),
    ] {
        let plan = plan();
        let world = World::new(&plan, Script { says: Some((ms(0), says)), ..Script::default() });
        let question = Question::Line("trace");
        let answer = ask(&mut world.driver(), &plan, &plan.servers[0], question);
        assert_eq!(answer, heard);
    }
}

#[test]
fn noreply_leaves_only_reads_to_be_answered() {
    let mut plan = plan().mixing(EVERYTHING);
    plan.requests.noreply = true;
    for protocol in PROTOCOLS {
        plan.requests.protocol = protocol;
        noreply_of(&plan);
        noreply_of(&small(plan.clone()));
    }
}

fn noreply_of(plan: &Plan) {
    let ran = run(plan, Script::default());
    let measured = ran.measured();
    let sent = |kinds: &[OpKind]| -> u64 {
        kinds.iter().map(|kind| measured.kinds[kind.index()].sent).sum()
    };
    let mut reads = sent(&[OpKind::Get, OpKind::Gets, OpKind::Cas, OpKind::Gat]);
    if plan.requests.protocol != Protocol::Text {
        reads += sent(&[OpKind::Touch]); // It has no quiet form.
    }
    assert_eq!(measured.answered, reads);
    assert_eq!(measured.unacknowledged, measured.intended - reads);
    assert!(measured.unacknowledged > 0);
    assert_eq!(ran.server_says("cmd_set"), ran.all().storage_commands);
}

#[test]
fn least_loaded_connections_share_evenly() {
    let ran = run(&plan(), Script::default());
    let mut counts = [0u64; 4];
    for sample in &ran.seen.borrow().samples {
        counts[sample.connection as usize] += 1;
    }
    assert_eq!(counts, [250; 4]);
}
