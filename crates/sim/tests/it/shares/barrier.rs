//! A share of a run waits, prepared, until all shares begin, or reports why it made no load.

use crate::prelude::*;
use memtide_record::{Aborted, ShareStart};
use memtide_run::record_not_run;
use std::cell::RefCell;
use std::rc::Rc;

/// A barrier that returns what a test gives it.
struct Says {
    entered: Result<(), NotRun>,
    begins: Result<Option<Instant>, NotRun>,
    /// If not 0, the load begins at once, and ends when the barrier has been asked this often.
    looks: u32,
    /// The connections that were open, and how many were to be, each time that it learned of them.
    opened: Rc<RefCell<Vec<(u64, u32)>>>,
}

impl Barrier for Says {
    fn kind(&self) -> ShareStart {
        ShareStart::Pmi
    }

    fn opening(&mut self, open: u64, wanted: u32) {
        self.opened.borrow_mut().push((open, wanted));
    }

    fn arrive(&mut self) -> Result<(), NotRun> {
        self.entered.clone()
    }

    fn look(&mut self, now: Instant, _since_unix: Span) -> Result<Option<Instant>, NotRun> {
        match self.looks {
            0 => self.begins.clone(),
            _ => Ok(Some(now + Span::from_ms(100))),
        }
    }

    fn aborted(&mut self) -> Option<Aborted> {
        let is_last = self.looks == 1;
        self.looks -= u32::from(self.looks > 1);
        is_last.then(condition)
    }
}

fn begins(begins: Result<Option<Instant>, NotRun>) -> Says {
    Says { entered: Ok(()), begins, looks: 0, opened: Rc::default() }
}

/// A barrier that cannot be entered.
fn used() -> Says {
    let why = NotRun("the barrier was used before".to_owned());
    Says { entered: Err(why), ..begins(Ok(None)) }
}

/// A barrier at which the load begins at once, and ends when it has been asked `looks` times.
fn over(looks: u32) -> Says {
    Says { looks, ..begins(Ok(None)) }
}

/// A condition that all shares together meet.
fn condition() -> Aborted {
    Aborted {
        condition: "errors>1%".to_owned(),
        measured: Some(0.02),
        why: "2 % of operations failed".to_owned(),
        after_s: 3.5,
    }
}

fn world(barrier: impl Barrier + 'static) -> World {
    let words = [("rate", "1k"), ("duration", "500ms"), ("keys", "100"), ("connections", "4")];
    let share = Some(Share::one(1, 2));
    World { share, barrier: Some(Box::new(barrier)), ..World::new(&words) }
}

/// Asserts that `run` made its part of the fill and no load; returns the reason.
fn not_run(run: Rehearsal) -> String {
    let record = run.record;
    assert_eq!((record.ended_by, record.partial, record.exit), (EndedBy::NotRun, true, 0));
    assert_eq!(record.totals.intended, 0);
    assert_eq!((record.planned, record.window_start_unix_ns, record.measured_s), (None, None, 0.0));
    assert_eq!(record.phases.load.totals.replies["stored"], 50);
    assert!(run.samples.is_empty() && run.failure.is_none());
    let share = record.share.expect("it was a share");
    share.not_run.expect("it says why it made no load")
}

#[test]
fn the_load_begins_at_the_instant_that_was_agreed() {
    let agreed = Instant::ZERO + Span::from_s(9);
    let run = world(begins(Ok(Some(agreed)))).rehearse();
    assert!(run.samples.len() > 100, "{}", run.samples.len());
    assert!(run.samples.iter().all(|sample| sample.begun == agreed));
    let share = run.record.share.expect("it was a share");
    assert_eq!((share.start, share.not_run), (ShareStart::Pmi, None));
    assert_ne!(run.record.ended_by, EndedBy::NotRun);
}

/// A master says for which agents a run waits, and how far they are.
#[test]
fn a_barrier_learns_how_many_connections_are_open() {
    let barrier = begins(Ok(Some(Instant::ZERO + Span::from_s(9))));
    let opened = Rc::clone(&barrier.opened);
    world(barrier).rehearse();
    let opened = opened.borrow();
    assert_eq!(opened.last(), Some(&(2, 2)), "each of two shares has two of the four");
    assert!(opened.is_sorted(), "{opened:?}");
}

#[test]
fn a_share_that_is_ready_too_late_makes_no_load() {
    let late = world(begins(Ok(Some(Instant::from_ns(1))))).rehearse();
    let why = not_run(late);
    assert!(why.contains("after the other shares had begun"), "{why}");
}

#[test]
fn a_share_whose_barrier_fails_makes_no_load() {
    let alone = "share 0 did not come within 60s";
    let run = world(begins(Err(NotRun(alone.to_owned())))).rehearse();
    assert_eq!(not_run(run), alone);
    assert_eq!(not_run(world(used()).rehearse()), "the barrier was used before");
}

#[test]
fn a_share_that_is_interrupted_while_it_waits_makes_no_load() {
    let mut world = world(begins(Ok(None)));
    world.interrupt_at = Instant::ZERO + Span::from_s(20);
    let why = not_run(world.rehearse());
    assert_eq!(why, "it was interrupted before its load began");
}

/// A condition of all shares is checked elsewhere; each share's load ends as by a condition of its
/// own.
#[test]
fn a_share_ends_when_all_are_to_end() {
    let mut endless = world(over(20));
    endless.words.push(("duration", "1h".to_owned()));
    let run = endless.rehearse();
    let record = run.record;
    assert_eq!((record.ended_by, record.aborted), (EndedBy::Aborted, Some(condition())));
    assert!((1.0..3.0).contains(&record.measured_s), "{}", record.measured_s);
    assert_eq!(record.totals.intended, run.samples.len() as u64);
    // Before the load begins there is nothing to measure, and no fault.
    let mut early = world(over(1));
    early.words.push(("duration", "1h".to_owned()));
    let record = early.rehearse().record;
    assert_eq!((record.ended_by, record.totals.intended), (EndedBy::Aborted, 0));
}

/// A share that was started again refuses before anything is sent. Its record is like those of
/// shares that waited in vain.
#[test]
fn a_share_that_refuses_at_once_has_a_record_too() {
    let world = world(used());
    let (scenario, around) = (world.scenario(), world.around());
    let lowered = lower(&scenario, &around).map_err(|problem| problem.message);
    let lowered = lowered.expect("it can be run");
    let why = NotRun("it was restarted 1 times".to_owned());
    let record = record_not_run(&scenario, &lowered, &why, Span::from_s(1_000));
    assert_eq!((record.ended_by, record.partial, record.exit), (EndedBy::NotRun, true, 0));
    assert_eq!(record.share.expect("it is a share").not_run, Some(why.0));
    let lanes = record.lanes.expect("it has lanes");
    assert_eq!((lanes.first, lanes.count, lanes.total), (1, 1, 2));
    assert_eq!((record.started_unix_ms, record.planned), (1_000_000, None));
}
