//! Waits before operations, and what caused each part of them.

use super::*;

const fn ms(ms: u64) -> Instant {
    Instant::from_ns(ms * 1_000_000)
}

#[test]
fn a_wait_divides_by_what_the_worker_did() {
    let mut clock = IdleClock::new(Span::from_s(5));
    for round in 0..100 {
        // 30 ms busy, 70 ms idle.
        clock.idled(ms(round * 100 + 30), ms(round * 100 + 100), true);
    }
    let wait = clock.divide(ms(5_000), ms(6_000));
    let near = |span: Span, want: u64| span.ns().abs_diff(want * 1_000_000) < 5_000_000;
    assert!(near(wait.server, 700) && near(wait.client_busy, 300), "{wait:?}");
    assert_eq!(wait.disconnected, Span::ZERO);
}

#[test]
fn time_without_connections_is_nobodys_idleness() {
    let mut clock = IdleClock::new(Span::from_s(5));
    clock.idled(ms(100), ms(1_000), false);
    clock.idled(ms(1_100), ms(2_000), true);
    let wait = clock.divide(ms(0), ms(2_000));
    assert_eq!(wait.disconnected, Span::from_ms(1_000));
    assert_eq!(wait.server, Span::from_ms(900));
    assert_eq!(wait.client_busy, Span::from_ms(100));
}

#[test]
fn looking_back_further_than_it_remembers_is_bounded() {
    let mut clock = IdleClock::new(Span::from_ms(8));
    for round in 0..100_000 {
        clock.idled(ms(round), ms(round + 1), true);
    }
    let wait = clock.divide(ms(0), ms(100_000));
    assert!(
        wait.server <= Span::from_s(100) && wait.server + wait.client_busy == Span::from_s(100)
    );
}
