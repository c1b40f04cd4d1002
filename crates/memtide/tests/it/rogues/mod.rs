//! A server that misbehaves in every way its author could think of, at every stage of a run:
//! memtide names the fault and ends, in bounded time and memory, and never panics. Servers that
//! only withhold something are in `proxies` and `mute`.

mod deeds;
mod proxies;
mod mute;

use crate::hostile::Watched;
use crate::peer::rogue::Rogue;
use crate::prelude::*;
use deeds::{ANY, DEEDS, Deed, Stand};
use std::collections::HashMap;
use std::net::TcpStream;

/// Number of runs at the same time.
const BESIDE: usize = 8;

/// Stage of a run at which the server begins to misbehave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Greeting,
    Stats,
    Probe,
    Fill,
    Load,
    Farewell,
}

impl Stage {
    const ALL: [Self; 6] =
        [Self::Greeting, Self::Stats, Self::Probe, Self::Fill, Self::Load, Self::Farewell];

    fn flags(self) -> &'static str {
        match self {
            Self::Greeting => "--user u --password p --load never",
            Self::Stats | Self::Load | Self::Farewell => "--load never",
            Self::Probe => "--load auto",
            Self::Fill => "--load always",
        }
    }

    /// True if the server has reached this stage with this line, after it has answered `gets` gets.
    fn begins(self, line: &str, gets: usize) -> bool {
        match self {
            Self::Greeting => line.starts_with("set auth "),
            Self::Stats => line == "stats",
            Self::Probe | Self::Load => line.starts_with("get "),
            Self::Fill => line.starts_with("set "),
            Self::Farewell => line == "stats" && gets > 0,
        }
    }
}

#[test]
fn a_server_that_misbehaves_is_named_at_every_stage_in_bounded_time_and_memory() {
    let _turn = shared();
    assert!(DEEDS.len() >= 25);
    let cases: Vec<(Stage, &'static Deed)> = Stage::ALL
        .into_iter()
        .flat_map(|stage| DEEDS.iter().map(move |deed| (stage, deed)))
        .collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..BESIDE {
            scope.spawn(|| {
                while let Some(&(stage, deed)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = try_case(stage, deed) {
                        wrong.lock().unwrap().push(format!("{stage:?}, {}: {why}", deed.name));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// Runs the program against a server that does `deed` from `stage` on.
fn try_case(stage: Stage, deed: &'static Deed) -> Result<(), String> {
    let held = Held::default();
    let over = Arc::new(AtomicBool::new(false));
    let end = Arc::clone(&over);
    let server = Rogue::raw(move |stream| drop(converse(stream, (stage, deed), &held, &end)));
    let line = format!(
        "run -s {} --timeout 1500ms --duration 300ms --rate 500 --keys 50 --key-size 10 \
         --mix get=1 --connections 2 --verify 1 --json - {}",
        server.name,
        stage.flags()
    );
    let mut command = program();
    command.args(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watched = Watched::start(&mut command);
    let out = read_all(watched.child.stdout.take().unwrap());
    let err = read_all(watched.child.stderr.take().unwrap());
    let end = watched.end();
    over.store(true, Ordering::Release);
    let (out, err) = (out.join().unwrap(), err.join().unwrap());
    let code = end.status.code().unwrap_or(-1);
    let mut broken = end.broken(code);
    if err.contains("panicked") || !matches!(code, 0 | 1 | 3) {
        broken.push("an end of another kind".to_owned());
    }
    let all = format!("exit {code}, {} KiB; {err}", end.memory_kib);
    if !broken.is_empty() {
        return Err(format!("{}: {all}", broken.join(", ")));
    }
    if !out.is_empty() {
        read_record(&out).map_err(|why| format!("{why} in the record: {all}"))?;
    }
    let expect = deed.at(stage);
    let said = format!("{out}{err}");
    if !matches!(expect.code, ANY) && expect.code != code {
        return Err(format!("exit {} was expected: {all}", expect.code));
    }
    if code == 3 && !err.contains(&server.name) {
        return Err(format!("the server is not named: {all}"));
    }
    match expect.word.split('|').any(|word| said.contains(word)) {
        true => Ok(()),
        false => Err(format!("'{}' is not said: {all}", expect.word)),
    }
}

fn read_all(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = Vec::new();
        drop(from.read_to_end(&mut text));
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// Serves one connection: correctly until the stage is reached, then as the deed says.
fn converse(
    stream: TcpStream,
    (stage, deed): (Stage, &Deed),
    held: &Held,
    over: &AtomicBool,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut value = Vec::new();
        if let ["set", _, .., bytes] = words[..] {
            value = vec![0; bytes.parse::<usize>().unwrap() + 2];
            reader.read_exact(&mut value)?;
        }
        let begun = stage.begins(line.trim_end(), held.gets.load(Ordering::Acquire));
        let honest = held.answer(&words, value);
        let stand = Stand { stream: &stream, honest: &honest, line: line.trim_end(), over };
        if begun {
            (deed.act)(&stand)?;
        } else {
            stand.say(&honest)?;
        }
    }
}

/// Items and counters of a good server.
#[derive(Default)]
struct Held {
    values: Mutex<HashMap<String, Vec<u8>>>,
    gets: AtomicUsize,
    sets: AtomicUsize,
}

impl Held {
    /// The reply of a good server.
    fn answer(&self, words: &[&str], value: Vec<u8>) -> Vec<u8> {
        let count = |of: &AtomicUsize| of.load(Ordering::Acquire);
        let mut values = self.values.lock().unwrap();
        match *words {
            ["stats"] => format!(
                "STAT pid 1\r\nSTAT curr_items {}\r\nSTAT cmd_get {}\r\nSTAT cmd_set {}\r\nEND\r\n",
                values.len(),
                count(&self.gets),
                count(&self.sets)
            )
            .into_bytes(),
            ["version"] => b"VERSION 1.6.0\r\n".to_vec(),
            ["set", "auth", ..] => b"STORED\r\n".to_vec(),
            ["set", key, ..] => {
                self.sets.fetch_add(1, Ordering::AcqRel);
                values.insert(key.to_owned(), value);
                b"STORED\r\n".to_vec()
            }
            ["get", key] => {
                self.gets.fetch_add(1, Ordering::AcqRel);
                let Some(value) = values.get(key) else { return b"END\r\n".to_vec() };
                let head = format!("VALUE {key} 0 {}\r\n", value.len() - 2);
                [head.as_bytes(), value, b"END\r\n"].concat()
            }
            _ => b"ERROR\r\n".to_vec(),
        }
    }
}
