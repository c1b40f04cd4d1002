//! Flags that a signal or silence raises.

use super::*;

#[test]
fn without_a_signal_nothing_dies() {
    let stop = StopFlag::default();
    stop.die();
    assert_eq!((stop.is_raised(), stop.caught()), (false, None));
}

#[test]
fn of_several_signals_the_first_and_its_instant_are_kept() {
    let first = First(AtomicU64::new(0));
    assert_eq!((first.signal(), first.note(SIGINT, 7_000)), (0, None));
    let later = [(SIGTERM, 7_000), (SIGHUP, 7_999), (SIGINT, 8_000)];
    assert_eq!(later.map(|(signal, at)| first.note(signal, at)), [0, 999, 1_000].map(Some));
    assert_eq!(first.signal(), SIGINT);
    // The clock may stand at its beginning.
    let first = First(AtomicU64::new(0));
    assert_eq!((first.note(SIGTERM, 0), first.note(SIGTERM, 0)), (None, Some(0)));
}

#[test]
fn silence_raises_it_for_good() {
    let heard = Arc::new(AtomicU64::new(monotonic_ns()));
    assert!(!StopFlag::on_silence(Arc::clone(&heard), Span::from_s(60)).is_raised());
    let stop = StopFlag::on_silence(Arc::clone(&heard), Span::from_ns(1));
    let clone = stop.clone();
    thread::sleep(std::time::Duration::from_millis(1));
    assert!(clone.is_raised());
    // A late message changes nothing.
    heard.store(u64::MAX, Ordering::Relaxed);
    assert!(stop.is_raised() && !stop.is_silent());
}
