//! A database that is well, busy, away, or of another opinion: every point is somewhere.

use super::*;
use flate2::read::GzDecoder;
use std::io::Read;
use std::path::PathBuf;

/// What was posted, in order.
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

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("memtide-spool-{name}-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    folder
}

#[test]
fn points_are_posted_in_batches() {
    let (mut delivery, seen) = started(None, |_, _| Answer::Taken);
    feed(&delivery, 2 * POINTS_MAX + 1);
    let delivered = delivery.close();
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
    let delivered = delivery.close();
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
    assert_eq!(delivery.close().written, 10);
}

#[test]
fn lines_that_are_unfit_are_counted_and_the_rest_goes_on() {
    let (mut delivery, _) = started(None, |number, _| match number {
        0 => Answer::Unfit("400: field type conflict".to_owned()),
        _ => Answer::Taken,
    });
    feed(&delivery, POINTS_MAX + 7);
    let delivered = delivery.close();
    assert_eq!((delivered.unfit, delivered.written), (POINTS_MAX, 7));
}

#[test]
fn what_a_database_refuses_is_kept_or_lost() {
    let (mut delivery, seen) = started(None, |_, _| Answer::Refused("401".to_owned()));
    feed(&delivery, POINTS_MAX + 1);
    let delivered = delivery.close();
    assert_eq!((delivered.lost, delivered.why.as_deref()), (POINTS_MAX + 1, Some("401")));
    assert_eq!(seen.lock().unwrap().len(), 1, "it is not asked again");
    let place = folder("refused");
    let spool = Spool::open(&place, 1 << 20, "r").unwrap();
    let (mut delivery, _) = started(Some(spool), |_, _| Answer::Refused("401".to_owned()));
    feed(&delivery, POINTS_MAX + 1);
    assert_eq!(delivery.close().kept, POINTS_MAX + 1);
    assert_eq!(super::super::spool::spooled(&place).unwrap().len(), 2);
    std::fs::remove_dir_all(&place).unwrap();
}

#[test]
fn a_full_spool_is_told() {
    let place = folder("full");
    let spool = Spool::open(&place, 10, "r").unwrap();
    let (mut delivery, _) = started(Some(spool), |_, _| Answer::Refused("401".to_owned()));
    feed(&delivery, 5);
    let delivered = delivery.close();
    assert_eq!((delivered.kept, delivered.lost), (0, 5));
    assert!(delivered.spool.unwrap().contains("the spool is full"));
    std::fs::remove_dir_all(&place).unwrap();
}
