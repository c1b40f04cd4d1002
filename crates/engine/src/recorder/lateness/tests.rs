//! What bounds memtide's own share, on a driver whose run-queue time the tests set.

use super::*;
use memtide_base::{ConnectionId, Full};
use memtide_world::driver::{
    Address, Completion, DriverError, Message, Sample, SocketOptions, Submitted,
};
use std::cell::Cell;
use std::net::IpAddr;

/// A driver of which only the run-queue time is asked.
struct Thread(Cell<Option<Span>>);

impl Driver for Thread {
    fn now(&self) -> Instant {
        unreachable!("the tests say the time")
    }
    fn connect(&mut self, _: ConnectionId, _: &Address, _: Option<IpAddr>, _: SocketOptions) {}
    fn send(&mut self, _: ConnectionId, _: Message<'_>) -> Submitted {
        Submitted::Done
    }
    fn close(&mut self, _: ConnectionId, _: Option<Span>) {}
    fn has_unsent(&self) -> bool {
        false
    }
    fn wait(&mut self, _: Instant) -> Result<(), DriverError> {
        Ok(())
    }
    fn completion(&mut self) -> Option<Completion<'_>> {
        None
    }
    fn kept(&self) -> Option<Span> {
        self.0.get()
    }
    fn export(&mut self, _: Sample) -> Result<(), Full> {
        Ok(())
    }
}

const HERE: ServerId = ServerId(0);

fn us(us: u64) -> Instant {
    Instant::ZERO + Span::from_us(us)
}

/// The time for which a reply may have lain unread that is read 1 µs after the end of a wait. The
/// worker looked last at 100 µs, waited from 110 to 210 µs and should have been awake at `until`;
/// meanwhile its run-queue time grew by `kept`.
fn unread(until: u64, kept: Option<u64>) -> Span {
    let thread = Thread(Cell::new(Some(Span::from_us(7))));
    let mut looks = Looks::new();
    looks.wait_begins(&thread);
    looks.wait_ends(&thread, us(50), us(100), us(100));
    looks.wait_begins(&thread);
    thread.0.set(kept.map(|us| Span::from_us(7 + us)));
    looks.wait_ends(&thread, us(110), us(until), us(210));
    looks.weigh(us(211), Span::ZERO).expect("the first wake-ups are all drawn").unread
}

#[test]
fn a_reply_lay_unread_while_the_worker_worked_or_could_not_run() {
    // 10 µs of work before the wait, 1 µs after it.
    assert_eq!(unread(300, Some(0)), Span::from_us(11));
    assert_eq!(unread(300, Some(40)), Span::from_us(51));
    assert_eq!(unread(200, Some(0)), Span::from_us(21), "it woke 10 µs late");
    assert_eq!(unread(300, Some(5_000)), Span::from_us(111), "no longer than the wait");
    assert_eq!(unread(300, None), Span::from_us(111), "the whole wait, if nothing is known");
}

#[test]
fn a_late_wake_up_that_nothing_explains_counts_as_a_whole() {
    let thread = Thread(Cell::new(Some(Span::ZERO)));
    let mut looks = Looks::new();
    looks.wait_begins(&thread);
    looks.wait_ends(&thread, us(0), us(100), us(3_000));
    let weighed = looks.weigh(us(3_000), Span::ZERO).expect("it is drawn");
    assert_eq!(weighed.unread, Span::from_us(3_000));
}

#[test]
fn with_many_wake_ups_each_that_is_drawn_stands_for_several() {
    let thread = Thread(Cell::new(Some(Span::ZERO)));
    let (mut looks, mut drawn, mut weight) = (Looks::new(), 0u64, 0u64);
    // 100 000 per second, for 2 s.
    let wake = |looks: &mut Looks, at: u64| {
        looks.wait_begins(&thread);
        looks.wait_ends(&thread, us(at), us(at), us(at));
        looks.weigh(us(at), Span::ZERO).map_or(0, |weighed| weighed.stands_for)
    };
    for nth in 0..200_000 {
        let stands_for = wake(&mut looks, nth * 10);
        drawn += u64::from(stands_for > 0);
        weight += stands_for;
    }
    assert!(drawn < 6_000, "{drawn} readings in 2 s");
    assert!((190_000..210_000).contains(&weight), "{weight} of 200 000");
    // 100 per second: soon all of them are drawn again.
    let calm: Vec<u64> = (0..400).map(|nth| wake(&mut looks, 2_000_000 + nth * 10_000)).collect();
    assert!(calm[300..].iter().all(|stands_for| *stands_for == 1), "{calm:?}");
}

/// Looks of a worker that has woken every 10 µs for 2 s, so that few wake-ups are drawn, and its
/// thread. The last wake-up was at 2 s.
fn seldom_drawn() -> (Looks, Thread) {
    let thread = Thread(Cell::new(Some(Span::ZERO)));
    let mut looks = Looks::new();
    for nth in 1..=200_000 {
        looks.wait_begins(&thread);
        looks.wait_ends(&thread, us(nth * 10), us(nth * 10), us(nth * 10));
    }
    assert!(looks.halvings >= 5, "{looks:?}");
    (looks, thread)
}

#[test]
fn what_memtide_may_have_delayed_for_long_counts_once_in_each_wake_up() {
    let late = Span::from_us(700);
    let mut drawn = 0;
    for more in 0..100 {
        let (mut looks, thread) = seldom_drawn();
        let mut at = 2_000_000;
        for _ in 0..more {
            looks.wait_begins(&thread);
            at += 10;
            looks.wait_ends(&thread, us(at - 9), us(at), us(at));
        }
        // It was sent late: it may have been delayed by that, and for the whole of the last gap.
        let own = looks.weigh(us(at + 1), late).expect("it is recorded");
        assert_eq!(own.stands_for, 1);
        assert!(own.unread <= Span::from_us(11), "{own:?}");
        // Of those that were not, a drawn one stands for as many as when it was drawn.
        if let Some(other) = looks.weigh(us(at + 1), Span::ZERO) {
            assert_eq!(other, Weighed { unread: Span::from_us(2), stands_for: looks.stands_for });
            drawn += 1;
        }
        // The worker could not run for 5 ms, 4 ms of which its thread was ready to run.
        looks.wait_begins(&thread);
        thread.0.set(Some(Span::from_ms(4)));
        looks.wait_ends(&thread, us(at + 1), us(at + 900), us(at + 5_001));
        let unread = looks.weigh(us(at + 5_002), Span::ZERO).expect("it is recorded");
        // It woke 4.1 ms later than the timer should have.
        let own = Span::from_us(1 + 4_101 + 1);
        assert_eq!(unread, Weighed { unread: own, stands_for: 1 });
    }
    assert!((1..10).contains(&drawn), "{drawn} of 100 are drawn");
}

#[test]
fn a_wake_up_counts_as_when_it_was_drawn() {
    let thread = Thread(Cell::new(Some(Span::ZERO)));
    let mut looks = Looks::new();
    for nth in 1..=u64::from(DRAWS) {
        looks.wait_begins(&thread);
        looks.wait_ends(&thread, us(nth), us(nth), us(nth));
        let weighed = looks.weigh(us(nth), Span::ZERO);
        assert_eq!(weighed.map(|it| it.stands_for), Some(1), "wake-up {nth} of all");
    }
    assert_eq!(looks.halvings, 1, "from now on each second one");
}

#[test]
fn a_burst_delays_what_follows_until_nothing_is_in_flight() {
    let (mut late, mut tally) = (Latenesses::new(1), [Lateness::default()]);
    let lag = |us| Span::from_us(us);
    assert_eq!(late.sent(HERE, us(0), lag(900)), lag(900));
    assert_eq!(late.sent(HERE, us(100), lag(800)), lag(900));
    assert_eq!(late.left(HERE, 1), None, "one is in flight");
    assert_eq!(late.sent(HERE, us(1_000), lag(0)), lag(900), "it queues behind the burst");
    assert_eq!(late.left(HERE, 1), None, "one is in flight");
    assert_eq!(late.left(HERE, 1), Some(us(0)));
    late.ended(HERE, Span::from_us(1_500), &mut tally);
    assert_eq!(late.sent(HERE, us(2_000), lag(1)), lag(1), "the queue was empty");
    assert_eq!(late.left(HERE, 1), None, "1 µs is not late");
    late.tell(&mut tally, |_| 4);
    // 900 µs are 450 times 2 µs: of class 8.
    let mut expected = Lateness { operations: 4, ..Lateness::default() };
    (expected.late_ns[8], expected.weighted_ns[8]) = (1_500_000, 6_000_000);
    assert_eq!(tally, [expected]);
    // What is told in parts adds up to the products of the totals.
    late.tell(&mut tally, |_| 5);
    assert_eq!((tally[0].operations, tally[0].weighted_ns[8]), (5, 7_500_000));
    let mut next = [Lateness::default()];
    late.tell(&mut next, |_| 5);
    tally[0] += &next[0];
    (expected.operations, expected.weighted_ns[8]) = (10, 15_000_000);
    assert_eq!(tally, [expected]);
}
