//! Barriers of several waiters in one process: all begin at one instant, or each learns why not.

use super::*;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process;

/// Long enough for every machine; only a test that hangs uses all of it.
const PATIENCE: Span = Span::from_s(60);
/// The limit of a wait that must fail.
const SHORT: Span = Span::from_s(2);

/// A folder that no other test uses.
fn fresh(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("memtide-barrier-{}-{name}", process::id()));
    drop(std::fs::remove_dir_all(&path));
    path
}

fn waiter(path: &Path, place: (u32, u32), timeout: Span) -> BarrierThread {
    BarrierThread::in_folder((path, None), place, Clock::start(), timeout).unwrap()
}

/// The final result of a waiter.
fn found(barrier: &mut BarrierThread) -> Result<BarrierStart, BarrierError> {
    loop {
        if let Some(start) = barrier.look()? {
            return Ok(start);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn all_who_come_begin_at_one_instant() {
    let path = fresh("all");
    let mut all: Vec<_> = (0..3).map(|rank| waiter(&path, (rank, 3), PATIENCE)).collect();
    let clock = all[0].clock;
    // The first process comes first, and waits.
    all[0].arrive();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(all[0].look(), Ok(None));
    let before = clock.now();
    all[1..].iter_mut().for_each(BarrierThread::arrive);
    let starts: Vec<_> = all.iter_mut().map(|barrier| found(barrier).unwrap()).collect();
    assert!(starts.iter().all(|start| *start == starts[0]), "{starts:?}");
    let at = clock.at_monotonic(starts[0].monotonic_ns.unwrap()).unwrap();
    assert!(at > before, "it lies ahead of the last arrival");
    // A process that comes twice gets an error, and so does one that comes late.
    let again = BarrierThread::in_folder((&path, None), (1, 3), clock, PATIENCE).unwrap_err();
    assert_eq!(again, BarrierError::Twice { rank: 1 });
    let late = BarrierThread::in_folder((&path, None), (3, 4), clock, PATIENCE).unwrap_err();
    assert_eq!(late, BarrierError::Passed);
    drop(std::fs::remove_dir_all(&path));
}

#[test]
fn who_is_missing_is_named_to_all_who_came() {
    let path = fresh("missing");
    let mut all: Vec<_> = [0, 2].map(|rank| waiter(&path, (rank, 4), SHORT)).into_iter().collect();
    all.iter_mut().for_each(BarrierThread::arrive);
    for barrier in &mut all {
        assert_eq!(found(barrier), Err(BarrierError::Missing { ranks: vec![1, 3] }));
    }
    let late = BarrierThread::in_folder((&path, None), (1, 4), Clock::start(), SHORT).unwrap_err();
    assert_eq!(late, BarrierError::Missing { ranks: vec![1, 3] });
    drop(std::fs::remove_dir_all(&path));
}

#[test]
fn who_goes_away_ends_the_wait_of_the_others() {
    for has_arrived in [true, false] {
        for leaver in [0, 1] {
            let path = fresh(&format!("gone-{has_arrived}-{leaver}"));
            let mut stays = waiter(&path, (1 - leaver, 2), PATIENCE);
            let mut leaves = waiter(&path, (leaver, 2), PATIENCE);
            if has_arrived {
                leaves.arrive();
                thread::sleep(Duration::from_millis(50));
            }
            drop(leaves);
            stays.arrive();
            let gone = Err(BarrierError::Missing { ranks: vec![leaver] });
            assert_eq!(found(&mut stays), gone, "{leaver} {has_arrived}");
            drop(std::fs::remove_dir_all(&path));
        }
    }
}

#[test]
fn a_folder_that_cannot_be_made_or_whose_folder_is_missing_is_named_at_once() {
    let around = fresh("around");
    let missing = around.join("x");
    let named = format!("'{}' cannot be used: No such file", around.display());
    for (path, said) in [
        (Path::new("/dev/null/start"), "'/dev/null/start' cannot be used: "),
        (&missing, named.as_str()),
    ] {
        for key in [None, Some("memtide-9.3.0")] {
            let place = (path, key);
            let error = BarrierThread::in_folder(place, (0, 2), Clock::start(), PATIENCE);
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with("'/dev/null") || error.starts_with(said), "{error}");
        }
    }
    assert!(!around.exists(), "nothing was made");
    std::fs::create_dir(&around).unwrap();
    for key in [None, Some("memtide-9.3.0")] {
        BarrierThread::in_folder((&missing, key), (0, 2), Clock::start(), PATIENCE).unwrap();
    }
    assert!(missing.join("memtide-9.3.0").is_dir());
    drop(std::fs::remove_dir_all(&around));
}

/// Its share said that the others had not arrived.
#[test]
fn a_folder_that_does_not_answer_is_given_up_and_said_to_be_silent() {
    let hangs = || {
        thread::sleep(Duration::from_nanos(PATIENCE.ns()));
        Folder::open(Path::new("/dev/null"), "", (0, 2))
    };
    let silent = BarrierThread::begin(hangs, Clock::start(), SHORT).unwrap_err();
    assert_eq!(silent, BarrierError::Silent);
    assert!(silent.to_string().contains("did not answer in time"), "{silent}");
}

#[test]
fn a_launcher_that_never_answers_is_given_up() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let silent = BarrierThread::at_launcher((ours.as_raw_fd(), true), Clock::start(), SHORT);
    assert_eq!(silent.unwrap_err(), BarrierError::Silent);
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(theirs);
    let gone = BarrierThread::at_launcher((ours.as_raw_fd(), true), Clock::start(), SHORT);
    assert!(matches!(gone, Err(BarrierError::Launcher { .. })), "{gone:?}");
}

#[test]
fn a_start_on_another_machine_is_known_by_the_time_of_day() {
    let words = BarrierStart::in_words(Span::from_s(1));
    assert!(words.len() < 200 && !words.contains([' ', '=', '\n']), "PMI carries it: {words}");
    let ours = BarrierStart::of_words(&words).unwrap();
    let parts: Vec<&str> = words.split(':').collect();
    let theirs = format!("{}:{}:another-boot:{}", parts[0], parts[1], parts[3]);
    let theirs = BarrierStart::of_words(&theirs).unwrap();
    assert_eq!((theirs.since_unix, theirs.monotonic_ns), (ours.since_unix, None));
    let unnamed = BarrierStart::of_words("1:2::").unwrap();
    assert_eq!(unnamed.monotonic_ns, None, "an unknown boot is no shared clock");
    for wrong in ["", "1:2:3", "x:2:3:4", "1:-2:3:4", "1:2:3:4:5"] {
        assert!(BarrierStart::of_words(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn of_many_missing_processes_some_are_listed() {
    let ranks = (0..100).collect();
    let sentence = BarrierError::Missing { ranks }.to_string();
    assert!(sentence.starts_with("shares 0, 1, 2") && sentence.contains("15 and 84 more "));
    let one = BarrierError::Missing { ranks: vec![2] }.to_string();
    assert_eq!(one, "share 2 did not arrive in time, or went away");
}
