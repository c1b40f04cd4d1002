//! Flags that a signal or silence raises.

use super::*;

#[test]
fn without_a_signal_nothing_dies() {
    let stop = StopFlag::default();
    stop.die();
    assert_eq!((stop.is_raised(), stop.caught()), (false, None));
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
