//! A sink that only this file defines, beside others that are slow, broken or stuck: the guarantees
//! for the author of a sink.

use memtide_base::Span;
use memtide_record::{Event, Interval, Phase, Progress, Record, Sample, SampleOutcome};
use memtide_sinks::{Outlets, Sink};
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// A sink that reports events, one word each.
struct Words(Sender<String>);

impl Sink for Words {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        let word = match event {
            Event::Phase(phase) => format!("{phase:?}"),
            Event::Done(record) => format!("done {}", record.totals.intended),
            Event::Progress(progress) => format!("{}", progress.done),
            _ => "other".to_owned(),
        };
        self.0.send(word).map_err(io::Error::other)
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| !matches!(event, Event::Sample(_))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.send("flushed".to_owned()).map_err(io::Error::other)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.send("finished".to_owned()).map_err(io::Error::other)
    }
}

/// A sink that fails at the first event.
struct Full;

impl Sink for Full {
    fn on(&mut self, _event: &Event) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

/// A sink that takes nothing until it is released.
struct Stuck(Receiver<()>, u64, Sender<u64>);

impl Sink for Stuck {
    fn on(&mut self, _event: &Event) -> io::Result<()> {
        // The sender is dropped when the sink may continue.
        let _ = self.0.recv();
        self.1 += 1;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.2.send(self.1).map_err(io::Error::other)
    }
}

fn progress(done: u64) -> Event {
    Event::Progress(Progress { elapsed_s: 1.0, done, ..Progress::default() })
}

/// A second of the load in which nothing happened.
fn second() -> Event {
    Event::Interval(Box::new(Interval { length: Span::from_s(1), ..Interval::default() }))
}

fn done(intended: u64) -> Event {
    let mut record = Record::default();
    record.totals.intended = intended;
    Event::Done(Box::new(record))
}

fn sample() -> Event {
    Event::Sample(Sample {
        begun: memtide_base::Instant::ZERO,
        index: 7,
        key: b"k17".to_vec(),
        size: None,
        intended: memtide_base::Instant::ZERO,
        sent: None,
        received: None,
        kind: memtide_scenario::Kind::Get,
        outcome: SampleOutcome::Dropped,
        bytes: 0,
        connection: None,
    })
}

fn words(heard: Receiver<String>) -> Vec<String> {
    heard.into_iter().filter(|word| word != "flushed").collect()
}

#[test]
fn a_sink_gets_every_event_that_it_takes_in_order() {
    let (say, heard) = channel();
    let mut outlets = Outlets::default();
    outlets.add("--words", Words(say)).unwrap();
    for event in [Event::Phase(Phase::Warmup), sample(), progress(7), done(40)] {
        outlets.on(&event);
    }
    let endings = outlets.close();
    assert_eq!((endings[0].name.as_str(), endings[0].events_lost), ("--words", 0));
    assert!(endings[0].result.is_ok());
    assert_eq!(words(heard), ["Warmup", "7", "done 40", "finished"]);
    outlets.on(&done(1));
    assert!(outlets.close().is_empty(), "it is closed once");
}

#[test]
fn a_sink_that_fails_or_is_stuck_costs_no_other_one_anything() {
    let (say, heard) = channel();
    let (hold, held) = channel();
    let (count, counted) = channel();
    let mut outlets = Outlets::default();
    outlets.add("--full", Full).unwrap();
    outlets.add("--stuck", Stuck(held, 0, count)).unwrap();
    outlets.add("--words", Words(say)).unwrap();
    let told = 1_000;
    for number in 0..told {
        outlets.on(&progress(number));
        // The working sink keeps up; the stuck one is not waited for.
        assert_eq!(heard.iter().find(|word| word != "flushed"), Some(number.to_string()));
    }
    outlets.on(&done(40));
    outlets.settle(Duration::ZERO);
    assert_eq!(heard.recv_timeout(Duration::from_secs(60)).as_deref(), Ok("done 40"));
    drop(hold);
    let endings = outlets.close();
    assert_eq!(words(heard), ["finished"]);
    let [full, stuck, words] = &endings[..] else { panic!("{endings:?}") };
    assert_eq!(full.result.as_ref().unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert!(stuck.result.is_ok() && words.result.is_ok() && words.events_lost == 0);
    let taken = counted.recv().unwrap();
    assert!(stuck.events_lost > 0 && taken < told, "{stuck:?}");
    assert_eq!(taken + stuck.events_lost, told + 1, "what is lost is counted");
}

#[test]
fn seconds_are_left_out_for_a_slow_sink_long_before_what_is_told_once() {
    let lost_of = |told: u64, event: &Event| {
        let (hold, held) = channel();
        let (count, counted) = channel();
        let mut outlets = Outlets::default();
        outlets.add("--stuck", Stuck(held, 0, count)).unwrap();
        (0..told).for_each(|_| outlets.on(event));
        drop(hold);
        let lost = outlets.close()[0].events_lost;
        assert_eq!(counted.recv().unwrap() + lost, told, "what is lost is counted");
        lost
    };
    let told = 1_000;
    // The sink may hold one event while 256 wait.
    assert!((told - 257..=told - 256).contains(&lost_of(told, &second())));
    assert_eq!(lost_of(told, &done(1)), 0);
}

#[test]
fn what_was_gathered_is_flushed_when_nothing_comes_for_a_while() {
    let (say, heard) = channel();
    let mut outlets = Outlets::default();
    outlets.add("--words", Words(say)).unwrap();
    outlets.on(&Event::Phase(Phase::Measure));
    let next = || heard.recv_timeout(Duration::from_secs(60));
    assert_eq!(next().as_deref(), Ok("Measure"));
    assert_eq!(next().as_deref(), Ok("flushed"));
    // Even dropped, it comes to its end.
    drop(outlets);
    assert_eq!(next().as_deref(), Ok("finished"));
}

#[test]
fn a_reader_that_went_away_is_known_once_all_is_settled() {
    struct Unread;
    impl Sink for Unread {
        fn on(&mut self, _event: &Event) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
    let mut outlets = Outlets::default();
    outlets.add("--json", Unread).unwrap();
    assert!(!outlets.is_gone("--json"));
    outlets.on(&done(1));
    let patience = Instant::now() + Duration::from_secs(60);
    while !outlets.is_gone("--json") && Instant::now() < patience {
        outlets.settle(Duration::from_secs(1));
    }
    assert!(outlets.is_gone("--json") && !outlets.is_gone("--plot"));
    assert_eq!(outlets.close().len(), 1);
}
