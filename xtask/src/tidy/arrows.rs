//! The allowed dependencies: between crates, on outside libraries, and between the modules of a
//! crate.
//!
//! The table below is the architecture, and the manifests are compared with it. Dev-dependencies
//! are free: a test may know more than the code that it tests.

use super::source::Source;
use super::{Finding, Rule};
use serde_json::Value;
use std::collections::HashMap;

struct Arrows {
    package: &'static str,
    /// memtide's own packages, without their prefix.
    inside: &'static [&'static str],
    outside: &'static [&'static str],
}

const ALLOWED: &[Arrows] = &[
    Arrows { package: "base", inside: &[], outside: &[] },
    Arrows { package: "codec", inside: &[], outside: &[] },
    Arrows { package: "workload", inside: &["base"], outside: &["rand_distr", "rand_core"] },
    Arrows {
        package: "metrics",
        inside: &["base"],
        outside: &["hdrhistogram", "flate2", "base64"],
    },
    Arrows { package: "server", inside: &["base", "codec"], outside: &[] },
    Arrows { package: "engine", inside: &["base", "codec", "workload", "metrics"], outside: &[] },
    Arrows {
        package: "schema",
        inside: &["base", "workload", "metrics"],
        outside: &["serde", "serde_json", "serde_path_to_error", "toml", "strsim", "sha2"],
    },
    Arrows {
        package: "host",
        inside: &["base", "workload", "metrics", "engine", "server"],
        outside: &["rustix", "socket2", "signal-hook", "libc", "io-uring"],
    },
    Arrows {
        package: "sim",
        inside: &["base", "workload", "metrics", "engine", "server"],
        outside: &[],
    },
    Arrows {
        package: "run",
        inside: &["base", "workload", "metrics", "engine", "schema"],
        outside: &[],
    },
    Arrows {
        package: "report",
        inside: &["base", "metrics", "schema"],
        outside: &["plotters", "png", "epaint_default_fonts", "quick-xml", "maud"],
    },
    Arrows {
        package: "cluster",
        inside: &["base", "schema"],
        outside: &[
            "prost",
            "tonic",
            "tonic-prost",
            "tokio",
            "tokio-rustls",
            "hyper",
            "hyper-util",
            "rcgen",
            "ring",
            "subtle",
            "ipnet",
            "rustix",
            "toml",
        ],
    },
    Arrows {
        package: "sinks",
        inside: &["base", "schema"],
        outside: &["serde_json", "flate2", "parquet"],
    },
    Arrows { package: "compat", inside: &["base", "metrics", "schema"], outside: &[] },
    Arrows {
        package: "memtide",
        inside: &[
            "base", "workload", "server", "engine", "schema", "host", "run", "report", "sinks",
            "sim", "compat", "cluster",
        ],
        outside: &["clap", "clap_complete", "clap_mangen", "glob", "ureq", "base64"],
    },
    Arrows {
        package: "xtask",
        inside: &[],
        outside: &["clap", "serde_json", "rustix", "sha2", "signal-hook", "tar"],
    },
    Arrows {
        package: "bench",
        inside: &[
            "base", "codec", "workload", "metrics", "engine", "schema", "run", "host", "sinks",
        ],
        outside: &["clap", "libc", "rustix", "io-uring", "serde_json"],
    },
    Arrows { package: "loom", inside: &[], outside: &[] },
    Arrows {
        package: "fuzz",
        inside: &["base", "codec", "server", "schema", "cluster"],
        outside: &["toml", "prost"],
    },
];

/// Findings about the dependencies of a workspace, given as the output of `cargo metadata`.
pub(super) fn check_packages(metadata: &Value) -> Vec<Finding> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut findings = Vec::new();
    for package in list(&metadata["packages"]) {
        let name = word(&package["name"]);
        let mut found = |what: String, instead: &str| {
            findings.push(Finding {
                path: manifest(&name),
                line: 0,
                rule: Rule::CrateArrow,
                what,
                why: "what a crate cannot know, it cannot come to depend on",
                instead: instead.to_owned(),
            });
        };
        let Some(allowed) = ALLOWED.iter().find(|row| row.package == short(&name)) else {
            let what = format!("the package `{name}` has no row in the table of arrows");
            found(what, "decide its layer, and add it to xtask/src/tidy/arrows.rs");
            continue;
        };
        for dependency in list(&package["dependencies"]) {
            let target = word(&dependency["name"]);
            let inside = target == "memtide" || target.starts_with("memtide-");
            let list = if inside { allowed.inside } else { allowed.outside };
            let is_dev = dependency["kind"].as_str() == Some("dev");
            if is_dev || list.contains(&short(&target)) {
                continue;
            }
            let instead = if inside {
                "let the crate above hand it down, or move it to a layer below both"
            } else {
                "do without, or argue for it in a page under docs/design"
            };
            found(format!("`{name}` depends on `{target}`"), instead);
        }
    }
    findings
}

/// Findings about permissions of the table that no package uses.
pub(super) fn check_permissions(metadata: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |package: &str, what: String| {
        findings.push(Finding {
            path: manifest(package),
            line: 0,
            rule: Rule::Unused,
            what,
            why: "an arrow that may be drawn will be drawn; the table says what is there",
            instead: "take it out of xtask/src/tidy/arrows.rs".to_owned(),
        });
    };
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    for row in ALLOWED {
        let is_this = |package: &&Value| package["name"].as_str().map(short) == Some(row.package);
        let Some(package) = packages.iter().find(is_this) else {
            found(row.package, format!("the table of arrows has a row for `{}`", row.package));
            continue;
        };
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let used: Vec<&str> = dependencies
            .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
            .filter_map(|dependency| dependency["name"].as_str().map(short))
            .collect();
        for target in row.inside.iter().chain(row.outside).filter(|name| !used.contains(name)) {
            let what = format!("`{}` may depend on `{target}`, and does not", row.package);
            found(row.package, what);
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

/// Findings about uses that point up the list of modules in their crate's root.
pub(super) fn check_modules(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for root in sources.iter().filter(|source| source.is_root()) {
        let order = ReadingOrder::of(root);
        let folder = root.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for source in sources {
            let Some(inner) = source.path.strip_prefix(folder).and_then(|p| p.strip_prefix('/'))
            else {
                continue;
            };
            let own = inner.split(['/', '.']).next().unwrap_or(inner);
            if let Some(own) = order.position.get(own).filter(|_| !source.is_root()) {
                findings.extend(upward(source, inner, &order, *own));
            }
        }
    }
    findings
}

/// Findings about rustfmt's settings, given as its file's text. By default it sorts adjacent `mod`
/// lines alphabetically, which destroys the reading order.
pub(super) fn check_formatter(settings: &str) -> Option<Finding> {
    if settings.lines().any(|line| line.trim() == "reorder_modules = false") {
        return None;
    }
    Some(Finding {
        path: "rustfmt.toml".to_owned(),
        line: 0,
        rule: Rule::ModuleArrow,
        what: "rustfmt may sort the lists of modules".to_owned(),
        why: "the list in a crate's root is its reading order",
        instead: "write `reorder_modules = false`".to_owned(),
    })
}

/// The modules of a crate in the order in which its root lists them.
struct ReadingOrder<'a> {
    modules: Vec<&'a str>,
    position: HashMap<&'a str, usize>,
    /// Names that the root re-exports, with the module that they come from.
    passed_on: HashMap<String, usize>,
}

impl<'a> ReadingOrder<'a> {
    fn of(root: &'a Source) -> Self {
        let words: Vec<(usize, &str)> = root.words().collect();
        let pairs = words.windows(2).filter(|pair| pair[0].1 == "mod" && !root.in_test(pair[0].0));
        let modules: Vec<&str> = pairs.map(|pair| pair[1].1).collect();
        let position: HashMap<&str, usize> =
            modules.iter().enumerate().map(|(index, name)| (*name, index)).collect();
        let mut passed_on = HashMap::new();
        for named in root.named() {
            let path = named.path.trim_start_matches("crate::").trim_start_matches("self::");
            let module = path.split("::").next().unwrap_or(path);
            let name = path.rsplit("::").next().unwrap_or(path);
            if let Some(index) = position.get(module).filter(|_| name != module) {
                passed_on.insert(name.to_owned(), *index);
            }
        }
        Self { modules, position, passed_on }
    }
}

fn upward(source: &Source, inner: &str, order: &ReadingOrder<'_>, own: usize) -> Vec<Finding> {
    let mut findings = Vec::new();
    // In a file right under `src` (or a `mod.rs` one folder down), `super` is the crate's root.
    let at_top =
        !inner.contains('/') || inner.matches('/').count() == 1 && inner.ends_with("/mod.rs");
    for named in source.named() {
        let rest = match named.path.split_once("::") {
            Some(("crate", rest)) => rest,
            Some(("super", rest)) if at_top => rest,
            _ => continue,
        };
        let first = rest.split("::").next().unwrap_or(rest);
        let target = order.position.get(first).or_else(|| order.passed_on.get(first));
        if let Some(target) = target.filter(|target| **target < own && !source.in_test(named.at)) {
            let (user, used) = (order.modules[own], order.modules[*target]);
            findings.push(Finding {
                path: source.path.clone(),
                line: source.line_of(named.at),
                rule: Rule::ModuleArrow,
                what: format!("`{user}` uses `{used}`, which stands above it in the crate's list"),
                why: "the list is the reading order, and a reader meets users before the used",
                instead: "reorder the list if no cycle results; else move what is shared below"
                    .to_owned(),
            });
        }
    }
    findings
}
