//! Programs as planted lines of /proc.

use super::*;
use crate::Clock;
use memtide_base::Instant;

#[test]
fn a_name_may_contain_anything() {
    let text = "7 (a b) c) R 1 7 7 0 -1 4194304 1 0 0 0 250 50 0 0 20 0 1 0 9 1 1";
    let program = program(7, text).expect("it is a whole line");
    assert_eq!((program.name.as_str(), program.id), ("a b) c", 7));
    assert_eq!(program.used.as_s_f64(), 300.0 / clock_ticks_per_second() as f64);
    assert_eq!(super::program(7, "7 (a"), None);
}

#[test]
fn a_kernel_thread_that_changes_its_name_is_the_same_one() {
    let at = |name: &str, used: u64, began: u64| {
        let text =
            format!("7 ({name}) S 2 0 0 0 -1 69238880 0 0 0 0 0 {used} 0 0 20 0 1 0 {began} 0");
        Programs([(7, program(7, &text).expect("it is a whole line"))].into())
    };
    let (before, later) = (at("kworker/0:0-events", 900, 40), at("kworker/0:0", 901, 40));
    let used = |since: &Programs| later.busiest_since(since, |_| true).map(|it| it.used);
    let tick = Span::from_s_f64(1.0 / clock_ticks_per_second() as f64);
    assert_eq!(used(&before), Some(tick));
    let other = at("kworker/0:0", 900, 39);
    assert_eq!(used(&other), Some(Span::from_s_f64(901.0 * tick.as_s_f64())));
}

#[test]
fn the_busiest_other_process_is_found() {
    let before = Programs::read();
    assert_eq!(before.busiest_since(&before, |_| true), None);
    let mut shell = std::process::Command::new("sh");
    let hog = shell.args(["-c", "while :; do :; done"]).spawn();
    let mut hog = hog.expect("a shell can be started");
    let clock = Clock::start();
    clock.sleep_until(Instant::ZERO + Span::from_ms(400));
    let now = Programs::read();
    hog.kill().expect("it still runs");
    hog.wait().expect("it ended");
    let used = |it: &Programs| it.0.get(&hog.id()).map(|program| program.used);
    assert!(used(&now).is_some_and(|used| used > Span::ZERO), "{:?}", used(&now));
    // Another process may be busier; without all that are, it is the one.
    let busier: Vec<u32> = now.0.keys().copied().filter(|id| *id != hog.id()).collect();
    let found = now.busiest_since(&before, |id| !busier.contains(&id)).map(|it| (it.id, it.name));
    assert_eq!(found, Some((hog.id(), "sh".to_owned())));
    assert!(now.busiest_since(&before, |id| id != hog.id()).is_none_or(|it| it.id != hog.id()));
}

#[test]
fn the_cpus_of_a_process_are_those_of_its_threads() {
    let own = cpus_of(std::process::id());
    assert!(!own.is_empty() && pin::inherited().iter().all(|cpu| own.contains(cpu)), "{own:?}");
    assert_eq!(cpus_of(u32::MAX), [0; 0]);
}
