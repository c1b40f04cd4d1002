//! The interface of a destination of results: it takes the run's events.
//!
//! It has no queue and no thread; [`crate::Outlets`] provides both.

use memtide_record::Event;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A destination of results. It takes the events of a run, in order.
pub trait Sink: Send {
    /// Takes an event. An error ends only this sink: it gets no more events.
    fn on(&mut self, event: &Event) -> io::Result<()>;

    /// Selects the events that the sink takes; by default all of them.
    fn takes(&self) -> fn(&Event) -> bool {
        |_| true
    }

    /// True if the output contains the exit code of the command. It then ends after the outputs
    /// whose failures that code counts.
    fn has_exit(&self) -> bool {
        false
    }

    /// Sets the meaning of the numbers in samples, before the first one.
    fn set_origin(&mut self, _origin: &SampleOrigin) {}

    /// Begins another plan, whose measured operations may replace those before.
    ///
    /// # Errors
    /// If written operations cannot be taken back, as with a pipe.
    fn restart(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Writes gathered output. Called when no event has come for a while, because a reader may
    /// wait.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Ends the output. Called once, after the last event.
    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }
}

/// The meaning of the numbers in samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleOrigin {
    /// Zero of the instants, in nanoseconds since 1970.
    pub unix_ns: u64,
    /// Names of the servers.
    pub servers: Vec<String>,
    /// Server of each connection, as a position in `servers`.
    pub leads: BTreeMap<u32, usize>,
}

/// The destination of a whole result.
pub trait Document: Write + Send {
    /// Puts the written bytes in their place. Without this call the earlier content stays.
    fn complete(self) -> io::Result<()>;

    /// Discards the written bytes.
    ///
    /// # Errors
    /// If they cannot be taken back, as with a pipe.
    fn restart(&mut self) -> io::Result<()>;
}
