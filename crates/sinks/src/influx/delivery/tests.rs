//! A database that accepts, is busy, is unreachable, or rejects: every point is counted once.

use super::super::spool::spooled;
use super::*;
use flate2::read::GzDecoder;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The posted batches, in order.
type Seen = Arc<Mutex<Vec<String>>>;

struct Fake<F> {
    seen: Seen,
    answer: F,
}

impl<F: FnMut(usize, &str) -> Answer + Send> Post for Fake<F> {
    fn post(&mut self, zipped: &[u8], _limit: Duration) -> Answer {
        let mut text = String::new();
        GzDecoder::new(zipped).read_to_string(&mut text).unwrap();
        let mut seen = self.seen.lock().unwrap();
        let answer = (self.answer)(seen.len(), &text);
        seen.push(text);
        answer
    }
}

fn started(
    spool: Option<Spool>,
    answer: impl FnMut(usize, &str) -> Answer + Send + 'static,
) -> (Delivery, Seen) {
    let seen = Seen::default();
    let fake = Fake { seen: Arc::clone(&seen), answer };
    (Delivery::start(Box::new(fake), spool).unwrap(), seen)
}

fn feed(delivery: &Delivery, points: u64) {
    let mut feed = delivery.feed();
    for number in 0..points {
        feed.lines().extend_from_slice(format!("m v={number}i {number}\n").as_bytes());
        feed.added();
    }
    feed.flush();
}

/// The counts of all points, which must add up.
fn closed(delivery: &mut Delivery) -> Delivered {
    let it = delivery.close_within(Duration::from_secs(60));
    assert_eq!(it.offered, it.written + it.kept + it.unfit + it.lost, "{it:?}");
    it
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("memtide-spool-{name}-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    folder
}

#[test]
fn points_are_posted_in_batches() {
    let (mut delivery, seen) = started(None, |_, _| Answer::Taken);
    feed(&delivery, 2 * POINTS_MAX + 1);
    let delivered = closed(&mut delivery);
    assert_eq!((delivered.written, delivered.is_whole()), (2 * POINTS_MAX + 1, true));
    let lengths: Vec<usize> = seen.lock().unwrap().iter().map(|it| it.lines().count()).collect();
    assert_eq!(lengths, [5_000, 5_000, 1]);
}

#[test]
fn a_busy_database_is_asked_again() {
    let said = || Answer::Busy { said: "503".to_owned(), after: Some(Duration::ZERO) };
    let (mut delivery, _) =
        started(None, move |number, _| if number < 3 { said() } else { Answer::Taken });
    feed(&delivery, 10);
    let delivered = closed(&mut delivery);
    assert_eq!((delivered.written, delivered.is_whole()), (10, true));
    assert_eq!(delivered.why.as_deref(), Some("503"));
}

#[test]
fn a_batch_that_is_too_long_is_divided() {
    let (mut delivery, _) = started(None, |_, text| match text.lines().count() {
        0..=3 => Answer::Taken,
        _ => Answer::TooLong("413".to_owned()),
    });
    feed(&delivery, 10);
    assert_eq!(closed(&mut delivery).written, 10);
}

#[test]
fn lines_that_are_unfit_are_counted_and_the_rest_goes_on() {
    let (mut delivery, _) = started(None, |number, _| match number {
        0 => Answer::unfit("400: field type conflict".to_owned(), "field type conflict"),
        _ => Answer::Taken,
    });
    feed(&delivery, POINTS_MAX + 7);
    let delivered = closed(&mut delivery);
    assert_eq!((delivered.unfit, delivered.written), (POINTS_MAX, 7));
}

#[test]
fn what_a_database_refuses_is_kept_or_lost() {
    let (mut delivery, seen) = started(None, |_, _| Answer::Refused("401".to_owned()));
    feed(&delivery, POINTS_MAX + 1);
    let delivered = closed(&mut delivery);
    assert_eq!((delivered.lost, delivered.why.as_deref()), (POINTS_MAX + 1, Some("401")));
    assert_eq!(seen.lock().unwrap().len(), 1, "it is not asked again");
    let place = folder("refused");
    let spool = Spool::open(&place, 1 << 20, "r").unwrap();
    let (mut delivery, _) = started(Some(spool), |_, _| Answer::Refused("401".to_owned()));
    feed(&delivery, POINTS_MAX + 1);
    assert_eq!(closed(&mut delivery).kept, POINTS_MAX + 1);
    assert_eq!(spooled(&place).unwrap().len(), 2);
    std::fs::remove_dir_all(&place).unwrap();
}

#[test]
fn a_full_spool_is_told() {
    let place = folder("full");
    let spool = Spool::open(&place, 10, "r").unwrap();
    let (mut delivery, _) = started(Some(spool), |_, _| Answer::Refused("401".to_owned()));
    feed(&delivery, 5);
    let delivered = closed(&mut delivery);
    assert_eq!((delivered.kept, delivered.lost), (0, 5));
    assert!(delivered.spool.unwrap().contains("the spool is full"));
    std::fs::remove_dir_all(&place).unwrap();
}

#[test]
fn of_a_partial_write_the_rest_is_written() {
    let json = |error: &str| format!("{{\"error\":\"{error}\"}}");
    let three = r#"{"error":"partial write of line protocol occurred","data":[{},{}]}"#;
    for (body, unfit) in [
        (json("partial write: points beyond retention policy dropped=3"), 3),
        (json("partial write: field type conflict: ... dropped=3000"), 10),
        (json("partial write: unable to parse 'a': b\\nunable to parse 'c': d dropped=0"), 2),
        (json("unable to parse 'a': missing fields"), 10),
        (three.to_owned(), 2),
        (String::new(), 10),
    ] {
        let answer = Answer::unfit("400".to_owned(), &body);
        let (mut delivery, _) = started(None, move |_, _| answer.clone());
        feed(&delivery, 10);
        let delivered = closed(&mut delivery);
        assert_eq!((delivered.unfit, delivered.written), (unfit, 10 - unfit), "{body}");
    }
}

/// A spool with three batches of 10 points, and a delivery that uses it.
fn with_three_kept(
    place: &Path,
    mut answer: impl FnMut(&str) -> Answer + Send + 'static,
) -> (Delivery, Seen) {
    let mut spool = Spool::open(place, 1 << 20, "r").unwrap();
    for batch in 0..3 {
        let line = |number| format!("m v={number}i {batch}\n");
        let batch = Batch::of((0..10).map(line).collect::<String>().into_bytes());
        assert!(spool.keep(&batch.zipped(), batch.points));
    }
    started(Some(spool), move |_, text| answer(text))
}

#[test]
fn a_kept_batch_that_is_unfit_or_too_long_or_spoilt_does_not_stop_those_behind_it() {
    let place = folder("behind");
    let (mut delivery, _) = with_three_kept(&place, |text| match text {
        _ if text.contains(" 0\n") => Answer::unfit("400".to_owned(), ""),
        _ if text.lines().count() > 3 => Answer::TooLong("413".to_owned()),
        _ => Answer::Taken,
    });
    let delivered = closed(&mut delivery);
    assert_eq!((delivered.unfit, delivered.written, delivered.kept), (10, 20, 0));
    assert!(spooled(&place).unwrap().is_empty());

    let (gate, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (open, first) = (Arc::clone(&gate), Arc::clone(&seen));
    let (mut delivery, _) = with_three_kept(&place, move |_| {
        first.store(true, Ordering::SeqCst);
        await_true(|| open.load(Ordering::SeqCst));
        Answer::Taken
    });
    await_true(|| seen.load(Ordering::SeqCst));
    let second = spooled(&place).unwrap().remove(1).path;
    std::fs::write(&second, b"spoilt").unwrap();
    gate.store(true, Ordering::SeqCst);
    let delivered = closed(&mut delivery);
    assert_eq!((delivered.lost, delivered.written), (10, 20));
    assert!(delivered.spool.unwrap().contains("-000001.lp.gz' cannot be read"));
    assert!(second.exists(), "it is left to the user");
    std::fs::remove_dir_all(&place).unwrap();
}

#[test]
fn a_kept_batch_of_which_a_part_is_posted_stays_whole() {
    let place = folder("part");
    let mut posts = 0;
    let (mut delivery, _) = with_three_kept(&place, move |text| {
        posts += 1;
        match posts {
            _ if text.lines().count() > 5 => Answer::TooLong("413".to_owned()),
            0..=2 => Answer::Taken,
            _ => Answer::Refused("401".to_owned()),
        }
    });
    let delivered = closed(&mut delivery);
    assert_eq!((delivered.written, delivered.kept), (0, 30));
    assert_eq!(spooled(&place).unwrap().len(), 3);
    std::fs::remove_dir_all(&place).unwrap();
}

fn await_true(mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not happen");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_was_kept_is_posted_as_soon_as_the_database_is_back() {
    let (place, is_back) = (folder("back"), Arc::new(AtomicBool::new(false)));
    let seen_back = Arc::clone(&is_back);
    let spool = Spool::open(&place, 64 << 20, "r").unwrap();
    let (mut delivery, _) =
        started(Some(spool), move |_, _| match seen_back.load(Ordering::SeqCst) {
            true => Answer::Taken,
            false => Answer::Unreachable("connection refused".to_owned()),
        });
    let line = [vec![b'x'; BYTES_MAX], b" v=1i 1\n".to_vec()].concat();
    let mut feed = delivery.feed();
    for _ in 0..40 {
        feed.lines().extend_from_slice(&line);
        feed.added();
    }
    assert!(spooled(&place).unwrap().len() > 1, "more than memory takes");
    is_back.store(true, Ordering::SeqCst);
    await_true(|| spooled(&place).unwrap().is_empty());
    feed.lines().extend_from_slice(b"m v=1i 1\n");
    feed.added();
    drop(feed);
    let delivered = closed(&mut delivery);
    assert_eq!((delivered.written, delivered.is_whole()), (41, true));
    std::fs::remove_dir_all(&place).unwrap();
}

#[test]
fn what_runs_have_left_is_delivered_by_itself() {
    let place = folder("left");
    let (mut delivery, _) = with_three_kept(&place, |_| Answer::Refused("401".to_owned()));
    assert_eq!(closed(&mut delivery).kept, 30);
    let (mut delivery, _) =
        started(Some(Spool::left_in(&place).unwrap()), |_, _| Answer::Refused("401".to_owned()));
    assert_eq!((delivery.close_empty().kept, spooled(&place).unwrap().len()), (30, 3));
    let (mut delivery, _) =
        started(Some(Spool::left_in(&place).unwrap()), |number, _| match number {
            0 => Answer::Busy { said: "503".to_owned(), after: None },
            1 => Answer::unfit("400".to_owned(), ""),
            _ => Answer::Taken,
        });
    let delivered = delivery.close_empty();
    assert_eq!((delivered.offered, delivered.unfit, delivered.written), (30, 10, 20));
    assert!(spooled(&place).unwrap().is_empty());
    std::fs::remove_dir_all(&place).unwrap();
}

#[test]
fn a_panic_of_the_thread_that_posts_loses_no_count() {
    let place = folder("panic");
    let spool = Spool::open(&place, 1 << 20, "r").unwrap();
    let (mut delivery, _) = started(Some(spool), |number, _| match number {
        0 => Answer::Taken,
        _ => panic!("a fault in the client"),
    });
    feed(&delivery, 3 * POINTS_MAX + 1);
    let delivered = closed(&mut delivery);
    let counts = (delivered.written, delivered.kept, delivered.lost);
    assert_eq!(counts, (POINTS_MAX, POINTS_MAX + 1, POINTS_MAX));
    assert!(delivered.why.unwrap().contains("panicked"));
    std::fs::remove_dir_all(&place).unwrap();
}

#[test]
fn a_database_that_stays_away_does_not_hold_the_end_up() {
    let (mut delivery, _) = started(None, |_, _| Answer::Unreachable("refused".to_owned()));
    feed(&delivery, 3 * POINTS_MAX);
    let delivered = delivery.close_within(Duration::from_millis(50));
    assert_eq!((delivered.lost, delivered.why.as_deref()), (3 * POINTS_MAX, Some("refused")));
}
