//! A run on the screen of a terminal: a thread that waits for the key that shows it, draws, reads
//! keys, and leaves the terminal as it was, whatever ends the run.
//!
//! A terminal that takes nothing stops this thread alone.

use super::SharedLive;
use memtide_report::Live;
use memtide_report::screen::{Panel, View, draw};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::AsFd;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The longest time between two looks at keys, at signals and at the model.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The key that shows the screen.
const SHOWS: u8 = b'u';
/// The longest wait for that key.
const KEY_MAX: Duration = Duration::from_millis(100);
/// The longest wait for a terminal to take the last of its bytes.
const LEAVE_MAX: Duration = Duration::from_secs(1);

/// True while the screen of this process is not as the user left it.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Facts about the run that the screen needs, and its controls.
pub struct ScreenControl {
    /// True once the run was asked to stop.
    pub is_stopping: Box<dyn Fn() -> bool + Send>,
    /// Asks the run to stop.
    pub stop: Box<dyn Fn() + Send>,
    /// True if colours may be used.
    pub has_colours: bool,
    /// The keys of the terminal.
    pub keys: ScreenKeys,
}

/// How the keys of the terminal are taken and given back.
#[derive(Clone, Copy, Debug)]
pub struct ScreenKeys {
    /// Takes them; false if that is not possible.
    pub take: fn() -> bool,
    /// Gives them back.
    pub restore: fn(),
    /// True if the terminal is this program's now.
    pub are_ours: fn() -> bool,
    /// Notes whether the terminal shows the screen.
    pub has_screen: fn(bool),
}

/// The screen of a terminal on which a run is watched.
pub struct Screen {
    end: Arc<AtomicBool>,
    is_shown: Arc<AtomicBool>,
    keys: ScreenKeys,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Shows the run on the terminal of stderr, at once or when the user presses a key, until the
    /// run is over.
    ///
    /// # Errors
    /// If stderr is closed, or the system starts no thread. The caller checks that stderr and stdin
    /// are a terminal.
    pub fn start(live: SharedLive, control: ScreenControl, at_once: bool) -> io::Result<Self> {
        let out = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        let end = Arc::new(AtomicBool::new(false));
        let is_shown = Arc::new(AtomicBool::new(at_once));
        let (ends, shows) = (Arc::clone(&end), Arc::clone(&is_shown));
        let keys = control.keys;
        leave_before_a_panic(keys);
        let thread = thread::Builder::new().name("screen".to_owned()).spawn(move || {
            // Without a screen the run goes on; the progress line takes its place.
            drop(watch(&live, &control, &out, &ends, &shows));
            shows.store(false, Ordering::Release);
        })?;
        Ok(Self { end, is_shown, keys, thread: Some(thread) })
    }

    /// A flag that is true while the run is on the screen; nothing else may be written to the
    /// terminal meanwhile.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_shown)
    }

    /// Leaves the screen, and waits until the terminal is as it was before; not long if it takes
    /// nothing.
    pub fn leave(&mut self) {
        self.end.store(true, Ordering::Release);
        let deadline = Instant::now() + LEAVE_MAX;
        while let Some(thread) = &self.thread {
            if thread.is_finished() {
                drop(self.thread.take().map(JoinHandle::join));
            } else if Instant::now() > deadline {
                // The terminal takes nothing; its modes can be set nevertheless.
                drop(disable_raw_mode());
                (self.keys.restore)();
                return;
            } else {
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

type UserTerminal = Terminal<CrosstermBackend<BufWriter<File>>>;

/// The terminal, which is as it was before once this is dropped.
struct Entered(UserTerminal);

impl Entered {
    fn new(out: File) -> io::Result<Self> {
        enable_raw_mode()?;
        IS_SHOWN.store(true, Ordering::Release);
        let mut out = BufWriter::new(out);
        let entered = execute!(out, EnterAlternateScreen, cursor::Hide)
            .and_then(|()| Terminal::new(CrosstermBackend::new(out)));
        match entered {
            Ok(terminal) => Ok(Self(terminal)),
            Err(error) => {
                leave(io::stderr());
                Err(error)
            }
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        leave(self.0.backend_mut());
    }
}

/// Leaves the screen. An error is not told: the terminal has gone.
fn leave(mut out: impl io::Write) {
    if IS_SHOWN.swap(false, Ordering::AcqRel) {
        drop(disable_raw_mode());
        drop(execute!(out, LeaveAlternateScreen, cursor::Show));
    }
}

/// Lets a panic of any thread leave the screen first, so that its message can be read.
fn leave_before_a_panic(keys: ScreenKeys) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            leave(io::stderr());
            (keys.restore)();
            before(info);
        }));
    });
}

/// Shows the run, or waits for the key that shows it, until the run is over or asked to stop.
fn watch(
    live: &SharedLive,
    control: &ScreenControl,
    out: &File,
    end: &AtomicBool,
    is_shown: &AtomicBool,
) -> io::Result<()> {
    let mut keys = Keys::take(control.keys);
    let mut view = View { has_colours: control.has_colours, ..View::default() };
    let ends = || end.load(Ordering::Acquire) || (control.is_stopping)();
    while !ends() {
        if is_shown.load(Ordering::Acquire) {
            (control.keys.has_screen)(true);
            let shown = show(live, &mut view, out.try_clone()?, &ends);
            (control.keys.has_screen)(false);
            is_shown.store(false, Ordering::Release);
            if let Left::ToStop = shown? {
                // The terminal is as before when the run, or the program, is asked to end.
                drop(keys.take());
                (control.stop)();
                return Ok(());
            }
        } else {
            let Some(keys) = &keys else { return Ok(()) };
            is_shown.store(keys.is_pressed(), Ordering::Release);
        }
    }
    Ok(())
}

/// Keys that were taken; given back once this is dropped.
struct Keys(ScreenKeys);

impl Keys {
    /// Takes the keys, if that is possible.
    fn take(keys: ScreenKeys) -> Option<Self> {
        (keys.take)().then_some(Self(keys))
    }

    /// Waits for a key for a moment; true if it was the one that shows the screen.
    fn is_pressed(&self) -> bool {
        let stdin = io::stdin();
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        let wait = Timespec { tv_sec: 0, tv_nsec: KEY_MAX.subsec_nanos().into() };
        if !matches!(poll(&mut ready, Some(&wait)), Ok(1..)) {
            return false;
        }
        let mut bytes = [0; 64];
        // What a user types for another program is that program's; a read would stop this one.
        let count = match (self.0.are_ours)() {
            true => rustix::io::read(&stdin, &mut bytes).unwrap_or(0),
            false => 0,
        };
        if count == 0 {
            // The terminal has gone, or is another program's: it stays readable.
            thread::sleep(KEY_MAX);
        }
        bytes[..count].contains(&SHOWS)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        (self.0.restore)();
    }
}

/// Why the screen was left.
enum Left {
    /// For the progress line, or because the run ends.
    ToGoOn,
    /// The user asks the run to stop.
    ToStop,
}

/// Draws until the run `ends`, or the user leaves.
fn show(
    live: &SharedLive,
    view: &mut View,
    out: File,
    ends: &dyn Fn() -> bool,
) -> io::Result<Left> {
    let mut entered = Entered::new(out)?;
    let mut paused: Option<Live> = None;
    let mut drawn = None;
    (view.is_paused, view.has_help) = (false, false);
    while !ends() {
        let version = live.lock().version();
        if drawn != Some(version) {
            drawn = Some(version);
            entered.0.draw(|frame| {
                let area = frame.area();
                match &paused {
                    Some(paused) => draw(paused, view, area, frame.buffer_mut()),
                    None => draw(&live.lock(), view, area, frame.buffer_mut()),
                }
            })?;
        }
        if !event::poll(LOOK_EVERY)? {
            continue;
        }
        drawn = None;
        let Event::Key(key) = event::read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Ok(Left::ToStop);
            }
            KeyCode::Char('s') => return Ok(Left::ToStop),
            KeyCode::Char('q' | 'u') | KeyCode::Esc if !view.has_help => return Ok(Left::ToGoOn),
            KeyCode::Char('?' | 'h') => view.has_help = !view.has_help,
            KeyCode::Esc | KeyCode::Char('q') => view.has_help = false,
            KeyCode::Char('p' | ' ') => {
                view.is_paused = !view.is_paused;
                paused = view.is_paused.then(|| live.lock().clone());
            }
            KeyCode::Tab => view.panel = view.panel.next(),
            KeyCode::Char(key) => view.panel = Panel::of_key(key).unwrap_or(view.panel),
            _ => {}
        }
    }
    Ok(Left::ToGoOn)
}
