//! Clients that reach several servers, or one server over two transports: copies of writes, servers
//! that are lost and return, gets over datagrams.

use crate::prelude::*;
use memtide_base::ServerId;
use memtide_metrics::Absence;
use memtide_world::{Address, ConnectionTurn, Reach, Replicate};

fn counted(connections: u32, reach: Reach) -> Plan {
    let turn = ConnectionTurn::RoundRobin;
    let clients = Clients::Counted { count: 4, connections, turn, reach };
    Plan { clients, connections: 4 * connections, depth: 1, ..plan() }
}

/// Four clients with a connection to each of two servers, both writers. Odd connections lead to the
/// second server.
fn replicated(copies: Replicate) -> Plan {
    let mut plan = counted(2, Reach::Servers { writers: 2, copies });
    let other =
        ServerPlan { name: "two".to_owned(), addresses: vec![Address::Unix("two".to_owned())] };
    plan.servers.push(other);
    plan
}

fn sent(ran: &Ran, server: usize, kind: OpKind) -> u64 {
    ran.totals.servers[server].kinds[kind.index()].sent
}

#[test]
fn each_copy_is_an_operation_and_servers_count_them_all() {
    for plan in [replicated(Replicate::All), replicated(Replicate::All).closed()] {
        let ran = run(&plan, Script::default());
        let (all, set) = (ran.all(), OpKind::Set.index());
        assert_eq!(all.answered, all.intended);
        assert_eq!(ran.server_says("cmd_set"), all.kinds[set].sent);
        assert_eq!(ran.server_says("cmd_get"), all.keys_asked);
        assert_eq!(sent(&ran, 0, OpKind::Set), sent(&ran, 1, OpKind::Set));
        assert!(sent(&ran, 0, OpKind::Get) > 100 && sent(&ran, 1, OpKind::Get) > 100);
        let made = ran.asked.len() as u64;
        assert_eq!(all.intended, made + all.kinds[set].sent / 2, "the others are copies");
        assert!(ran.totals.copies_in_window.iter().sum::<u64>() > 50);
    }
    let ran = run(&replicated(Replicate::One), Script::default());
    assert_eq!(ran.all().intended, ran.asked.len() as u64);
    assert!(sent(&ran, 0, OpKind::Set).abs_diff(sent(&ran, 1, OpKind::Set)) <= 4);
    assert_eq!(ran.totals.copies_in_window.iter().sum::<u64>(), 0);
}

/// Requests to the second server between two instants.
fn requests(ran: &Ran, server: u32, (from, to): (Instant, Instant)) -> usize {
    let seen = ran.seen.borrow();
    let of = seen.sent.iter().filter(|sent| sent.connection % 2 == server);
    of.filter(|sent| (from..to).contains(&sent.at)).count()
}

#[test]
fn who_is_away_is_passed_over_and_taken_back() {
    for plan in [replicated(Replicate::All), replicated(Replicate::All).closed()] {
        let script = Script {
            closes: closes([1, 3, 5, 7].map(|connection| (400, connection))),
            refuses: vec![Stretch::ms(400, 700)],
            ..Script::default()
        };
        let ran = run(&plan, script);
        let measured = ran.segment(segment::MEASURE);
        assert!(measured.lost <= 4 && measured.dropped + measured.timed_out == 0);
        assert_eq!(requests(&ran, 1, (ms(401), ms(700))), 0);
        assert!(requests(&ran, 0, (ms(401), ms(700))) > 250);
        assert!(requests(&ran, 1, (ms(1_000), ms(1_100))) > 40, "it is back");
        let [away] = *ran.totals.absences.kept() else { panic!("{:?}", ran.totals.absences) };
        let Absence { server, from, until } = away;
        assert_eq!((server, from), (ServerId(1), ms(400)));
        assert!(until > ms(700) && until < ms(1_100), "{until:?}");
        let returns = ran.totals.absences.servers()[1];
        assert_eq!((returns.lost, returns.returned), (4, 4));
        assert!(returns.away_ns_max >= 300_000_000 && returns.away_ns >= 4 * 300_000_000);
    }
}

#[test]
fn a_write_that_nobody_is_left_for_is_lost_and_reads_go_on() {
    let mut plan = replicated(Replicate::All);
    plan.clients = match plan.clients {
        Clients::Counted { count, connections, turn, .. } => {
            let reach = Reach::Servers { writers: 1, copies: Replicate::All };
            Clients::Counted { count, connections, turn, reach }
        }
        clients => clients,
    };
    let script = Script {
        closes: closes([0, 2, 4, 6].map(|connection| (400, connection))),
        refuses: vec![Stretch::ms(400, 100_000)],
        ..Script::default()
    };
    let ran = run(&plan, script);
    let measured = ran.segment(segment::MEASURE);
    let sets = measured.kinds[OpKind::Set.index()];
    assert!(sets.unanswered > 50 && measured.lost <= sets.unanswered + 4, "{measured:?}");
    assert_eq!(measured.answered + measured.lost, measured.intended);
    let [away] = *ran.totals.absences.kept() else { panic!("{:?}", ran.totals.absences) };
    assert_eq!(away, Absence { server: ServerId(0), from: ms(400), until: Instant::NEVER });
}

/// Four clients with three connections and a socket for datagrams each.
fn split() -> Plan {
    let mut plan = counted(4, Reach::Split { reply_bytes_max: 8_000 });
    plan.servers[0].addresses = vec![Address::Tcp(([127, 0, 0, 1], 11_211).into())];
    plan
}

#[test]
fn gets_go_by_datagrams_and_sets_in_streams() {
    for plan in [split(), split().closed()] {
        let ran = run(&plan, Script::default());
        let all = ran.all();
        assert_eq!(all.answered, all.intended);
        assert_eq!(ran.server_says("cmd_set"), all.kinds[OpKind::Set.index()].sent);
        assert_eq!(ran.server_says("cmd_get"), all.keys_asked);
        let seen = ran.seen.borrow();
        let mut streams = [0u64; 4];
        for sent in &seen.sent {
            let is_set = sent.bytes.starts_with(b"set ");
            assert_eq!(is_set, sent.connection % 4 != 3, "{sent:?}");
            assert!(is_set || sent.bytes[8..].starts_with(b"get "), "{sent:?}");
            streams[sent.connection as usize % 4] += 1;
        }
        assert!(streams.iter().all(|&count| count > 10), "{streams:?}");
    }
}

#[test]
fn a_set_by_stream_may_be_longer_than_a_datagram_and_a_get_may_not() {
    let mut plan = split().closed();
    plan.values = memtide_workload::ValueSpace::new(SizeLaw::fixed(3_000), 1 << 20, SEED);
    plan.source.multiget = 60;
    let ran = run(&plan, Script::default());
    let measured = ran.measured();
    let of = |kind: OpKind| measured.kinds[kind.index()];
    assert_eq!(of(OpKind::Get).answered, 0);
    assert_eq!(of(OpKind::Get).unanswered, measured.failed);
    assert_eq!(of(OpKind::Set).unanswered, 0);
    assert!(of(OpKind::Set).answered > 100);
}
