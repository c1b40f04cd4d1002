//! How a run is watched: the progress line or lines on stderr, the screen of the terminal, and the
//! page for browsers. All draw one model; none can slow the run down.

mod runs;

pub use runs::WatchedRuns;

use crate::console::StatusLine;
#[cfg(feature = "web")]
use crate::console::say;
use crate::exit::Stop;
use memtide_host::signal::StopFlag;
#[cfg(feature = "ui")]
use memtide_host::signal::terminal;
use memtide_record::Event;
#[cfg(feature = "web")]
use memtide_record::steps::{CourseKind, StepRole};
use memtide_report::Live;
#[cfg(feature = "web")]
use memtide_report::{StepsPage, page};
use memtide_scenario::{Outputs, ProgressForm, Settings};
#[cfg(feature = "ui")]
use memtide_sinks::{Screen, ScreenControl, ScreenKeys};
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
    /// The page of the steps so far, if a browser may watch them.
    #[cfg(feature = "web")]
    steps: Option<StepsPage>,
    /// The goals of the load, in the user's words.
    #[cfg(feature = "web")]
    goals: Vec<String>,
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
    /// Opens what the user asked for. If the session `catches` signals, none of them leaves a
    /// terminal as it should not be, and a key can show the screen.
    ///
    /// # Errors
    /// If this program was built without it, or the page's address cannot be used.
    pub(crate) fn open(settings: &Settings, stop: &StopFlag, catches: bool) -> Result<Self, Stop> {
        let form = settings.outputs.shown();
        if let Some(message) = not_built(&settings.outputs, BUILT) {
            return Err(Stop::usage(message));
        }
        let goals = &settings.scenario.goals;
        let live = SharedLive::new(Live::new(goals));
        let line = match StatusLine::new(form == ProgressForm::Off) {
            _ if form == ProgressForm::Off => Progress::None,
            Some(line) => Progress::Status(line),
            None => Progress::Lines(Instant::now()),
        };
        #[cfg(feature = "ui")]
        let screen = screen(form, catches, &live, stop);
        #[cfg(feature = "web")]
        let web = web(settings, &live, stop)?;
        let _ = (stop, catches);
        let is_whole = form == ProgressForm::Ui || settings.outputs.web.is_some();
        // The user may want to see what was before.
        #[cfg(feature = "ui")]
        let is_whole = is_whole || screen.is_some();
        Ok(Self {
            live,
            line,
            #[cfg(feature = "ui")]
            screen,
            #[cfg(feature = "web")]
            web,
            #[cfg(feature = "web")]
            steps: None,
            #[cfg(feature = "web")]
            goals: goals.iter().map(ToString::to_string).collect(),
            is_whole,
        })
    }

    /// True while the terminal shows the run on its whole screen: nothing else may be written to
    /// it.
    pub(crate) fn screen_flag(&self) -> Arc<AtomicBool> {
        #[cfg(feature = "ui")]
        if let Some(screen) = &self.screen {
            return screen.flag();
        }
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
        self.clear_line();
    }

    fn clear_line(&mut self) {
        if let Progress::Status(line) = &mut self.line {
            line.clear();
        }
    }

    /// The model, for a caller that knows more of the run than its events say.
    pub(crate) fn live(&self) -> SharedLive {
        self.live.clone()
    }

    /// The page of what came of the run, once `event` tells that.
    #[cfg(feature = "web")]
    fn finished(&mut self, event: &Event) -> Option<String> {
        self.web.as_ref()?;
        match event {
            Event::StepDone(step) => {
                let kind = match step.role {
                    StepRole::Scan => CourseKind::Scan,
                    _ => CourseKind::Search,
                };
                let goals = &self.goals;
                self.steps.get_or_insert_with(|| StepsPage::new(kind, goals)).step(step);
                None
            }
            Event::StepsDone(conclusion) => Some(self.steps.as_ref()?.text(conclusion)),
            Event::Done(record) => Some(page(record)),
            _ => None,
        }
    }
}

impl Sink for Watching {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        #[cfg(feature = "web")]
        let page = self.finished(event);
        let is_over = {
            let mut live = self.live.lock();
            #[cfg(feature = "web")]
            page.into_iter().for_each(|page| live.finish(page));
            live.on(event);
            live.is_over()
        };
        self.show_line(event);
        match event {
            Event::Done(_) | Event::StepsDone(_) if is_over => self.clear(),
            Event::Done(_) if !self.has_screen() => self.clear_line(),
            _ => {}
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

/// The views that a program was built with.
#[derive(Clone, Copy)]
struct Built {
    ui: bool,
    web: bool,
}

const BUILT: Built = Built { ui: cfg!(feature = "ui"), web: cfg!(feature = "web") };

/// Why `outputs` cannot be shown by a program that was `built` so; none if they can.
fn not_built(outputs: &Outputs, built: Built) -> Option<String> {
    let asked = [
        ("--ui", "ui", outputs.shown() == ProgressForm::Ui && !built.ui),
        ("--web", "web", outputs.web.is_some() && !built.web),
    ];
    let (flag, feature, _) = asked.into_iter().find(|(.., lacks)| *lacks)?;
    Some(format!(
        "{flag}: this program was built without the feature {feature}; build it with cargo build \
         --release --features {feature}"
    ))
}

/// The screen, if the terminal can show it: at once if the user wants that, or by a key.
#[cfg(feature = "ui")]
fn screen(form: ProgressForm, catches: bool, live: &SharedLive, stop: &StopFlag) -> Option<Screen> {
    let [term, ci, no_color] =
        ["TERM", "CI", "NO_COLOR"].map(|name| std::env::var_os(name).unwrap_or_default());
    let is_plain = term == "dumb" || !ci.is_empty();
    let is_seen = io::stderr().is_terminal() && io::stdin().is_terminal();
    let is_wanted = match form {
        ProgressForm::Off => false,
        ProgressForm::Line => catches,
        ProgressForm::Ui => true,
    };
    if !is_wanted || is_plain || !is_seen {
        return None;
    }
    let stop = stop.clone();
    let control = ScreenControl {
        is_stopping: Box::new(move || stop.is_raised()),
        // Of several runs, each has a flag of its own, and a signal raises all.
        stop: Box::new(memtide_host::signal::interrupt),
        has_colours: no_color.is_empty(),
        keys: ScreenKeys {
            take: terminal::take_keys,
            restore: terminal::restore_keys,
            are_ours: terminal::is_foreground,
            has_screen: terminal::has_screen,
        },
    };
    // Without a screen there is the progress line.
    Screen::start(live.clone(), control, form == ProgressForm::Ui).ok()
}

/// The page for browsers, if the user wants one; its address is printed.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_built_is_named_with_its_feature() {
        let [ui, web] = [
            Outputs { ui: true, ..Outputs::default() },
            Outputs { web: Some(Default::default()), ..Outputs::default() },
        ];
        let by_word = Outputs { progress: ProgressForm::Ui, ..Outputs::default() };
        let (none, both) = (Built { ui: false, web: false }, Built { ui: true, web: true });
        for (outputs, flag, feature) in
            [(&ui, "--ui", "ui"), (&by_word, "--ui", "ui"), (&web, "--web", "web")]
        {
            let message = not_built(outputs, none).unwrap();
            let remedy = format!("cargo build --release --features {feature}");
            assert!(message.starts_with(flag) && message.ends_with(&remedy), "{message}");
            assert_eq!(not_built(outputs, both), None);
        }
        assert_eq!(not_built(&Outputs::default(), none), None);
        // The other feature is of no use.
        assert!(not_built(&web, Built { ui: true, web: false }).is_some());
    }
}
