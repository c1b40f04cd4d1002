//! Command lines and environments that are bad, odd or extreme. Each row of the tables states an
//! exit code; every run must end in time, use little memory, never panic or die by a signal, and
//! print one sentence if nothing was measured.

pub(crate) mod terminal;

use crate::prelude::*;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::Condvar;

/// Shell commands to run first, the words for memtide after these, and the exit code. The shell has
/// `$M` (the program), `$PEER` and `$PORT` (a memcached), `$SHORT` and `$RATE` (short runs), and
/// runs in an empty folder.
type Row = (&'static str, &'static str, i32);

/// A line of `rows.txt`: the exit code, the words for memtide, and what to run first behind ` <- `.
fn row(line: &'static str) -> Row {
    let (row, before) = line.split_once(" <- ").unwrap_or((line, ""));
    let (code, words) = row.split_once(' ').unwrap_or((row, ""));
    (before, words, code.parse().unwrap())
}

/// Time limit of a row even on a busy machine; one that exceeds it hangs.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK_EVERY: Duration = Duration::from_millis(5);
const MEMORY_KIB_MAX: u64 = 256 * 1024;
/// Number of rows of a table that run at the same time, and of rows of all tables.
const AT_ONCE: usize = 2;
const AT_ONCE_MAX: usize = 4;
/// Rows of all tables that run.
static BUSY: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());
/// Longest sentence: one that lists everything that is allowed.
const SENTENCE_BYTES_MAX: usize = 2500;

#[test]
fn values_that_cannot_be_meant_are_refused() {
    hold("wrong");
}

#[test]
fn extreme_values_are_done_or_refused() {
    hold("extreme");
}

#[test]
fn servers_that_are_not_there_are_named() {
    hold("servers");
}

#[test]
fn files_that_are_something_else_are_named() {
    hold("files");
}

#[test]
fn surroundings_that_give_little_are_survived() {
    hold("surroundings");
}

#[test]
fn the_other_commands_take_no_nonsense() {
    hold("commands");
}

/// Runs every row, a few at a time, and fails with all rows that break a rule.
fn hold(name: &str) {
    let _turn = shared();
    let rows: Vec<Row> = section(include_str!("rows.txt"), name).map(row).collect();
    let peer = Peer::memcached("");
    let place = |number: usize| scratch(&format!("hostile-{name}-{number}"));
    let next = AtomicUsize::new(0);
    let broken = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(row) = rows.get(number) else { break };
                    // The machine is not busier than a row expects.
                    let busy = BUSY.0.lock().unwrap();
                    *BUSY.1.wait_while(busy, |busy| *busy == AT_ONCE_MAX).unwrap() += 1;
                    broken.lock().unwrap().extend(tried(row, &peer, &place(number)));
                    *BUSY.0.lock().unwrap() -= 1;
                    BUSY.1.notify_one();
                }
            });
        }
    });
    let broken: Vec<String> = broken.into_inner().unwrap();
    assert!(broken.is_empty(), "{} of {} rows:\n{}", broken.len(), rows.len(), broken.join("\n"));
}

/// Runs one row; returns its violations, with everything that it printed.
fn tried(row: &Row, peer: &Peer, folder: &Path) -> Option<String> {
    let &(before, line, code) = row;
    drop(fs::remove_dir_all(folder));
    fs::create_dir(folder).unwrap();
    let said = |stream: &str| folder.with_extension(stream);
    let file = |stream: &str| Stdio::from(File::create(said(stream)).unwrap());
    let mut shell = shell(before, line, peer);
    let shell = shell.current_dir(folder).stdout(file("out")).stderr(file("err"));
    let end = Watched::start(shell).end();
    let read = |stream| {
        let bytes = fs::read(said(stream)).unwrap();
        drop(fs::remove_file(said(stream)));
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let (out, err) = (read("out"), read("err"));
    drop(fs::remove_dir_all(folder));
    let mut broken = end.broken(code);
    broken.extend(err.contains("panicked").then(|| "it panicked".to_owned()));
    // A closed or full stderr shows nothing.
    if code == 2 && !before.contains("2>") {
        broken.extend(unclear(&out, &err));
    }
    let cut = |text: &str| text.chars().take(1500).collect::<String>();
    (!broken.is_empty()).then(|| {
        format!("## {}\n{before}; memtide {line}\n{}{}", broken.join(", "), cut(&err), cut(&out))
    })
}

/// The row as a shell's script. `$RUN` may hold a program that starts another one.
fn shell(before: &str, line: &str, peer: &Peer) -> Command {
    let environment = program();
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(format!("{before}\nexec $RUN \"$M\" {line}"));
    for (name, value) in environment.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.env("M", environment.get_program()).env_remove("RUN");
    shell.env("PEER", &peer.name).env("PORT", peer.address().port().to_string());
    shell.env("SHORT", "--ops-max 100 --keys 10").env("RATE", "--rate 1k --duration 300ms");
    shell.stdin(Stdio::null());
    shell
}

/// The fault in the output of a run that never began.
fn unclear(out: &str, err: &str) -> Option<String> {
    let announced = "no --server given";
    let said: Vec<&str> = err.lines().filter(|line| !line.contains(announced)).collect();
    let own = said.len() == 1 && said[0].starts_with("memtide: ");
    let parser = said.first().is_some_and(|line| line.starts_with("error: "));
    let commands = err.starts_with("Load generator for memcached");
    if !own && !parser && !commands {
        return Some("it does not say what is wrong in one sentence".to_owned());
    }
    if own && err.len() > SENTENCE_BYTES_MAX {
        return Some(format!("its sentence has {} bytes", err.len()));
    }
    (!out.is_empty()).then(|| "nothing was measured, but stdout is not empty".to_owned())
}

/// A child in its own process group, with its memory watched.
pub(crate) struct Watched {
    pub(crate) child: Child,
    group: libc::pid_t,
    started: Instant,
    memory_kib: u64,
}

/// The end of a child.
pub(crate) struct End {
    pub(crate) status: ExitStatus,
    late: bool,
    /// Largest resident memory.
    pub(crate) memory_kib: u64,
}

impl Watched {
    /// Starts it.
    pub(crate) fn start(command: &mut Command) -> Self {
        use std::os::unix::process::CommandExt;
        let child = command.process_group(0).spawn().unwrap();
        let group = child.id() as libc::pid_t;
        Self { child, group, started: Instant::now(), memory_kib: 0 }
    }

    /// The end of the child, if it has ended.
    fn ended(&mut self) -> Option<End> {
        let look = peak_kib(self.child.id());
        self.memory_kib = self.memory_kib.max(look);
        let late = self.started.elapsed() > PATIENCE;
        if late {
            drop(self.child.kill());
        }
        let mut status = 0;
        // SAFETY: all zeros are a valid usage of resources.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        let options = if late { 0 } else { libc::WNOHANG };
        // SAFETY: both places live as long as the call, and no other code waits for this child.
        let pid = unsafe { libc::wait4(self.group, &mut status, options, &mut usage) };
        if pid == 0 {
            return None;
        }
        assert_eq!(pid, self.group, "it is our child: {}", std::io::Error::last_os_error());
        // Kills everything that the shell left in the background.
        // SAFETY: the group is the child's, and holds only what it started.
        unsafe { libc::kill(-self.group, libc::SIGKILL) };
        // The system also counts the time before exec, when the memory was this test's.
        let usage_kib = usage.ru_maxrss as u64;
        if usage_kib > peak_kib(std::process::id()) {
            self.memory_kib = self.memory_kib.max(usage_kib);
        }
        Some(End { status: ExitStatus::from_raw(status), late, memory_kib: self.memory_kib })
    }

    /// Waits until it ends, or kills it when it has taken too long.
    pub(crate) fn end(mut self) -> End {
        loop {
            match self.ended() {
                Some(end) => return end,
                None => thread::sleep(LOOK_EVERY),
            }
        }
    }
}

impl End {
    /// The rules that this end breaks.
    pub(crate) fn broken(&self, code: i32) -> Vec<String> {
        let mut broken = Vec::new();
        match (self.late, self.status.code()) {
            (true, _) => broken.push(format!("it did not end within {PATIENCE:?}")),
            (false, None) => broken.push(format!("a signal ended it ({})", self.status)),
            (false, Some(other)) if other != code => {
                broken.push(format!("exit code {other} instead of {code}"));
            }
            (false, Some(_)) => {}
        }
        if self.memory_kib > MEMORY_KIB_MAX {
            broken.push(format!("it took {} MiB", self.memory_kib / 1024));
        }
        broken
    }
}

/// Largest resident memory of a process; 0 if it has gone.
pub(crate) fn peak_kib(id: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|words| words.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}
