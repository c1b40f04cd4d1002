//! The interface of a destination of results: it takes the run's events.
//!
//! It knows of no queue and no thread; [`crate::Outlets`] gives it both.

use memtide_schema::Event;
use std::io::{self, Write};

/// A destination of results. It takes the events of a run, in order.
pub trait Sink: Send {
    /// Takes an event. An error ends this sink alone: it gets no more events.
    fn on(&mut self, event: &Event) -> io::Result<()>;

    /// Selects the events that it takes; by default all of them.
    fn takes(&self) -> fn(&Event) -> bool {
        |_| true
    }

    /// Writes what is gathered: nothing has come for a while, and a reader may be waiting.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Nothing more will come.
    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }
}

/// What a whole result is written to.
pub trait Document: Write + Send {
    /// Puts what was written in its place. Without this the place stays what it was before.
    fn complete(self) -> io::Result<()>;

    /// Discards what was written. An error where that has left already, as by a pipe.
    fn restart(&mut self) -> io::Result<()>;
}
