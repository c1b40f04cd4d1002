//! Outputs of measured operations that no master chooses: that of a master's own load, of which
//! each step of a search or scan is a share of its own, and the database that an agent's operator
//! names.

use memtide_record::Event;
use memtide_scenario::{Output, Outputs, SpoolPlace};
use memtide_sinks::{OutputStop, Samples, Sink};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An output of measured operations that outlives the shares that write to it.
#[derive(Clone)]
pub struct OwnRows {
    /// Name in messages.
    pub(super) flag: String,
    state: Arc<Mutex<State>>,
}

struct State {
    rows: Samples,
    /// True if a share has written to it.
    was_used: bool,
}

impl OwnRows {
    pub(super) fn new(rows: Samples) -> Self {
        let flag = rows.name().to_owned();
        Self { flag, state: Arc::new(Mutex::new(State { rows, was_used: false })) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the output to those of another share.
    pub(super) fn add_to(&self, samples: &mut Samples) -> Result<(), OutputStop> {
        let mut state = self.state();
        if std::mem::replace(&mut state.was_used, true) {
            let restarted = state.rows.restart();
            restarted.map_err(|error| OutputStop::unwritable(&self.flag, &error))?;
        }
        samples.add(&self.flag, Box::new(self.clone()));
        Ok(())
    }

    /// Closes the output after the last share.
    pub(super) fn close(&self) -> Option<OutputStop> {
        OutputStop::of(&self.flag, self.state().rows.finish())
    }
}

impl Sink for OwnRows {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        self.state().rows.on(event)
    }

    fn restart(&mut self) -> io::Result<()> {
        self.state().rows.restart()
    }

    /// Each share ends with this; the output goes on.
    fn flush(&mut self) -> io::Result<()> {
        self.state().rows.flush()
    }
}

/// Destination of points, as the agent's operator named it.
#[derive(Clone)]
pub struct OwnPoints {
    place: Output,
    spool: Option<SpoolPlace>,
}

impl OwnPoints {
    /// The database that `outputs` name, if any.
    pub fn of(outputs: &Outputs) -> Option<Self> {
        Some(Self { place: outputs.points()?, spool: outputs.spool.clone() })
    }

    /// Adds it to the outputs of a share.
    pub(super) fn name_in(&self, outputs: &mut Outputs) {
        outputs.out.push(self.place.clone());
        outputs.spool = self.spool.clone();
    }
}
