//! Points as lines, read as the database reads them.

use super::super::delivery::{Answer, Delivery, Post};
use super::*;
use flate2::read::GzDecoder;
use memtide_record::Interval;
use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::Duration;

struct Reader(Arc<Mutex<String>>);

impl Post for Reader {
    fn post(&mut self, zipped: &[u8], _limit: Duration) -> Answer {
        let mut text = self.0.lock().unwrap();
        GzDecoder::new(zipped).read_to_string(&mut text).unwrap();
        Answer::Taken
    }
}

fn run() -> InfluxRun {
    InfluxRun {
        names: InfluxNames::default(),
        run: "7f".to_owned(),
        share: String::new(),
        tags: vec![("build".to_owned(), "a b".to_owned())],
    }
}

/// The lines that the sink `sink` makes of events.
fn lines<S: Sink>(sink: impl FnOnce(Feed) -> S, events: &[Event]) -> Vec<String> {
    let text = Arc::new(Mutex::new(String::new()));
    let mut delivery = Delivery::start(Box::new(Reader(Arc::clone(&text))), None).unwrap();
    let mut sink = sink(delivery.feed());
    events.iter().for_each(|event| sink.on(event).unwrap());
    sink.finish().unwrap();
    assert!(delivery.close().is_whole());
    let text = text.lock().unwrap();
    text.lines().map(str::to_owned).collect()
}

fn sample(intended: u64, outcome: SampleOutcome, ends: Option<(u64, u64)>) -> Event {
    let at = Instant::from_ns;
    Event::Sample(Sample {
        begun: at(0),
        index: 3,
        key: b"k".to_vec(),
        size: None,
        intended: at(intended),
        sent: ends.map(|(sent, _)| at(sent)),
        received: ends.map(|(_, received)| at(received)),
        kind: Kind::Get,
        outcome,
        bytes: 9,
        connection: ends.map(|_| 1),
    })
}

#[test]
fn an_operation_is_a_point_of_its_own() {
    let events = [
        sample(100, SampleOutcome::Hit, Some((105, 125))),
        sample(100, SampleOutcome::Hit, Some((106, 126))),
        sample(100, SampleOutcome::TimedOut, None),
    ];
    let found = lines(
        |feed| {
            let mut sink = InfluxOperations::new(run(), feed, None);
            sink.set_origin(&SampleOrigin {
                unix_ns: 1_000,
                servers: vec!["h:1".to_owned()],
                leads: [(1, 0)].into(),
            });
            sink
        },
        &events,
    );
    let head = "memtide_operation,kind=get,outcome=hit,server=h:1,run=7f,build=a\\ b";
    let rest = "index=3i,bytes=9i,connection=1i";
    assert_eq!(
        found,
        [
            format!("{head} intended=1100i,{rest},response=25i,service=20i,lag=5i 1100"),
            format!("{head} intended=1100i,{rest},response=26i,service=20i,lag=6i 1101"),
            "memtide_operation,kind=get,outcome=timed_out,run=7f,build=a\\ b \
             intended=1100i,index=3i,bytes=9i 1100"
                .to_owned(),
        ]
    );
}

#[test]
fn a_second_is_a_point_for_each_kind() {
    let span = Span::from_s;
    let interval = |start| Interval { start: span(start), length: span(1), ..Interval::default() };
    let seconds = [0, 1].map(|start| Event::Interval(Box::new(interval(start))));
    let events = [&[Event::LoadBegun(9_000_000_000)], &seconds[..]].concat();
    let found = lines(|feed| InfluxIntervals::live(run(), feed), &events);
    assert_eq!(found.len(), 2);
    assert!(found[0].starts_with("memtide_interval,kind=all,run=7f,build=a\\ b "), "{}", found[0]);
    assert!(found[0].ends_with(" 10000000000") && found[1].ends_with(" 11000000000"), "{found:?}");
    assert!(found[0].contains("start_s=0.0,length_s=1.0"), "{}", found[0]);
}
