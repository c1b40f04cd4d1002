//! Output of each face on each stream and its exit code, for command lines as drivers use them:
//! stderr unread, merged with stdout, killed by every signal, by every name. Figures are masked.
//!
//! `UPDATE_DOCS=1 cargo test -p memtide --test it streams::` rewrites the listings; read the
//! difference before keeping it. A new command line is added to its listing by hand, as `$ line`.

mod lines;
mod mask;
mod unread;

use crate::prelude::*;
use mask::masked;

/// Number of command lines that run at the same time.
const AT_ONCE: usize = 3;
/// Operations that a server has seen when a run that is to be killed is in progress. A scan with
/// steps of a second at 500/s has printed its first row by then.
const UNDER_WAY: u64 = 800;

/// A driver's command line.
///
/// Variables, `2>&1` and a signal that kills the run may precede the program. `@` is a server, `@h`
/// its host and `@p` its port. A program with a slash is a link in a folder; one without is a
/// subcommand.
struct Call {
    merged: bool,
    killed: Option<Signal>,
    command: Command,
}

impl Call {
    fn of(line: &str, peer: &Peer) -> Self {
        let address = peer.address();
        let line = line
            .replace("@h", &address.ip().to_string())
            .replace("@p", &address.port().to_string())
            .replace('@', &peer.name);
        let mut words = line.split_whitespace().peekable();
        let (mut merged, mut killed, mut variables) = (false, None, Vec::new());
        let name = loop {
            match words.next().unwrap() {
                "2>&1" => merged = true,
                "INT" => killed = Some(Signal::INT),
                "TERM" => killed = Some(Signal::TERM),
                "HUP" => killed = Some(Signal::HUP),
                word => match word.split_once('=') {
                    Some(pair) => variables.push(pair),
                    None => break word,
                },
            }
        };
        let mut command = if name.contains('/') { linked(name) } else { program() };
        if !name.contains('/') {
            command.arg(name);
        }
        command.args(words).envs(variables);
        if merged {
            command = in_one_stream(&command);
        }
        Self { merged, killed, command }
    }

    fn carry_out(mut self, peer: &Peer) -> Finished {
        let running = Running::of(&mut self.command);
        if let Some(signal) = self.killed {
            let seen = || peer.figure("cmd_get") + peer.figure("cmd_set");
            let started = Instant::now();
            while seen() < UNDER_WAY {
                assert!(started.elapsed().as_secs() < 120, "the run does not get under way");
                thread::sleep(Duration::from_millis(10));
            }
            // As timeout(1) sends it.
            running.signal(signal);
            running.signal(signal);
        }
        let ran = running.finish();
        assert!(!self.merged || ran.err.is_empty(), "{ran}");
        ran
    }
}

/// The program, called by a link `folder/name`.
fn linked(link: &str) -> Command {
    let place = links().join(link);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    // Another test may create the same link.
    drop(std::os::unix::fs::symlink(program().get_program(), &place));
    let mut command = Command::new(place);
    command.env_remove("MEMTIDE_NOTES").env_remove("MEMTIDE_MCPERF");
    command
}

fn links() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("it-streams")
}

/// Runs the command under a shell that merges its streams.
fn in_one_stream(command: &Command) -> Command {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.to_string_lossy())).collect();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("exec {} 2>&1", words.join(" ")));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

/// The end and the output of a command line, with figures masked.
fn told(line: &str) -> String {
    let peer = Peer::memcached("");
    let ran = Call::of(line, &peer).carry_out(&peer);
    let how = match (ran.code, ran.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("killed by {signal}"),
        (None, None) => "neither an exit nor a signal".to_owned(),
    };
    let mut text = format!("$ {line}\n{how}\n");
    for (stream, said) in [("stdout", &ran.out), ("stderr", &ran.err)] {
        for line in masked(&said.replace(&peer.name, "@"), &links()) {
            text += format!("{stream}|{line}").trim_end();
            text.push('\n');
        }
    }
    text
}

/// Asserts that each command line of the listing `name` has the result that follows it there.
fn expect(name: &str) {
    let _turn = shared();
    let path = format!("{}/tests/it/streams/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let kept = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = kept.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(lines.len() >= 10, "{name} lists too little");
    let next = AtomicUsize::new(0);
    let mut parts: Vec<(usize, String)> = thread::scope(|scope| {
        let each = || {
            let mut told_of = Vec::new();
            while let Some((at, line)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, lines.get(at)?)))
            {
                told_of.push((at, told(line)));
            }
            told_of
        };
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(each)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    parts.sort();
    let listing: String = parts.into_iter().map(|(_, part)| part).collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return fs::write(&path, &listing).unwrap();
    }
    for (now, then) in listing.split("\n$ ").zip(kept.split("\n$ ")) {
        assert_eq!(now.trim_end(), then.trim_end(), "{name} differs; UPDATE_DOCS=1 writes it anew");
    }
    assert_eq!(listing.len(), kept.len(), "{name} has other text; UPDATE_DOCS=1 writes it anew");
}
