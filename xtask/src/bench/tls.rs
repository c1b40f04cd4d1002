//! Loads over TLS: their server, their shapes with the bounds that must hold, and the memory of
//! connections that have nothing to do. The bounds are printed beside the figures, not judged.

use super::figures::Rounds;
use super::readings::number;
use super::server::{Cpus, Server, free_address, on_cpu};
use super::{Bench, SHAPE, Shape, Which};
use crate::commands::{cargo, json, succeeded, told};
use std::path::Path;
use std::process::{Command, Stdio};

const CLOSED: Shape = Shape { server: Which::Tls, ..SHAPE };
const HANDSHAKES: Shape =
    Shape { calls: 1, bound: "handshakes per CPU second at least .9 of bare-tls'", ..CLOSED };

/// Sliding windows, and connections of one get each.
pub(super) const SHAPES: &[Shape] = &[
    Shape { name: "16 connections, depth 1, TLS", bound: SHALLOW, ..CLOSED },
    Shape { name: "256 connections, depth 1, TLS", connections: 256, bound: SHALLOW, ..CLOSED },
    Shape { name: "16 connections, depth 16, TLS", depth: 16, bound: DEEP, ..CLOSED },
    Shape { name: "full handshakes, TLS", resumes: false, ..HANDSHAKES },
    Shape { name: "resumed handshakes, TLS", ..HANDSHAKES },
];

const SHALLOW: &str = "memtide's CPU ratio at most 1.10; .75 of memtier's";
const DEEP: &str = "memtide's CPU ratio at most 1.15; .75 of memtier's";

/// What the rounds of a shape say beside their table, with the bound.
pub(super) fn notes(shape: &Shape, rounds: &Rounds) -> String {
    let beside = match shape.is_churn() {
        true => rounds.per_cpu_s("handshakes"),
        false => rounds.cpu_beside(MEMTIER),
    };
    let missing = match beside.is_empty() {
        true => "memtier_benchmark is not on PATH, or has no figures: not compared\n",
        false => "",
    };
    format!("{beside}{missing}bound: {}\n", shape.bound)
}

const MEMTIER: &str = "memtier_benchmark";

/// Connections of which the memory is measured: many, and few.
const IDLE: [u32; 2] = [10_000, 16];

/// A memcached that speaks TLS, and plain text at another port. Its certificate lies beside the
/// programs.
pub(super) fn server(cpus: &Cpus, programs: &Path) -> Result<Server, String> {
    let mut maker = Command::new(programs.join("bare-tls"));
    succeeded(maker.arg("--certificate").arg("--folder").arg(programs))?;
    let (address, plain) = (free_address()?, free_address()?);
    let (programs, also) = (programs.display(), format!("notls:{plain}"));
    let files = format!("ssl_chain_cert={programs}/server.pem,ssl_key={programs}/server.key");
    let words = ["-Z", "-o", &files, "-l", &also];
    Server::memcached_at(cpus, (address, plain), &words)
}

/// Lines about the memory that an idle connection takes, and the library's allocations.
pub(super) fn memory(bench: &Bench<'_>) -> Result<String, String> {
    let mut text = String::new();
    for (name, words) in [("memtide, TLS", "--tls"), ("memtide, plain text", "")] {
        let [many, few] = IDLE.map(|connections| idle(bench, words, connections));
        let each_kib = (many? - few?) / f64::from(IDLE[0] - IDLE[1]) / 1024.0;
        text += &format!("{name}: {each_kib:.1} KiB for each of {} idle connections\n", IDLE[0]);
    }
    text += "bound: 48 KiB over TLS\n";
    for (name, words) in [
        ("operation at depth 1", "--connections 16"),
        ("operation at depth 16", "--connections 16 --depth 16"),
        ("full handshake and a get", "--churn --full"),
        ("resumed handshake and a get", "--churn"),
    ] {
        text += &format!("rustls allocates {:.2} times per {name}\n", allocations(bench, words)?);
    }
    Ok(text)
}

/// Lines about the allocations of memtide's own code on the path of an operation, and of the
/// library's there, as an optimised build of the engine's test counts them.
pub(super) fn own_allocations(root: &Path) -> Result<String, String> {
    let words = "test --release --quiet --package memtide-engine --test alloc -- --nocapture";
    let said = told(cargo(root).args(words.split(' ')).arg("turns_over_tls"))?;
    let lines = said.lines().filter(|line| line.contains("allocations per operation"));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    (!text.is_empty()).then_some(text).ok_or_else(|| format!("no allocations in: {said}"))
}

/// The peak memory of a memtide that uses its connections rarely.
fn idle(bench: &Bench<'_>, words: &str, connections: u32) -> Result<f64, String> {
    let Server { address, plain, .. } = *bench.server(&CLOSED);
    let mut memtide = on_cpu(bench.cpus.client);
    memtide.arg(bench.programs.join("memtide")).args(["run", "--quiet", "--json", "-"]);
    let server = if words.is_empty() { plain } else { address };
    memtide.args(["--server", &server.to_string(), "--connections", &connections.to_string()]);
    memtide.args(["--rate", "1000", "--threads", "1", "--keys", "1000", "--timeout", "30s"]);
    memtide
        .args(["--duration", "3s", "--warmup", "0", "--io", "epoll"])
        .args(words.split(' ').filter(|it| !it.is_empty()));
    if !words.is_empty() {
        memtide.arg("--tls-ca").arg(bench.programs.join("server.pem"));
    }
    number(&json(memtide.stderr(Stdio::inherit()))?, "/client/rss_max_bytes")
}

/// The allocations of the bare client for each operation or connection.
fn allocations(bench: &Bench<'_>, words: &str) -> Result<f64, String> {
    let mut bare = on_cpu(bench.cpus.client);
    bare.arg(bench.programs.join("bare-tls")).arg("--folder").arg(&bench.programs);
    bare.args(["--server", &bench.server(&CLOSED).address.to_string(), "--seconds", "1"]);
    let found = json(bare.args(words.split(' ')).stderr(Stdio::inherit()))?;
    let count = number(&found, "/ops").or_else(|_| number(&found, "/connections"))?;
    Ok(number(&found, "/allocations")? / count)
}
