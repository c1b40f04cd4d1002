//! How a run is watched: the progress line or lines on stderr, the screen of the terminal, and the
//! page for browsers. All draw one model; none can slow the run down.

use crate::exit::Stop;
use crate::output::StatusLine;
#[cfg(feature = "web")]
use crate::output::say;
use memtide_host::signal::StopFlag;
use memtide_record::Event;
use memtide_report::Live;
use memtide_scenario::{ProgressForm, Settings};
#[cfg(feature = "ui")]
use memtide_sinks::{Screen, ScreenControl};
use memtide_sinks::{SharedLive, Sink};
#[cfg(feature = "web")]
use memtide_sinks::{WebStart, WebView};
#[cfg(feature = "ui")]
use std::io::IsTerminal;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two lines of progress where stderr is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// What shows a run while it is under way.
pub(crate) struct Watching {
    live: SharedLive,
    line: Progress,
    #[cfg(feature = "ui")]
    screen: Option<Screen>,
    #[cfg(feature = "web")]
    web: Option<WebView>,
    /// True if more than a line is drawn.
    is_whole: bool,
}

/// Progress on stderr.
enum Progress {
    /// None.
    None,
    /// A line of a terminal.
    Status(StatusLine),
    /// A line now and then; when the last one was written.
    Lines(Instant),
}

impl Watching {
    /// Opens what the user asked for.
    ///
    /// # Errors
    /// If this program was built without it, or the page's address cannot be used.
    pub(crate) fn open(settings: &Settings, stop: &StopFlag) -> Result<Self, Stop> {
        let form = settings.outputs.shown();
        check_built(settings)?;
        let live = SharedLive::new(Live::new(&settings.scenario.goals));
        let line = match StatusLine::new(form == ProgressForm::Off) {
            _ if form == ProgressForm::Off => Progress::None,
            Some(line) => Progress::Status(line),
            None => Progress::Lines(Instant::now()),
        };
        #[cfg(feature = "ui")]
        let screen = screen(form, &live, stop);
        #[cfg(feature = "web")]
        let web = web(settings, &live, stop)?;
        let _ = stop;
        let is_whole = form == ProgressForm::Ui || settings.outputs.web.is_some();
        Ok(Self {
            live,
            line,
            #[cfg(feature = "ui")]
            screen,
            #[cfg(feature = "web")]
            web,
            is_whole,
        })
    }

    /// True while the terminal shows the run on its whole screen: nothing else may be written to
    /// it.
    #[cfg(feature = "ui")]
    pub(crate) fn screen_flag(&self) -> Arc<AtomicBool> {
        self.screen.as_ref().map_or_else(Arc::default, Screen::flag)
    }

    /// No screen, ever.
    #[cfg(not(feature = "ui"))]
    pub(crate) fn screen_flag(&self) -> Arc<AtomicBool> {
        Arc::default()
    }

    fn has_screen(&self) -> bool {
        self.screen_flag().load(Ordering::Acquire)
    }

    /// True if nothing shows the run, so that no thread is needed.
    pub(crate) const fn is_nothing(&self) -> bool {
        matches!(self.line, Progress::None) && !self.is_whole
    }

    fn show_line(&mut self, event: &Event) {
        let is_progress = matches!(event, Event::Progress(_));
        let is_shown = is_progress || matches!(event, Event::Note(_));
        if !is_shown || self.has_screen() {
            return;
        }
        match &mut self.line {
            Progress::Status(line) => {
                self.live.lock().line().iter().for_each(|text| line.update(text));
            }
            Progress::Lines(last) if is_progress && last.elapsed() >= LINE_EVERY => {
                *last = Instant::now();
                let text = self.live.lock().line().unwrap_or_default();
                drop(writeln!(io::stderr().lock(), "{text}"));
            }
            Progress::Lines(_) | Progress::None => {}
        }
    }

    /// Leaves the screen and clears the line, because a result follows.
    fn clear(&mut self) {
        #[cfg(feature = "ui")]
        self.screen.iter_mut().for_each(Screen::leave);
        if let Progress::Status(line) = &mut self.line {
            line.clear();
        }
    }
}

impl Sink for Watching {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        self.live.lock().on(event);
        self.show_line(event);
        let is_over = match event {
            Event::StepsDone(_) => true,
            Event::Done(_) => self.live.lock().is_over() || !self.has_screen(),
            _ => false,
        };
        if is_over {
            self.clear();
        }
        Ok(())
    }

    fn takes(&self) -> fn(&Event) -> bool {
        if self.is_whole {
            return Live::takes;
        }
        |event| {
            use Event::{Done, Note, Progress, StepBegun, StepsDone};
            matches!(event, Progress(_) | Note(_) | Done(_) | StepBegun(_) | StepsDone(_))
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.clear();
        #[cfg(feature = "web")]
        self.web.iter_mut().for_each(WebView::finish);
        Ok(())
    }
}

/// Refuses what this program was built without.
///
/// Cause: `--ui` or `--web` needs a feature that this program was built without.
///
/// To do: Use a released program, or build one with `cargo build --release --features ui,web`.
fn check_built(settings: &Settings) -> Result<(), Stop> {
    let outputs = &settings.outputs;
    let asked = [
        ("--ui", "ui", outputs.shown() == ProgressForm::Ui && !cfg!(feature = "ui")),
        ("--web", "web", outputs.web.is_some() && !cfg!(feature = "web")),
    ];
    match asked.into_iter().find(|(.., lacks)| *lacks) {
        None => Ok(()),
        Some((flag, feature, _)) => Err(Stop::usage(format!(
            "{flag}: this program was built without the feature {feature}; build it with cargo \
             build --release --features {feature}"
        ))),
    }
}

/// The screen, if the user wants one and the terminal can show it.
#[cfg(feature = "ui")]
fn screen(form: ProgressForm, live: &SharedLive, stop: &StopFlag) -> Option<Screen> {
    let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
    let is_plain = variable("TERM") == "dumb" || !variable("CI").is_empty();
    let is_seen = io::stderr().is_terminal() && io::stdin().is_terminal();
    if form != ProgressForm::Ui || is_plain || !is_seen {
        return None;
    }
    let (asked, raised) = (stop.clone(), stop.clone());
    let control = ScreenControl {
        is_stopping: Box::new(move || asked.is_raised()),
        stop: Box::new(move || raised.raise()),
        has_colours: variable("NO_COLOR").is_empty(),
    };
    // Without a screen there is the progress line.
    Screen::start(live.clone(), control).ok()
}

/// The page for browsers, if the user wants one; its address is printed.
///
/// Cause: Another program uses the port, or the address is not one of this machine.
///
/// To do: Choose another port, or leave it out: a free one is found.
#[cfg(feature = "web")]
fn web(settings: &Settings, live: &SharedLive, stop: &StopFlag) -> Result<Option<WebView>, Stop> {
    let Some(place) = &settings.outputs.web else { return Ok(None) };
    let stop = stop.clone();
    let start = WebStart {
        place: place.clone(),
        linger: settings.outputs.web_linger.unwrap_or(memtide_base::Span::from_s(3)),
        is_stopping: Box::new(move || stop.is_raised()),
    };
    let view = WebView::start(live.clone(), start)
        .map_err(|error| Stop::usage(format!("--web={place}: {error}")))?;
    say(&format!("watch this run at {}", view.url()));
    Ok(Some(view))
}
