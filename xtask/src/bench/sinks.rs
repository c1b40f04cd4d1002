//! The cost of outputs: each sink of measured operations alone, and beside a load all outputs
//! together, and a terminal and a page that is watched, in processor time of its workers. The
//! figures are printed; no bound is checked.

use super::SHAPE;
use super::figures::{Rounds, Run};
use super::readings::{number, read};
use super::server::{Cpus, Server, free_address};
use crate::commands::{json, released, succeeded};
use crate::files::at;
use crate::web;
use serde_json::Value;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, thread};

/// The number of rows of each sink alone.
const ROWS: &str = "2000000";
/// The load beside which outputs are written.
const LOAD: &[&str] =
    &["--rate", "20k", "--threads", "1", "--connections", "16", "--keys", "10000"];
/// The kinds of outputs and their files; points go to a separate receiver.
const FILES: &[(&str, &str)] = &[
    ("md", "run.md"),
    ("html", "run.html"),
    ("junit", "run.xml"),
    ("plot", "run.svg"),
    ("hlog", "run.hlog"),
    ("hgrm", "run.hgrm"),
    ("intervals", "intervals.csv"),
    ("intervals", "intervals.parquet"),
    ("samples", "samples.parquet"),
];

/// The path of the page that is watched.
const PAGE: &str = "bench";

/// What is written or shown beside a load.
#[derive(Clone, Copy)]
enum Beside {
    Nothing,
    Outputs,
    /// The screen of a terminal, and a page with a viewer.
    Views,
}

/// Measures both, the second in `rounds` interleaved rounds of `seconds` each.
///
/// # Errors
/// If something cannot be built, started or parsed.
pub(crate) fn run(root: &Path, rounds: u32, seconds: u32) -> Result<(), String> {
    crate::setup::install_missing(crate::setup::TESTS)?;
    let programs = released(root, &["memtide", "memtide-bench"])?;
    print!("{}", alone(&programs)?);
    let cpus = Cpus::inherited()?;
    let load = Load {
        server: Server::memcached(&cpus)?,
        receiver: Server::of_ours(&cpus, &programs, "discard-server")?,
        folder: programs.join("bench-sinks"),
        programs,
        seconds,
    };
    let mut figures = Rounds::of(["no outputs", "all outputs", "terminal, page viewed"]);
    let mut order = [(0, Beside::Nothing), (1, Beside::Outputs), (2, Beside::Views)];
    for round in 0..rounds {
        eprintln!("xtask: round {} of {rounds}", round + 1);
        for (client, beside) in order {
            figures.add(client, load.run(beside));
        }
        order.rotate_left(1);
    }
    println!(
        "\n20 000 operations per second on one worker, {rounds} rounds of {seconds} s; CPU of the \
         worker alone\n{}",
        figures.text()
    );
    Ok(())
}

/// A table of the sinks alone.
fn alone(programs: &Path) -> Result<String, String> {
    let program = programs.join("sink-parts");
    let found = json(Command::new(program).arg(ROWS).stderr(Stdio::inherit()))?;
    let mut text = format!(
        "{:<10}{:>16}{:>14}{:>26}{:>14}\n",
        "sink", "rows/s of a core", "bytes a row", "rows/s, gzip on the same", "zipped"
    );
    for sink in found.as_array().into_iter().flatten() {
        let figure = |name: &str| number(sink, name);
        let (rows, cpu_s, bytes) = (figure("/rows")?, figure("/cpu_s")?, figure("/bytes")?);
        let zipped = figure("/gzip_cpu_s").and_then(|cpu| Ok((cpu, figure("/gzip_bytes")?))).ok();
        let (both, part) = match zipped {
            Some((gzip_s, gzip_bytes)) => {
                (format!("{:.0}", rows / (cpu_s + gzip_s)), format!("{:.1}", gzip_bytes / rows))
            }
            None => ("–".to_owned(), "–".to_owned()),
        };
        let name = sink["sink"].as_str().unwrap_or("?");
        let (rate, size) = (rows / cpu_s, bytes / rows);
        text += &format!("{name:<10}{rate:>16.0}{size:>14.1}{both:>26}{part:>14}\n");
    }
    Ok(text)
}

/// A load with or without outputs.
struct Load {
    programs: PathBuf,
    server: Server,
    receiver: Server,
    /// The folder of the written files.
    folder: PathBuf,
    seconds: u32,
}

impl Load {
    fn run(&self, beside: Beside) -> Result<Run, String> {
        fs::create_dir_all(&self.folder).map_err(at(&self.folder))?;
        let record = match beside {
            Beside::Nothing => json(self.command("-").arg("--quiet").stderr(Stdio::inherit())),
            Beside::Outputs => json(self.outputs().stderr(Stdio::inherit())),
            Beside::Views => self.viewed(),
        };
        drop(fs::remove_dir_all(&self.folder));
        read(&SHAPE, &record?)
    }

    /// The load, whose record goes to `place`.
    fn command(&self, place: &str) -> Command {
        let mut memtide = Command::new(self.programs.join("memtide"));
        memtide.args(["run", "--json", place, "--server"]);
        memtide.arg(self.server.address.to_string()).args(LOAD);
        memtide.arg("--duration").arg(format!("{}s", self.seconds));
        memtide
    }

    fn outputs(&self) -> Command {
        let mut memtide = self.command("-");
        memtide.arg("--quiet");
        for (kind, file) in FILES {
            memtide.arg("--out").arg(format!("{kind}={}", self.folder.join(file).display()));
        }
        let receiver = self.receiver.address;
        memtide.arg("--out").arg(format!("influx=http://{receiver}/write?db=it"));
        memtide
    }

    /// A load at a terminal, with a page that a viewer reads.
    fn viewed(&self) -> Result<Value, String> {
        let (record, address) = (self.folder.join("record.json"), free_address()?);
        let mut memtide = self.command(&record.display().to_string());
        memtide.args(["--ui", "--web-linger", "0s"]).arg(format!("--web={address}/{PAGE}"));
        let words = [memtide.get_program()].into_iter().chain(memtide.get_args());
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        let mut terminal = Command::new("script");
        terminal.args(["--quiet", "--return", "--command", &words.join(" "), "/dev/null"]);
        terminal.env("TERM", "xterm").env_remove("CI").stdin(Stdio::null());
        let viewer = thread::spawn(move || view(address));
        let ended = succeeded(&mut terminal);
        let viewed = viewer.join().map_err(|_| "the viewer panicked".to_owned())?;
        ended?;
        match viewed {
            0 => Err("no viewer has seen the page".to_owned()),
            _ => {
                serde_json::from_slice(&crate::files::read(&record)?).map_err(|why| why.to_string())
            }
        }
    }
}

/// Reads the page's events to their end; returns the number of bytes.
fn view(address: SocketAddr) -> u64 {
    let Ok(mut stream) = web::ask(address, &format!("/{PAGE}/live")) else { return 0 };
    let (mut bytes, mut count) = ([0; 65_536], 0);
    // A page that ends with its run may reset the connection.
    while let Ok(read @ 1..) = stream.read(&mut bytes) {
        count += read as u64;
    }
    count
}
