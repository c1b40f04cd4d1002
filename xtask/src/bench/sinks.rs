//! The cost of outputs: each sink of measured operations alone, and all outputs together beside a
//! load, in processor time of its workers. The figures are printed; no bound is checked.

use super::figures::{Rounds, Run};
use super::readings::{number, read};
use super::server::{Cpus, Server};
use super::{SHAPE, programs};
use crate::commands::json;
use crate::files::at;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

/// Measures both, the second in `rounds` interleaved rounds of `seconds` each.
///
/// # Errors
/// If something cannot be built, started or parsed.
pub(crate) fn run(root: &Path, rounds: u32, seconds: u32) -> Result<(), String> {
    let programs = programs(root)?;
    print!("{}", alone(&programs)?);
    let cpus = Cpus::inherited()?;
    let load = Load {
        server: Server::memcached(&cpus)?,
        receiver: Server::of_ours(&cpus, &programs, "discard-server")?,
        folder: programs.join("bench-sinks"),
        programs,
        seconds,
    };
    let mut figures = Rounds::of(["no outputs", "all outputs"]);
    for round in 0..rounds {
        eprintln!("xtask: round {} of {rounds}", round + 1);
        let order = if round % 2 == 0 { [false, true] } else { [true, false] };
        for has_outputs in order {
            figures.add(usize::from(has_outputs), load.run(has_outputs));
        }
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
    fn run(&self, has_outputs: bool) -> Result<Run, String> {
        let mut memtide = Command::new(self.programs.join("memtide"));
        memtide.args(["run", "--quiet", "--json", "-", "--server"]);
        memtide.arg(self.server.address.to_string()).args(LOAD);
        memtide.arg("--duration").arg(format!("{}s", self.seconds));
        if has_outputs {
            fs::create_dir_all(&self.folder).map_err(at(&self.folder))?;
            for (kind, file) in FILES {
                memtide.arg("--out").arg(format!("{kind}={}", self.folder.join(file).display()));
            }
            let receiver = self.receiver.address;
            memtide.arg("--out").arg(format!("influx=http://{receiver}/write?db=it"));
        }
        let record = json(memtide.stderr(Stdio::inherit()));
        drop(fs::remove_dir_all(&self.folder));
        read(&SHAPE, &record?)
    }
}
