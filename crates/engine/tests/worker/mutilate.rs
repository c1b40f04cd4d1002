//! Load in the manner of the mutilate family: connections that walk through keys, pause after
//! answers and skip operations that are late; and the number of operations that they carry.

use crate::prelude::*;
use memtide_world::plan::RowPlan;

/// The keys that each connection requested, in order.
fn keys_asked(ran: &Ran, connections: usize) -> Vec<Vec<u64>> {
    let mut keys = vec![Vec::new(); connections];
    for sent in &ran.seen.borrow().sent {
        let text = std::str::from_utf8(&sent.bytes).expect("keys and values are text");
        for line in text.lines().filter(|line| line.starts_with("get ")) {
            let asked = line[4..].split(' ').map(|key| key.parse::<u64>().expect("a number"));
            keys[sent.connection as usize].extend(asked);
        }
    }
    keys
}

/// Three connections that walk through seven keys by decimal numbers.
fn walking(sharing: Sharing) -> Plan {
    let mut plan =
        Plan { connections: 3, ..plan() }.mixing("get=1").open(1_000.0, Arrival::Poisson, sharing);
    plan.source.popularity = "walk:7".parse().expect("a popularity");
    plan.source.walkers = 3;
    plan.keys = KeySpace::in_shape(KeyForm::Decimal, 200, SizeLaw::fixed(30), plan.seed)
        .expect("room for 200 keys");
    plan
}

#[test]
fn every_connection_with_a_schedule_of_its_own_walks_by_itself() {
    let ran = run(&walking(Sharing::Connection), Script::default());
    for (connection, keys) in keys_asked(&ran, 3).into_iter().enumerate() {
        assert!(keys.len() > 200, "connection {connection} asked for {} keys", keys.len());
        let walk = (1..7).chain([0]).cycle();
        assert!(walk.zip(&keys).all(|(step, &key)| step == key), "connection {connection}");
    }
}

#[test]
fn a_shared_schedule_deals_its_operations_to_the_walks_in_turn() {
    let ran = run(&walking(Sharing::Shared), Script::default());
    let mut counts = [0u64; 7];
    keys_asked(&ran, 3).into_iter().flatten().for_each(|key| counts[key as usize] += 1);
    let (least, most) = (counts.iter().min(), counts.iter().max());
    assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 3), "{counts:?}");
}

/// The samples of each connection, in the order of sending.
fn by_connection(ran: &Ran, connections: usize) -> Vec<Vec<Sample>> {
    let mut samples = vec![Vec::new(); connections];
    for sample in &ran.seen.borrow().samples {
        samples[sample.connection as usize].push(*sample);
    }
    samples.iter_mut().for_each(|of_one| of_one.sort_by_key(|sample| sample.sent));
    samples
}

const PAUSE: Span = Span::from_us(250);

#[test]
fn a_closed_loop_rests_after_each_answer_and_intends_its_next_operation_then() {
    let plan = Plan { connections: 2, depth: 1, pause: PAUSE, ..plan() }.closed();
    let ran = run(&plan, Script::default());
    // Each answer takes 100 µs, and a pause of 250 µs follows it.
    let answered = ran.measured().answered;
    assert!(answered.abs_diff(2 * 1_000_000 / 350) <= 4, "{answered} operations");
    assert_eq!(ran.response().moments().max, 100_000, "the pause is in no response time");
    for samples in by_connection(&ran, 2) {
        for pair in samples.windows(2) {
            assert_eq!(pair[1].sent.since(pair[0].received), PAUSE);
            assert_eq!(pair[1].intended, pair[1].sent);
        }
    }
}

#[test]
fn with_a_rate_operations_wait_for_the_end_of_a_pause() {
    for (depth, sharing) in
        [(1, Sharing::Connection), (3, Sharing::Connection), (1, Sharing::Shared)]
    {
        let plan = Plan { connections: 2, depth, pause: PAUSE, ..plan() }.open(
            4_000.0,
            Arrival::Poisson,
            sharing,
        );
        let unpaused = run(&Plan { pause: Span::ZERO, ..plan.clone() }, Script::default());
        let ran = run(&plan, Script::default());
        let case = format!("depth {depth}, {sharing:?}");
        assert_eq!(ran.intended(), unpaused.intended(), "{case}: the schedule is what it was");
        assert_eq!(ran.measured().answered, ran.measured().intended, "{case}");
        assert!(ran.response().moments().max > 250_000, "{case}: some waited");
        for samples in by_connection(&ran, 2) {
            let mut received: Vec<Instant> = samples.iter().map(|s| s.received).collect();
            received.sort_unstable();
            for sample in &samples {
                let before = received.partition_point(|&at| at <= sample.sent);
                let last = before.checked_sub(1).map(|at| received[at]);
                let rested = last.is_none_or(|last| sample.sent.since(last) >= PAUSE);
                assert!(rested, "{case}: {sample:?} after {last:?}");
            }
        }
    }
}

#[test]
fn a_pause_survives_what_happens_to_its_connection() {
    let plan = Plan { connections: 2, depth: 2, pause: Span::from_ms(3), ..plan() };
    let script = Script {
        closes: closes([(300, 0), (301, 1), (500, 1)]),
        unwritable: vec![Stretch::ms(700, 720)],
        server_stops: vec![Stretch::ms(800, 850)],
        ..Script::default()
    };
    for plan in [plan.clone().open(500.0, Arrival::Poisson, Sharing::Shared), plan.closed()] {
        let ran = run(&plan, script.clone());
        let measured = ran.measured();
        assert_eq!(measured.answered + measured.lost, measured.intended);
        assert!(measured.answered > 400, "{} answered", measured.answered);
        assert_eq!(ran.totals.all_connections().lost, 3);
    }
}

#[test]
fn skipping_drops_what_is_too_far_behind_and_keeps_the_rest_waiting() {
    let mut plan = Plan { connections: 1, depth: 4, ..plan() };
    if let Pacing::Open { on_full, .. } = &mut plan.pacing {
        *on_full = OnFull::Skip { behind: Span::from_ms(5), until: Span::from_ms(4) };
    }
    let script = Script { server_stops: vec![Stretch::ms(400, 800)], ..Script::default() };
    let ran = run(&plan, script);
    let measured = ran.measured();
    // Four operations are in flight, and those that fall due in 4 ms wait until the stall ends;
    // four more are sent with the first answers, however late they are.
    assert!(measured.dropped.abs_diff(400 - 4 - 4 - 4) <= 2, "{} dropped", measured.dropped);
    assert_eq!(measured.answered + measured.dropped, 1_000);
    assert_eq!(ran.intended().len(), 1_000);
    // Without a stall no operation is late and none is dropped.
    assert_eq!(run(&plan, Script::default()).measured().dropped, 0);
}

#[test]
fn operations_outstanding_are_counted_by_connection() {
    let plan = Plan { connections: 2, depth: 3, ..plan() }.closed();
    let ran = run(&plan, Script::default());
    let outstanding = ran.totals.outstanding();
    assert_eq!(outstanding.count(), ran.measured().sent);
    assert_eq!((outstanding.moments().min, outstanding.moments().max), (3, 3));
    let lonely = run(&self::plan(), Script::default()).totals.outstanding();
    assert_eq!((lonely.count(), lonely.moments().max), (1_000, 1));
}

#[test]
fn rows_of_an_asked_width_hold_what_was_intended_in_each_step_and_the_times_of_its_gets() {
    let every = Span::from_ms(50);
    let rates: Vec<f64> = (1..=20).map(|k| f64::from(k * 200)).collect();
    let wave = Wave::Step { rates: rates.clone(), every };
    let curve = RateCurve::new(&wave, 0.0, WARMUP, Span::from_s(1), SEED);
    let pacing = Pacing::Open {
        arrival: Arrival::Fixed,
        curve,
        sharing: Sharing::Shared,
        on_full: OnFull::Queue,
    };
    let rows = RowPlan { width: Some(every), get_times: true };
    // The server stalls over three steps, and answers the backlog long afterwards.
    let script = Script { server_stops: vec![Stretch::ms(400, 550)], ..Script::default() };
    let ran = run(&Plan { pacing, rows, connections: 1, depth: 8, ..plan() }, script);
    let rows = ran.totals.series.rows();
    assert_eq!((rows.len(), ran.totals.series.width()), (20, every));
    for (row, rate) in rows.iter().zip(&rates) {
        assert_eq!(row.intended, (rate * every.as_s_f64()) as u64);
        assert_eq!(row.answered, row.intended);
    }
    let gets: Vec<_> = rows.iter().map(|row| row.gets.as_ref().expect("they are kept")).collect();
    let count: u64 = gets.iter().map(|gets| gets.service.histogram().count()).sum();
    assert_eq!(count, ran.measured().kinds[OpKind::Get.index()].answered);
    let longest = |number: usize| gets[number].response.histogram().moments().max;
    assert_eq!(longest(0), 100_000, "before the stop each answer takes 100 µs");
    assert!(longest(6) > 100_000_000, "the stop is seen in the row that it began in");
    let served = gets[7].service.histogram().moments().min;
    assert_eq!(served, 100_000, "what waits for room is sent after the stop");
}
