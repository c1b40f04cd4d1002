//! What shows several runs, one after the other, as one: those of a trial, or of a run that is
//! repeated. Without a screen or a page there is none, and each run has its own line.

use super::Watching;
use crate::console::show_part;
use crate::exit::Stop;
use crate::front::{InStep, Screen};
use memtide_host::signal::StopFlag;
use memtide_record::Event;
use memtide_report::Live;
use memtide_scenario::{ProgressForm, Settings};
use memtide_sinks::{Outlets, SharedLive, Sink};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The views of several runs.
pub struct WatchedRuns {
    live: SharedLive,
    outlets: Mutex<Outlets>,
    has_screen: Arc<AtomicBool>,
    /// What is printed once the screen is left.
    held: Mutex<String>,
}

impl WatchedRuns {
    /// Opens what the user asked for; none if that is a line. A key on its screen stops them all.
    ///
    /// # Errors
    /// If this program was built without it, or the page's address cannot be used.
    pub fn open(settings: &Settings, stop: &StopFlag) -> Result<Option<Self>, Stop> {
        let outputs = &settings.outputs;
        if outputs.shown() != ProgressForm::Ui && outputs.web.is_none() {
            return Ok(None);
        }
        let watching = Watching::open(settings, stop, true)?;
        let (live, has_screen) = (watching.live(), watching.screen_flag());
        let mut outlets = Outlets::default();
        // If no thread can be started nothing is shown; the runs are unaffected.
        drop(outlets.add("status", watching));
        let (outlets, held) = (Mutex::new(outlets), Mutex::default());
        Ok(Some(Self { live, outlets, has_screen, held }))
    }

    /// The model that is shown.
    pub fn live(&self) -> &SharedLive {
        &self.live
    }

    /// What lets the views follow a run.
    pub fn screen(&self) -> InStep<'_> {
        InStep { name: "status", screen: Box::new(Following(self)) }
    }

    /// Prints a part of the result, or keeps it until the terminal's screen is left.
    pub fn show_part(&self, text: &str) -> io::Result<()> {
        let mut held = locked(&self.held);
        held.push_str(text);
        if self.has_screen.load(Ordering::Acquire) {
            return Ok(());
        }
        show_part(&std::mem::take(&mut *held))
    }

    /// Leaves the screen, and ends the page after a while if anybody watched it.
    pub fn close(&self) {
        self.live.lock().end();
        drop(locked(&self.outlets).close());
        drop(show_part(&std::mem::take(&mut *locked(&self.held))));
    }
}

/// Passes the events of a run on.
struct Following<'a>(&'a WatchedRuns);

impl Screen for Following<'_> {}

impl Sink for Following<'_> {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        locked(&self.0.outlets).on(event);
        Ok(())
    }

    fn takes(&self) -> fn(&Event) -> bool {
        Live::takes
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
