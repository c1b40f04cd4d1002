//! The slices of a record are those of a list of all its operations: for windows of known and of
//! unknown length, with several workers, timeouts, stopped workers, churn and a cut-off end.

use crate::prelude::*;
use memtide_metrics::Slice;
use memtide_metrics::slices::{coarse, from_text};
use memtide_workload::Outcome;
use memtide_world::Sample;

/// The slices of all samples, of this width: response times, and service times of what was sent.
fn listed(rehearsal: &Rehearsal, width: Span, count: usize) -> [Vec<Slice>; 2] {
    let mut channels = [vec![Slice::default(); count], vec![Slice::default(); count]];
    for sample in &rehearsal.samples {
        let start = rehearsal.plan.window.measure_start(sample.begun);
        let number = (sample.intended.since(start).ns() / width.ns()) as usize;
        let is_sent = sample.sent != Instant::NEVER;
        let froms = [Some(sample.intended), Some(sample.sent).filter(|_| is_sent)];
        for (channel, from) in channels.iter_mut().zip(froms) {
            let Some(from) = from else { continue };
            put(&mut channel[number], sample, from);
        }
    }
    channels
}

fn put(slice: &mut Slice, sample: &Sample, from: Instant) {
    match sample.outcome {
        Outcome::Hit | Outcome::Miss | Outcome::Stored => {
            let time = sample.received.since(from);
            *slice.buckets.entry(coarse(time.ns())).or_default() += 1;
            slice.answered += 1;
            slice.sum_ns += u128::from(time.ns());
        }
        _ => slice.unanswered += 1,
    }
}

#[test]
fn slices_of_a_record_are_those_of_its_samples() {
    const WORDS: &str = "load=never warmup=100ms mix=get=9,set=1 ";
    let stopped = |world: &mut World, ms: u64| {
        let (from, length) = (Span::from_ms(900), Span::from_ms(ms));
        world.pauses.push(WorkerPause { worker: 0, from, length, kind: PauseKind::Stopped });
    };
    for (words, behaviour, stop_ms) in [
        ("rate=4000 duration=5s connections=16 threads=3", "queue:1,exponential:100us", 0),
        ("rate=4000 ops-max=9000 connections=16 threads=2", "queue:1,exponential:100us", 0),
        ("rate=0 duration=700ms connections=4 depth=2 threads=2", "fixed:300us", 0),
        ("rate=2000 duration=6s connections=4 timeout=300ms", "pause:3s,1s,once", 0),
        ("rate=2000 duration=5s connections=4 threads=2", "fixed:100us", 1_500),
        ("rate=2000 ops-max=8000 connections=4 threads=2", "fixed:100us", 1_500),
        ("rate=3000 duration=2s connections=1 cooldown=stop", "fixed:400us", 0),
        (
            "duration=2s connection-rate=200 calls=5 call-rate=2k connections=64 threads=2",
            "exponential:200us",
            0,
        ),
    ] {
        let all = [fields(WORDS.trim()), fields(words)].concat();
        let mut world = World::new(&all).behaviour(behaviour).seed(5);
        if stop_ms > 0 {
            stopped(&mut world, stop_ms);
        }
        let rehearsal = world.rehearse();
        let slicing = rehearsal.record.slicing.as_ref().expect("slices are kept");
        let (count, width) = (slicing.count as usize, Span::from_ns(slicing.width_ns));
        let [response, service] = listed(&rehearsal, width, count);
        let kept = |text: &String| from_text(text, count).expect("it is a text of slices");
        assert_eq!(kept(&slicing.response[&Kind::All]), response, "response, {words}");
        assert_eq!(kept(&slicing.service[&Kind::All]), service, "service, {words}");
        let kinds = [Kind::GetHit, Kind::GetMiss].map(|kind| kept(&slicing.response[&kind]));
        let gets = kept(&slicing.response[&Kind::Get]);
        for ((hits, misses), gets) in kinds[0].iter().zip(&kinds[1]).zip(&gets) {
            assert_eq!(hits.answered + misses.answered, gets.answered, "{words}");
        }
        assert!(rehearsal.record.window_ns <= slicing.width_ns * u64::from(slicing.count));
        assert!(count <= 128, "{count} slices, {words}");
    }
}
