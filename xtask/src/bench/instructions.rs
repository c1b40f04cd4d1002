//! The number of instructions of each part of the engine's work, compared with recorded figures.
//! Other load on the machine does not change them.
//! Recorded figures belong to one compiler; under another one they are shown and not judged.

use crate::{commands, files};
use serde_json::{Map, json};
use std::path::Path;
use std::process::Command;

/// The parts that `engine-parts` has.
const PARTS: [&str; 11] = [
    "next",
    "encode",
    "decode",
    "record",
    "turn",
    "deep turn",
    "key of a multiget",
    "meta decode",
    "meta turn",
    "meta deep turn",
    "meta multiget",
];
/// Each part is run this many times, and again with more; the difference is free of start-up costs.
const TIMES: [u64; 2] = [10_000, 60_000];
/// The growth of a part, in percent, above which it must be recorded again.
const GROWTH_MAX_PERCENT: f64 = 3.0;
/// Makes the C library copy bytes in the same way on every processor.
const PLAIN_LIBRARY: &str = "glibc.cpu.hwcaps=-AVX512VL,-AVX512BW,-AVX2,-AVX,-ERMS,-FSRM,\
                             -AVX_Fast_Unaligned_Load";
/// The file of recorded figures.
const RECORDED: &str = "bench/instructions.json";

/// Counts every part. With `record` the figures become the recorded ones.
///
/// # Errors
/// If a part has grown by more than is allowed, or cannot be counted.
pub(crate) fn run(root: &Path, record: bool) -> Result<(), String> {
    crate::setup::install_missing(crate::setup::INSTRUCTIONS)?;
    let program = commands::released(root, &["memtide-bench"])?.join("engine-parts");
    let mut counted = Map::new();
    for part in PARTS {
        let [few, many] = TIMES.map(|times| count(&program, part, times));
        let per_operation = (many? - few?) as f64 / (TIMES[1] - TIMES[0]) as f64;
        counted.insert(part.to_owned(), json!(per_operation.round()));
    }
    let file = root.join(RECORDED);
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let compiler = commands::told(Command::new(rustc).arg("--version"))?;
    if record {
        let all = json!({"rustc": compiler, "instructions": counted});
        return files::put(&file, format!("{all:#}\n").as_bytes());
    }
    let recorded = files::json(&file)?;
    let comparable = recorded["rustc"] == json!(compiler);
    println!("{:<20}{:>12}{:>12}{:>10}", "part", "recorded", "now", "growth");
    let mut grown = Vec::new();
    for (part, now) in &counted {
        let now = now.as_f64().expect("it was made of a number");
        let before = recorded["instructions"][part].as_f64().unwrap_or(f64::NAN);
        let growth_percent = (now / before - 1.0) * 100.0;
        println!("{part:<20}{before:>12}{now:>12}{growth_percent:>9.1}%");
        // A part that was never recorded has grown, too.
        if growth_percent.is_nan() || growth_percent > GROWTH_MAX_PERCENT {
            grown.push(part.as_str());
        }
    }
    if !comparable {
        println!("recorded with {}, counted with {compiler}: not judged", recorded["rustc"]);
        return Ok(());
    }
    if grown.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} took over {GROWTH_MAX_PERCENT} % more instructions than recorded; make it cheaper, or \
         say in the commit why it must cost more and run `cargo xtask bench --instructions \
         --record`",
        grown.join(", ")
    ))
}

/// Instructions of a whole run of the program.
fn count(program: &Path, part: &str, times: u64) -> Result<u64, String> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.env("GLIBC_TUNABLES", PLAIN_LIBRARY).arg(program).args([part, &times.to_string()]);
    let output = commands::output(&mut valgrind)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let number = said.lines().find_map(|line| line.split_once("Collected : "));
    let number = number.and_then(|(_, number)| number.trim().parse().ok());
    number.ok_or_else(|| format!("valgrind counted nothing of {part}: {said}"))
}
