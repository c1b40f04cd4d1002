//! The program as a child process: started, signalled, waited for. No child outlives its time limit
//! or its handle.

use crate::schemas::published;
use jsonschema::Validator;
use memtide_record::{CheckKind, CheckResult, Record};
use rustix::process::{Pid, Signal, kill_process};
use std::cell::Cell;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time limit of a run; one that exceeds it hangs, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Tests about pauses run alone; all others run in parallel.
static TURN: RwLock<()> = RwLock::new(());

/// A turn: others may run beside it, or none may.
pub(crate) struct Turn(#[expect(dead_code, reason = "held, not read")] Option<Lock>);

#[expect(dead_code, reason = "held, not read")]
enum Lock {
    Shared(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

thread_local! {
    /// Number of turns of this thread. Only the first one locks: a second one behind a test that
    /// waits for its turn alone would wait for ever.
    static TURNS: Cell<u32> = const { Cell::new(0) };
}

impl Turn {
    fn take(lock: impl FnOnce() -> Lock) -> Self {
        let before = TURNS.replace(TURNS.get() + 1);
        Self((before == 0).then(lock))
    }

    /// The turn of the thread that waits for this one.
    fn take_on() -> Self {
        TURNS.set(TURNS.get() + 1);
        Self(None)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        TURNS.set(TURNS.get() - 1);
    }
}

/// A turn beside other tests.
pub(crate) fn shared() -> Turn {
    Turn::take(|| Lock::Shared(TURN.read().unwrap_or_else(PoisonError::into_inner)))
}

/// An exclusive turn.
pub(crate) fn alone() -> Turn {
    assert_eq!(TURNS.get(), 0, "a test takes its turn alone before anything else");
    Turn::take(|| Lock::Alone(TURN.write().unwrap_or_else(PoisonError::into_inner)))
}

/// Does a part of a test on another thread, within the turn that the test has.
pub(crate) fn within_turn<T>(act: impl FnOnce() -> T) -> T {
    let _turn = Turn::take_on();
    act()
}

/// The rows of a table below `## name` in `text`; lines behind `#` are comments.
pub(crate) fn section(text: &'static str, name: &str) -> impl Iterator<Item = &'static str> {
    let (_, table) = text.split_once(&format!("\n## {name}\n")).expect(name);
    let lines = table.lines().take_while(|line| !line.starts_with("## "));
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Runs every command line below `## name` in `refused.txt`: each is refused.
pub(crate) fn refused(name: &str) {
    for row in section(include_str!("refused.txt"), name) {
        let (line, words) = row.split_once(" => ").expect("words of the message");
        memtide(&format!("{line} --quiet")).complains(2, &words.split(" | ").collect::<Vec<_>>());
    }
}

/// Runs the program with the words of `line` to its end.
pub(crate) fn memtide(line: &str) -> Finished {
    let _turn = shared();
    Running::start(line).finish()
}

/// The program without arguments, and without fields from the environment. `IT_IO` sets another
/// `--io` than the default for all tests.
pub(crate) fn program() -> Command {
    let mut command = cleared(Command::new(env!("CARGO_BIN_EXE_memtide")));
    if let Some(io) = std::env::var_os("IT_IO") {
        command.env("MEMTIDE_IO", io);
    }
    command
}

/// The program with the words of `line`, in `folder`.
pub(crate) fn program_in(folder: &Path, line: &str) -> Command {
    let mut command = program();
    command.current_dir(folder).args(line.split_whitespace());
    command
}

/// Runs the program with the words of `line` in `folder` to its end.
pub(crate) fn run_in(folder: &Path, line: &str) -> Finished {
    let _turn = shared();
    Running::of(&mut program_in(folder, line)).finish()
}

/// Runs the program in `folder`, where no file can be longer than `bytes_max`: a longer write fails
/// as on a full disk.
pub(crate) fn run_on_small_disk(folder: &Path, line: &str, bytes_max: u64) -> Finished {
    let _turn = shared();
    let mut command = program_in(folder, line);
    // SAFETY: both calls may be made between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: bytes_max, rlim_max: bytes_max };
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
            Ok(())
        });
    }
    Running::of(&mut command).finish()
}

/// Starts the program with the words of `line` in a shell that has done `before`.
pub(crate) fn start_after(before: &str, line: &str) -> Running {
    let path = program().get_program().to_string_lossy().into_owned();
    let mut shell = Command::new("sh");
    Running::of(shell.arg("-c").arg(format!("{before}; exec '{path}' {line}")))
}

/// Runs the program with the words of `line` and a variable to its end.
pub(crate) fn memtide_with(name: &str, value: impl AsRef<OsStr>, line: &str) -> Finished {
    let _turn = shared();
    Running::of(program().args(line.split_whitespace()).env(name, value)).finish()
}

/// `command` without stdin, fields from the environment, and inherited ignored signals.
pub(crate) fn cleared(mut command: Command) -> Command {
    // A launcher's variables for these tests must not reach the program.
    let foreign = ["MEMTIDE_", "SLURM_", "PMI_", "OMPI_"];
    for (name, _) in std::env::vars_os() {
        if foreign.iter().any(|begin| name.to_string_lossy().starts_with(begin)) {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    // A shell that runs these tests in the background ignores Ctrl-C for them.
    // SAFETY: signal may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGINT, libc::SIGHUP, libc::SIGTERM] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    command
}

/// A path that no other test uses, in a folder of the build directory. Nothing exists there.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("it-{name}"));
    drop(std::fs::remove_file(&path));
    path
}

/// A path that no other call returns. Nothing exists there.
pub(crate) fn fresh(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    scratch(&format!("{}-{name}", NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// An empty folder that no other call returns.
pub(crate) fn fresh_folder(name: &str) -> PathBuf {
    let path = fresh(name);
    drop(std::fs::remove_dir_all(&path));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// A running child.
pub(crate) struct Running {
    child: Child,
    words: String,
    out: Option<JoinHandle<Vec<u8>>>,
    err: Option<JoinHandle<Vec<u8>>>,
    started: Instant,
}

impl Running {
    /// Starts the program with the words of `line`.
    pub(crate) fn start(line: &str) -> Self {
        Self::of(program().args(line.split_whitespace()))
    }

    /// Starts any command, usually a shell with the program inside.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().map(read_all);
        let err = child.stderr.take().map(read_all);
        Self { child, words: format!("{command:?}"), out, err, started: Instant::now() }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it `signal`.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until it catches `signal`, which would kill it before; fails if it never does.
    pub(crate) fn await_handler(&self, signal: Signal) {
        until("it catches no signal", || catches(self.id(), signal));
    }

    /// Waits until it ends; fails the test if it does not.
    pub(crate) fn finish(mut self) -> Finished {
        let (status, late) = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break (status, false),
                None if self.started.elapsed() > PATIENCE => {
                    drop(self.child.kill());
                    break (self.child.wait().unwrap(), true);
                }
                None => thread::sleep(LOOK_EVERY),
            }
        };
        let text = |reader: &mut Option<JoinHandle<Vec<u8>>>| {
            String::from_utf8(reader.take().unwrap().join().unwrap()).unwrap()
        };
        let out = text(&mut self.out);
        let err = text(&mut self.err);
        let (code, signal) = (status.code(), status.signal());
        let finished = Finished { words: self.words.clone(), code, signal, out, err };
        assert!(!late, "it did not end within {PATIENCE:?}: {finished}");
        finished
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits until `is_so`; fails the test with `what` if it takes too long.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "waited in vain: {what}");
        thread::sleep(LOOK_EVERY);
    }
}

/// True if the process has a handler for `signal`, or has ended.
fn catches(process: u32, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_none_or(|mask| mask & (1 << (signal.as_raw() - 1)) != 0)
}

fn read_all(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        drop(from.read_to_end(&mut bytes));
        bytes
    })
}

/// A child that has ended.
pub(crate) struct Finished {
    words: String,
    /// The exit code; none if a signal killed it.
    pub(crate) code: Option<i32>,
    /// The signal that killed it; none if it exited.
    pub(crate) signal: Option<i32>,
    /// All of stdout.
    pub(crate) out: String,
    /// All of stderr.
    pub(crate) err: String,
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { words, code, signal, out, err } = self;
        // The part of a record before its counts is known to the test.
        let from = out.find("\"measured_s\"").unwrap_or(0);
        let out: String = out[from..].chars().take(5_000).collect();
        write!(f, "{words}\nexit {code:?}, signal {signal:?}\n--- stdout\n{out}\n--- stderr\n{err}")
    }
}

impl Finished {
    /// Asserts that the child ended with `code`.
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Asserts that `signal` killed the child.
    pub(crate) fn dies_by(self, signal: Signal) -> Self {
        assert_eq!(self.signal, Some(signal.as_raw()), "{self}");
        self
    }

    /// The record of `--json -`, which must be all of stdout. It must match the published schema,
    /// and account for all of its operations.
    pub(crate) fn record(&self) -> Record {
        read_record(&self.out).unwrap_or_else(|why| panic!("{why} in {self}"))
    }

    /// Asserts that the run never began, and that its one sentence contains each of `words`.
    pub(crate) fn complains(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self}");
        assert_eq!(self.out, "", "nothing was measured, so stdout is empty: {self}");
        let announced = "no --server given";
        let said = self.err.lines().filter(|line| !line.contains(announced)).collect::<Vec<_>>();
        let sentence = said.join("\n");
        assert!(!sentence.contains("panicked"), "{self}");
        // Errors of the command line's parser take several lines; memtide's own take one.
        let one = said.len() == 1 && sentence.starts_with("memtide: ");
        assert!(one || sentence.starts_with("error: "), "one sentence was promised: {self}");
        for word in words {
            assert!(sentence.contains(word), "the sentence does not say '{word}': {self}");
        }
    }
}

/// Reads a record, and checks it against the published schema and the conservation of operations.
pub(crate) fn read_record(text: &str) -> Result<Record, String> {
    static SCHEMA: LazyLock<Validator> = LazyLock::new(|| published("record.schema.json"));
    let value: serde_json::Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    if let Some(error) = SCHEMA.iter_errors(&value).next() {
        return Err(error.to_string());
    }
    let record: Record = serde_json::from_value(value).map_err(|e| e.to_string())?;
    record.check_conservation()?;
    Ok(record)
}

/// The record of the run that wrote `path`, checked as [`read_record`] does.
pub(crate) fn record_at(path: &Path) -> Record {
    let text = std::fs::read_to_string(path).unwrap();
    read_record(&text).unwrap_or_else(|why| panic!("{why} in {}", path.display()))
}

/// Result and sentence of the check `code`.
pub(crate) fn check(record: &Record, code: CheckKind) -> (CheckResult, &str) {
    let check = record.believable.checks.iter().find(|check| check.code == code).unwrap();
    (check.result, &check.message)
}

/// Asserts that the servers counted exactly what was sent.
pub(crate) fn assert_counters_equal(record: &Record) {
    let (result, message) = check(record, CheckKind::ServerCounters);
    assert_eq!(result, CheckResult::Passed, "{message}");
}
