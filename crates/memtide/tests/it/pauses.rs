//! A server that is stopped for a second, as by a swap storm: at a fixed rate, every operation that
//! was due in the pause must show its wait, however shallow the pipeline. Whose delay it is, and
//! that no other operation is slow, is tested in virtual time.

use crate::prelude::*;

const PAUSE: Duration = Duration::from_secs(1);
const SLOW_MS: f64 = 100.0;

/// One row of a sample file, in milliseconds since the run began.
struct Row {
    intended_ms: f64,
    received_ms: f64,
}

/// Results of a stopped server.
struct Pause {
    /// A time in which the server surely stood still.
    stopped_ms: f64,
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
        check(pause, &format!("{connections} connections at depth {depth}"));
    }
}

fn pause(connections: u32, depth: u32) -> Pause {
    let peer = Peer::memcached("-t 1");
    let file = scratch(&format!("pause-{connections}-{depth}.csv"));
    let running = Running::start(&format!(
        "run -s {} --mix get=1 --load never --rate 1000 --arrival fixed --duration 8s \
         --warmup 0 --connections {connections} --depth {depth} --threads 1 --samples {} --json -",
        peer.name,
        file.display()
    ));
    // Some time after the load has begun, and well before it ends.
    peer.await_figure("cmd_get", 1_000);
    peer.signal(Signal::STOP);
    until("the server is not stopped", || is_stopped(peer.id()));
    let stopped = Instant::now();
    thread::sleep(PAUSE);
    let stopped_ms = stopped.elapsed().as_secs_f64() * 1e3;
    peer.signal(Signal::CONT);
    let record = running.finish().exits(0).record();
    let rows = rows(&fs::read_to_string(file).unwrap());
    Pause { stopped_ms, rows, record }
}

/// True if all threads of a process are stopped.
fn is_stopped(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let mut stats = threads.map(|it| fs::read_to_string(it.path().join("stat")).unwrap());
    stats.all(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
}

fn check(pause: &Pause, shape: &str) {
    let Pause { stopped_ms, rows, record, .. } = pause;
    let totals = &record.totals;
    assert_eq!((rows.len() as u64, totals.answered), (totals.intended, totals.intended), "{shape}");
    assert!((7_998..=8_002).contains(&totals.intended), "{shape}: {}", totals.intended);
    let slow = rows.iter().filter(|row| row.received_ms - row.intended_ms > SLOW_MS).count();
    // One operation per millisecond: all that were due in the pause are slow, except in its last
    // 100 ms, and the one at its beginning.
    let expected = stopped_ms - SLOW_MS - 2.0;
    assert!(slow as f64 >= expected, "{shape}: {slow} responses above 100 ms, not {expected:.0}");
    // A hundredth of the run, the worst part of the pause, lies above p99.
    let p99_ms = record.response[&Kind::All].p99_ns.unwrap() as f64 / 1e6;
    let least = stopped_ms - rows.len() as f64 / 100.0 - 25.0;
    assert!(p99_ms >= least, "{shape}: p99 is {p99_ms} ms after {stopped_ms} ms");
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
