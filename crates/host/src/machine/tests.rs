//! Shares of time, calculated by hand from invented readings of `/proc/stat`.

use super::*;

/// Two processors: the busy ticks of each, and all its ticks, since boot.
fn stat(all: u64, busy: [u64; 2]) -> Ticks {
    let line = |name: &str, busy: u64, all: u64| {
        let idle = all - busy;
        // A third of the idle time waits for disks, and guest time is counted twice.
        format!(
            "{name} {} 0 {} {} {} 0 0 0 {busy} 0\n",
            busy / 2,
            busy - busy / 2,
            idle - idle / 3,
            idle / 3
        )
    };
    let sum = line("cpu ", busy[0] + busy[1], 2 * all);
    Ticks::of(&(sum + &line("cpu0", busy[0], all) + &line("cpu1", busy[1], all) + "intr 1 2 3\n"))
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_ms(ms)
}

#[test]
fn the_mean_the_idlest_and_the_busiest_are_of_the_whole_time() {
    let mut busyness = Busyness::default();
    busyness.accept(at(0), stat(1_000, [500, 900]));
    assert_eq!(busyness.summary(), None, "one reading says nothing");
    busyness.accept(at(1_000), stat(1_100, [510, 990]));
    busyness.accept(at(2_050), stat(1_200, [530, 1_010]));
    busyness.accept(at(2_100), stat(1_210, [540, 1_020]));
    let busy = busyness.summary().expect("there are readings");
    assert_eq!(busy.mean, (40.0 + 120.0) / 420.0);
    assert_eq!((busy.idlest, busy.busiest), (40.0 / 210.0, 120.0 / 210.0));
    // The last reading ends no second, although it was the busiest.
    assert_eq!(busy.seconds, Some((0.2, 0.5)));
}

#[test]
fn less_than_a_second_has_no_extremes() {
    let mut busyness = Busyness::default();
    busyness.accept(at(0), stat(1_000, [500, 900]));
    busyness.accept(at(500), stat(1_050, [525, 900]));
    let busy = busyness.summary().expect("there are readings");
    assert_eq!((busy.mean, busy.seconds), (0.25, None));
}

#[test]
fn a_processor_that_was_not_there_from_the_beginning_is_in_the_mean_alone() {
    let mut busyness = Busyness::default();
    busyness.accept(at(0), Ticks::of("cpu  10 0 0 90 0 0 0 0 0 0\ncpu0 10 0 0 90 0 0 0 0 0 0\n"));
    busyness.accept(at(1_000), stat(1_000, [60, 900]));
    let busy = busyness.summary().expect("there are readings");
    assert_eq!(busy.idlest, busy.busiest);
}

#[test]
fn this_machine_can_be_read() {
    let mut busyness = Busyness::default();
    busyness.read(at(0));
    let (all, each) = {
        let first = busyness.first.as_ref().expect("/proc/stat is there");
        (first.all, first.each.len())
    };
    assert!(all.all > 0 && all.busy <= all.all);
    assert!(each >= 1);
}

#[test]
fn stolen_time_is_part_of_the_busy_time() {
    let mut busyness = Busyness::default();
    busyness.accept(at(0), Ticks::of("cpu  10 0 0 90 0 0 0 5 0 0\n"));
    busyness.accept(at(1_000), Ticks::of("cpu  30 0 10 120 0 0 0 45 0 0\n"));
    let busy = busyness.summary().unwrap();
    assert_eq!((busy.mean, busy.stolen), (0.7, 0.4));
}
