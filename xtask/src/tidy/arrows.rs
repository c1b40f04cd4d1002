//! The allowed dependencies between crates and on outside libraries: the table below is the
//! architecture, and the manifests are compared with it. Dev-dependencies are free: a test may know
//! more than the code that it tests.

use super::Finding;
use serde_json::Value;

/// A package, memtide's own packages that it uses, and the libraries from outside; all without the
/// prefix `memtide-`.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("base", "", ""),
    ("codec", "", ""),
    ("workload", "base", "rand_distr rand_core strsim"),
    ("metrics", "base", "hdrhistogram flate2 base64"),
    // The logarithm of the gamma function; libm is in the tree by rand_distr.
    ("belief", "base metrics", "libm serde"),
    ("server", "base codec", ""),
    ("world", "base codec workload metrics", ""),
    ("engine", "base codec workload metrics world", ""),
    ("scenario", "base workload metrics", "serde serde_json toml strsim sha2"),
    ("record", "base workload metrics belief scenario", "serde serde_json serde_path_to_error"),
    ("merge", "base metrics scenario record", "serde_json"),
    (
        "host",
        "base workload metrics world engine server",
        "rustix socket2 signal-hook signal-hook-registry libc io-uring",
    ),
    ("tls", "base codec world", "rustls rustls-webpki rcgen"),
    ("sim", "base workload metrics world engine server", ""),
    ("run", "base workload metrics world scenario record belief", ""),
    (
        "report",
        "base metrics scenario record belief",
        "plotters png epaint_default_fonts quick-xml maud ratatui",
    ),
    (
        "cluster",
        "base scenario record merge",
        "prost tonic tonic-prost tokio tokio-rustls hyper hyper-util rcgen ring subtle ipnet \
         rustix toml",
    ),
    (
        "sinks",
        "base scenario record report",
        "serde_json flate2 parquet ureq base64 ratatui rustix axum tokio futures-core",
    ),
    ("compat", "base metrics scenario record", ""),
    (
        "session",
        "base workload server world scenario record belief host run report sinks sim compat \
         cluster tls",
        "serde_json",
    ),
    (
        "memtide",
        "base workload server world scenario record merge belief host run report sinks sim \
         compat cluster session",
        "clap clap_complete clap_mangen glob serde_json",
    ),
    ("xtask", "", "clap proc-macro2 rustix serde_json signal-hook"),
    (
        "bench",
        "base codec workload metrics world engine scenario record run host sinks tls",
        "clap libc rustix io-uring rustls serde_json",
    ),
    ("loom", "", ""),
    ("fuzz", "base codec server scenario record cluster world tls", "toml prost"),
];

/// Findings about the dependencies of a workspace, given as the output of `cargo metadata`: those
/// that the table does not allow, and permissions of the table that no package uses.
pub(super) fn check(metadata: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |package: &str, what, (why, instead)| {
        findings.push(Finding::new(&manifest(package), 0, what, why, instead));
    };
    let none = (
        "an arrow that may be drawn will be drawn; the table says what is there",
        "take it out of xtask/src/tidy/arrows.rs",
    );
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    for package in packages() {
        let why = "what a crate cannot know, it cannot come to depend on";
        let name = package["name"].as_str().unwrap_or_default();
        let Some((row, inside, outside)) = ALLOWED.iter().find(|row| row.0 == short(name)) else {
            let what = format!("the package `{name}` has no row in the table of arrows");
            found(name, what, (why, "decide its layer, and add it to xtask/src/tidy/arrows.rs"));
            continue;
        };
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let dependencies = dependencies.filter(|dependency| dependency["kind"] != "dev");
        let used: Vec<&str> = dependencies.filter_map(|it| it["name"].as_str()).collect();
        for target in &used {
            let is_inside = *target == "memtide" || target.starts_with("memtide-");
            let (list, instead) = match is_inside {
                true => (inside, "let the crate above hand it down, or move it below both"),
                false => (outside, "do without, or argue for it in a page under docs/design"),
            };
            if !list.split(' ').any(|allowed| allowed == short(target)) {
                found(name, format!("`{name}` depends on `{target}`"), (why, instead));
            }
        }
        for target in inside.split(' ').chain(outside.split(' ')).filter(|it| !it.is_empty()) {
            if !used.iter().any(|used| short(used) == target) {
                found(row, format!("`{row}` may depend on `{target}`, and does not"), none);
            }
        }
    }
    for (row, ..) in ALLOWED {
        if !packages().any(|package| package["name"].as_str().map(short) == Some(row)) {
            found(row, format!("the table of arrows has a row for `{row}`"), none);
        }
    }
    findings
}

pub(super) fn short(package: &str) -> &str {
    package.strip_prefix("memtide-").unwrap_or(package)
}

pub(super) fn manifest(package: &str) -> String {
    match short(package) {
        part @ ("xtask" | "bench" | "fuzz" | "loom") => format!("{part}/Cargo.toml"),
        part => format!("crates/{part}/Cargo.toml"),
    }
}
