//! The figures of a run, parsed from what a client printed or counted by the kernel and the server.

use super::Shape;
use super::figures::Run;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Where the figures of a program come from.
pub(super) enum Figures {
    /// The JSON that a program of ours prints.
    Printed,
    /// The kernel and the server count its work, in a window after its start-up. Response times are
    /// parsed from its output, if it prints both percentiles.
    Counted(Option<ReadResponse>),
}

/// The parser of the median and the 99th percentile of response in µs, from a program's output and
/// its file.
pub(super) type ReadResponse = fn(&str, &Path) -> Option<(f64, f64)>;

/// The figures that a program of ours prints: a record, or those of a bare client. With gets of
/// many keys they are per key; under connection churn, per connection.
pub(super) fn read(shape: &Shape, said: &Value) -> Result<Run, String> {
    let is_bare = said.get("wall_s").is_some();
    if is_bare { read_bare(shape, said) } else { read_memtide(shape, said) }
}

fn read_bare(shape: &Shape, said: &Value) -> Result<Run, String> {
    let ops = match shape.calls {
        0 => number(said, "/ops")? * f64::from(shape.multiget),
        _ => number(said, "/connections")?,
    };
    Ok(Run {
        ops_per_s: ops / number(said, "/wall_s")?,
        cpu_s_per_mops: cpu_s(said, "")? / ops * 1e6,
        rss_max_bytes: number(said, "/rss_max_bytes")?,
        response_us: pair_us(said, "/p50_ns", "/p99_ns"),
        lag_us: None,
    })
}

fn read_memtide(shape: &Shape, record: &Value) -> Result<Run, String> {
    let (ops, ops_per_s, response_us) = if shape.is_churn() {
        let completed = number(record, "/churn/measure/completed")?;
        let lifetime = pair_us(record, "/churn/lifetime/p50_ns", "/churn/lifetime/p99_ns");
        (completed, completed / number(record, "/measured_s")?, lifetime)
    } else {
        let keys = f64::from(shape.multiget);
        let answered = number(record, "/totals/answered")?;
        let response = pair_us(record, "/response/all/p50_ns", "/response/all/p99_ns");
        (answered * keys, number(record, "/rate/achieved_per_s")? * keys, response)
    };
    Ok(Run {
        ops_per_s,
        cpu_s_per_mops: cpu_s(record, "/client")? / ops * 1e6,
        rss_max_bytes: number(record, "/client/rss_max_bytes")?,
        response_us,
        lag_us: pair_us(record, "/lag/all/p50_ns", "/lag/all/p99_ns").filter(|_| !shape.is_churn()),
    })
}

/// The number at a JSON pointer in a program's output.
pub(super) fn number(value: &Value, pointer: &str) -> Result<f64, String> {
    let number = value.pointer(pointer).and_then(Value::as_f64);
    number.ok_or_else(|| format!("the client's answer has no number at {pointer}"))
}

/// Two numbers of nanoseconds as µs; `None` without both.
fn pair_us(value: &Value, first: &str, second: &str) -> Option<(f64, f64)> {
    let us = |pointer| Some(number(value, pointer).ok()? / 1e3);
    us(first).zip(us(second))
}

fn cpu_s(value: &Value, pointer: &str) -> Result<f64, String> {
    let user_s = number(value, &format!("{pointer}/cpu_user_s"))?;
    Ok(user_s + number(value, &format!("{pointer}/cpu_system_s"))?)
}

/// The figures below `p50` and `p99` in the row of gets.
pub(super) fn of_table(text: &str, _: &Path) -> Option<(f64, f64)> {
    let names = text.lines().find(|line| line.starts_with("#type"))?;
    let row = text.lines().find(|line| line.starts_with("read "))?;
    let column = |name: &str| {
        let place = names.split_whitespace().position(|it| it == name)?;
        row.split_whitespace().nth(place)?.parse::<f64>().ok()
    };
    column("p50").zip(column("p99"))
}

/// Only its file can be parsed by programs.
pub(super) fn of_memtier(_: &str, file: &Path) -> Option<(f64, f64)> {
    of_memtier_file(&fs::read_to_string(file).ok()?)
}

fn of_memtier_file(text: &str) -> Option<(f64, f64)> {
    let all: Value = serde_json::from_str(text).ok()?;
    let us = |name| {
        let name = format!("/ALL STATS/Totals/Percentile Latencies/{name}");
        Some(all.pointer(&name)?.as_f64()? * 1e3)
    };
    us("p50.00").zip(us("p99.00"))
}

/// Its output is lines of JSON, one of which is the result.
pub(super) fn of_cannon(text: &str, _: &Path) -> Option<(f64, f64)> {
    let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let result = lines.rfind(|line| line.get("throughput").is_some())?;
    let us = |pointer| result.pointer(pointer).and_then(Value::as_f64);
    us("/get/p50_us").zip(us("/get/p99_us"))
}

#[cfg(test)]
mod tests;
