//! A server that is stopped for a second, as by a swap storm: at a fixed rate, every operation that
//! was due in the pause must show its wait, however shallow the pipeline.

use crate::prelude::*;

const PAUSE: Duration = Duration::from_secs(1);
const SLOW_MS: f64 = 100.0;
/// Length of a sleep; a later wake-up counts as a busy machine.
const NAP: Duration = Duration::from_millis(1);
const WAKING_MAX: Duration = Duration::from_millis(1);
/// Largest fraction of the pause that may be overslept on a machine that is idle enough to judge.
const OVERSLEPT_MAX: f64 = 0.05;

/// One row of a sample file, in milliseconds since the run began.
struct Row {
    intended_ms: f64,
    received_ms: f64,
}

/// Results of a stopped server.
struct Pause {
    /// Actual length of the stop.
    stopped_ms: f64,
    /// Fraction of the stop in which this test wanted to run and could not.
    overslept: f64,
    rows: Vec<Row>,
    record: Record,
}

pub(crate) fn a_stopped_server_leaves_its_whole_pause_in_the_response_times() {
    let shapes = [(1, 1), (1, 4096), (16, 1), (16, 4096)];
    let pauses: Vec<Pause> = thread::scope(|scope| {
        let run = |&(connections, depth)| scope.spawn(move || pause(connections, depth));
        let runs = shapes.iter().map(run).collect::<Vec<_>>();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for ((connections, depth), pause) in shapes.into_iter().zip(&pauses) {
        let shape = format!("{connections} connections at depth {depth}");
        check(pause, &shape);
        // For most of the pause the client slept and waited for a free connection: that is the
        // server's delay. If other processes keep the client from waking, it is rightly the
        // client's: nothing is asserted if this test could not wake either, and a busy machine gets
        // two more attempts.
        let charged =
            |pause: &Pause| depth > 1 || ours(pause) < 0.1 || pause.overslept > OVERSLEPT_MAX;
        let again = || charged(&self::pause(connections, depth));
        assert!(
            charged(pause) || again() || again(),
            "{shape}: {:.0} % of the lag is said to be the client's, {:.1} % was overslept",
            ours(pause) * 100.0,
            pause.overslept * 100.0
        );
    }
}

/// The client's part of all lag.
fn ours(pause: &Pause) -> f64 {
    let split = &pause.record.lag_split;
    let ours = (split.generator.sum_ns.0 + split.client_busy.sum_ns.0) as f64;
    ours / (ours + split.server.sum_ns.0 as f64)
}

fn pause(connections: u32, depth: u32) -> Pause {
    let peer = Peer::memcached("-t 1");
    let file = scratch(&format!("pause-{connections}-{depth}.csv"));
    let running = Running::start(&format!(
        "run -s {} --mix get=1 --load never --rate 1000 --arrival fixed --duration 4s \
         --connections {connections} --depth {depth} --threads 1 --samples {} --json -",
        peer.name,
        file.display()
    ));
    // Some time after the load has begun, and well before it ends.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) && peer.figure("cmd_get") < 1_000 {
        thread::sleep(Duration::from_millis(20));
    }
    let stopped = Instant::now();
    peer.signal(Signal::STOP);
    let mut overslept = Duration::ZERO;
    while stopped.elapsed() < PAUSE {
        let nap = Instant::now();
        thread::sleep(NAP);
        overslept += nap.elapsed().saturating_sub(NAP + WAKING_MAX);
    }
    peer.signal(Signal::CONT);
    let stopped_ms = stopped.elapsed().as_secs_f64() * 1e3;
    let record = running.finish().exits(0).record();
    let rows = rows(&fs::read_to_string(file).unwrap());
    let overslept = overslept.as_secs_f64() / PAUSE.as_secs_f64();
    Pause { stopped_ms, overslept, rows, record }
}

fn check(pause: &Pause, shape: &str) {
    let Pause { stopped_ms, rows, record, .. } = pause;
    let totals = &record.totals;
    assert_eq!((rows.len() as u64, totals.answered), (totals.intended, totals.intended), "{shape}");
    assert!((3_998..=4_002).contains(&totals.intended), "{shape}: {}", totals.intended);
    let slow = rows.iter().filter(|row| row.received_ms - row.intended_ms > SLOW_MS);
    let (count, first, last) = slow.fold((0, f64::MAX, 0f64), |(count, first, last), row| {
        (count + 1, row.received_ms.min(first), row.received_ms.max(last))
    });
    // One operation per millisecond: all that were due in the pause are slow, except in its last
    // 100 ms. The backlog takes time to drain; meanwhile later operations are slow as well, at most
    // one for each millisecond.
    let expected = stopped_ms - SLOW_MS;
    let drain_ms = (last - first).max(0.0);
    let low = expected - 20.0;
    let high = expected + 20.0 + drain_ms;
    assert!(
        (low..=high).contains(&f64::from(count)),
        "{shape}: {count} responses above 100 ms of {expected:.0}, worked off in {drain_ms:.0} ms"
    );
    // A hundredth of the run, the worst part of the pause, lies above p99.
    let p99_ms = record.response[&Kind::All].p99_ns.unwrap() as f64 / 1e6;
    let worst = rows.len() as f64 / 100.0;
    let range = stopped_ms - worst - 25.0..=stopped_ms - worst + 25.0 + drain_ms;
    assert!(range.contains(&p99_ms), "{shape}: p99 is {p99_ms} ms after {stopped_ms} ms");
}

fn rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    let header = "intended_ns,sent_ns,received_ns,op,outcome,bytes,connection,index,key,size";
    assert_eq!(lines.next(), Some(header));
    let row = |line: &str| {
        let cells = line.split(',').collect::<Vec<_>>();
        assert_eq!((cells.len(), cells[3], cells[4]), (10, "get", "miss"), "{line}");
        let ms = |cell: &str| cell.parse::<u64>().unwrap() as f64 / 1e6;
        assert!(ms(cells[0]) <= ms(cells[1]) && ms(cells[1]) <= ms(cells[2]), "{line}");
        Row { intended_ms: ms(cells[0]), received_ms: ms(cells[2]) }
    };
    lines.map(row).collect()
}
