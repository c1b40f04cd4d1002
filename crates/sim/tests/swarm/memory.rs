//! Memory does not grow with the length of a run, once the number of rows over time is at its
//! maximum. (A row keeps one number for each bucket of response times that it has seen, so the
//! server here always takes equally long, but for the estimate of rows and seconds.)

use crate::harness::World;
use memtide_run::PlanSizes;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

struct Weighing;

fn weigh(bytes: i64) {
    let live = LIVE.get() + bytes;
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Weighing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        weigh(layout.size() as i64);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        weigh(-(layout.size() as i64));
        // SAFETY: the caller keeps the promises of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Weighing = Weighing;

/// The peak memory of a run of this many seconds, in bytes.
fn peak(seconds: u32, more: &[(&'static str, &str)], faults: &str) -> i64 {
    let duration = format!("{seconds}s");
    let mut words =
        vec![("rate", "100"), ("duration", &duration), ("keys", "100"), ("load", "never")];
    words.extend(more);
    let mut world = World::new(&words).behaviour("fixed:200us").seed(3);
    world.servers[0].faults = faults.parse().expect("the words are right");
    peak_of(world)
}

/// The peak memory of a run, in bytes.
fn peak_of(mut world: World) -> i64 {
    world.keeps_samples = false;
    PEAK.set(LIVE.get());
    let before = LIVE.get();
    let rehearsal = world.rehearse();
    assert!(rehearsal.record.totals.answered > 1_000, "it was a run");
    PEAK.get() - before
}

/// Rows and seconds of a longer run take what was computed for them: not more, and at least half.
#[test]
fn further_seconds_take_the_memory_that_was_computed_for_them() {
    let [short, long] = ["50s", "450s"].map(|duration| {
        let words = [("rate", "500"), ("duration", duration), ("keys", "100"), ("load", "never")];
        let world = World::new(&words).behaviour("exponential:200us").seed(3);
        let sizes = PlanSizes::of(&world.scenario(), 1).expect("it has a plan");
        (peak_of(world), sizes.plan.bytes() as i64)
    });
    let (took, needed) = (long.0 - short.0, long.1 - short.1);
    assert!((needed / 2..=needed).contains(&took), "{took} bytes, computed as {needed}");
}

#[test]
fn a_longer_run_needs_no_more_memory() {
    let mix = ("mix", "get=5,gets=1,set=3,cas=1,delete=1,incr=1");
    let faults = "reset:0.002,stall:0.0005,server-error:0.01";
    for (more, faults) in [
        (vec![], "none"),
        (vec![("schedule", "connection"), ("multiget", "3")], "none"),
        (vec![mix, ("verify", "1"), ("timeout", "100ms")], faults),
    ] {
        // Both end with 825 rows.
        let (short, long) = (peak(1_650, &more, faults), peak(3_300, &more, faults));
        // Even one byte for every second additional operation, of 165 000, would show.
        assert!(long <= short + 64 * 1024, "{more:?}: {short} bytes grew to {long}");
    }
}
