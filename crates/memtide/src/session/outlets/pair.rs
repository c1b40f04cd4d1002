//! Measured operations written to two outputs. The failure of one does not affect the other.

use super::super::front::{Origin, Rows, Samples};
use super::failed;
use crate::exit::{FAILED, Stop, Worded};
use memtide_record::Event;
use memtide_sinks::Sink;
use std::io;

/// Two outputs of measured operations.
struct Pair {
    both: [One; 2],
}

struct One {
    flag: String,
    rows: Box<dyn Rows>,
    failed: Option<io::Error>,
}

/// One output that writes to both.
pub(crate) fn paired(first: Option<Samples>, second: Option<Samples>) -> Option<Samples> {
    let (first, second) = match (first, second) {
        (Some(first), Some(second)) => (first, second),
        (one, other) => return one.or(other),
    };
    let flag = first.flag.clone();
    let one = |it: Samples| One { flag: it.flag, rows: it.rows, failed: None };
    Some(Samples { flag, rows: Box::new(Pair { both: [one(first), one(second)] }) })
}

impl Pair {
    /// Calls `act` on each output that has not failed.
    fn each(&mut self, act: impl Fn(&mut dyn Rows) -> io::Result<()>) {
        for one in self.both.iter_mut().filter(|one| one.failed.is_none()) {
            one.failed = act(&mut *one.rows).err();
        }
    }
}

impl Sink for Pair {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        self.each(|rows| rows.on(event));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.each(|rows| rows.flush());
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.each(|rows| rows.finish());
        let outcomes = self
            .both
            .iter_mut()
            .filter_map(|one| failed(&one.flag, one.failed.take().map_or(Ok(()), Err)));
        let messages: Vec<String> = outcomes.map(|stop| stop.message).collect();
        match messages.is_empty() {
            true => Ok(()),
            false => {
                let stop = Stop { code: FAILED, message: messages.join("; ") };
                Err(io::Error::other(Worded(stop)))
            }
        }
    }
}

impl Rows for Pair {
    fn begin(&mut self, origin: &Origin) {
        self.both.iter_mut().for_each(|one| one.rows.begin(origin));
    }

    fn restart(&mut self) -> io::Result<()> {
        self.each(|rows| rows.restart());
        Ok(())
    }
}
