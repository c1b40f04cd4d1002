//! Outlets of a run that can wait, and readers that take nothing.

use super::*;

/// A sink that takes events more slowly than they come.
struct Slow(Arc<Mutex<u64>>);

impl Sink for Slow {
    fn on(&mut self, _event: &Event) -> io::Result<()> {
        thread::sleep(Duration::from_micros(100));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Ok(())
    }
}

#[test]
fn a_run_that_can_wait_loses_no_event_to_a_slow_sink() {
    let taken = Arc::default();
    let mut outlets = Outlets::waiting();
    outlets.add("slow", Slow(Arc::clone(&taken))).unwrap();
    let count = 4 * REPEATED_MAX as u64;
    (0..count).for_each(|_| outlets.on(&Event::Interval(Box::default())));
    assert_eq!(outlets.stop(Duration::ZERO), ["slow"]);
    assert_eq!(outlets.stop(Duration::from_secs(60)), [""; 0]);
    let endings = outlets.close();
    assert!(endings.iter().all(|ending| ending.events_lost == 0 && ending.result.is_ok()));
    assert_eq!(*taken.lock().unwrap(), count);
}

/// A reader that takes some pieces, each after a while, and then nothing.
struct Reader {
    pieces: u32,
    written: Arc<AtomicU64>,
}

impl Sink for Reader {
    fn on(&mut self, _event: &Event) -> io::Result<()> {
        for _ in 0..self.pieces {
            thread::sleep(Duration::from_millis(60));
            self.written.fetch_add(1, Ordering::Relaxed);
        }
        loop {
            thread::park();
        }
    }
}

#[test]
fn a_reader_that_stalls_is_given_up_and_one_that_only_is_slow_is_not() {
    let patience = StallLimits {
        stall_max: Some(Duration::from_secs(2)),
        end_max: None,
        written: Arc::default(),
    };
    let (written, pieces) = (Arc::clone(&patience.written), 40);
    let mut outlets = Outlets::default();
    let reader = Box::new(Reader { pieces, written: Arc::clone(&written) });
    outlets.add_within("pipe", reader, patience).unwrap();
    outlets.on(&Event::Done(Box::default()));
    let endings = outlets.close();
    let error = endings[0].result.as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("accepted nothing for 2 s"), "{error}");
    assert_eq!(written.load(Ordering::Relaxed), u64::from(pieces), "it was slow, and then stalled");
}
