//! Each rule reports a tiny example and not a similar correct one; then the rules check the tree
//! itself.

use super::source::{Named, Source};
use super::*;
use serde_json::json;

/// The rules that report `text` as the inside of a file with a valid header.
fn rules(path: &str, text: &str) -> Vec<Rule> {
    let source = Source::new(path, format!("//! A file.\n{text}"));
    let mut findings = text::check(&source);
    findings.extend(shape::check(&source));
    findings.into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn the_tree_is_tidy() {
    let findings = check(&crate::workspace_root()).expect("the tree can be read");
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} findings:\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn calls_are_banned_where_they_do_not_belong() {
    let pure = "crates/engine/src/worker.rs";
    let table: &[(&str, &str, &[Rule])] = &[
        (pure, "fn f() { println!(); }", &[Rule::Call]),
        (pure, "fn f() { eprintln!(); }", &[Rule::Call]),
        (pure, "fn f() { print!(); eprint!(); }", &[Rule::Call, Rule::Call]),
        ("xtask/src/cmd.rs", "fn f() { println!(); }", &[]),
        ("crates/engine/src/worker/tests.rs", "fn f() { println!(); }", &[]),
        (pure, "fn f() { x.unwrap(); }", &[Rule::Call]),
        (pure, "fn f() { x.unwrap_or(1); }", &[]),
        (pure, "#[cfg(test)]\nmod tests { fn f() { x.unwrap(); } }", &[]),
        (pure, "#[cfg(test)]\nmod tests;\nfn f() { x.unwrap(); }", &[Rule::Call]),
        (pure, "fn f() { x.expect(\".unwrap() is banned\"); } // todo!", &[]),
        (pure, "fn f() { todo!() }", &[Rule::Call]),
        (pure, "fn f() { unimplemented!() }", &[Rule::Call]),
        (pure, "fn f() { dbg!(1); }", &[Rule::Call]),
        ("crates/engine/tests/it.rs", "#[ignore]\nfn f() {}", &[Rule::Call]),
        ("crates/engine/tests/it.rs", "#[ignore = \"slow\"]\nfn f() {}", &[Rule::Call]),
    ];
    for (path, text, expected) in table {
        assert_eq!(rules(path, text), *expected, "{path}: {text}");
    }
}

#[test]
fn pure_crates_have_no_door_to_the_world() {
    let pure = "crates/workload/src/schedule.rs";
    let table: &[(&str, &str, &[Rule])] = &[
        (pure, "use std::time::Instant;", &[Rule::World]),
        (pure, "fn f() { std::time::SystemTime::now(); }", &[Rule::World]),
        (pure, "use std::{fmt, fs::{self, File}};", &[Rule::World, Rule::World]),
        (pure, "use std::{fmt, collections::HashMap};", &[]),
        (pure, "use std::net::{IpAddr, TcpStream};", &[Rule::World]),
        (pure, "use std::net::SocketAddr;", &[]),
        (pure, "use std::thread as t;", &[Rule::World]),
        (pure, "fn f() { std::process::abort() }", &[Rule::World]),
        (pure, "use std::io::{self, Write};", &[]),
        (pure, "fn f() { std::io::stdout(); }", &[Rule::World]),
        (pure, "use std::env;", &[Rule::World]),
        (pure, "#[cfg(test)]\nmod tests { use std::fs; }", &[]),
        ("crates/host/src/clock.rs", "use std::time::Instant;", &[]),
        ("xtask/src/setup.rs", "use std::process::Command;", &[]),
    ];
    for (path, text, expected) in table {
        assert_eq!(rules(path, text), *expected, "{path}: {text}");
    }
}

#[test]
fn empty_names_are_banned() {
    let path = "crates/engine/src/worker.rs";
    for name in ["latency_ns", "LatencyLaw", "LATENCY", "Manager", "test_helper", "io_utils"] {
        assert_eq!(rules(path, &format!("fn f() {{ {name}; }}")), [Rule::Word], "{name}");
    }
    for name in ["managers_choice", "translatency", "utility", "stats_command"] {
        assert_eq!(rules(path, &format!("fn f() {{ {name}; }}")), [], "{name}");
    }
    assert_eq!(rules(path, "mod stats;"), [Rule::Word]);
    assert_eq!(rules(path, "fn stats() {}"), []);
}

#[test]
fn flags_are_named_where_a_front_speaks_with_the_user() {
    let text = "fn f() -> &'static str { \"wait longer with --timeout\" }";
    for part in ["engine", "run", "host", "codec"] {
        assert_eq!(rules(&format!("crates/{part}/src/a.rs"), text), [Rule::Word], "{part}");
    }
    for path in ["crates/schema/src/a.rs", "crates/compat/src/a.rs", "crates/run/tests/it/a.rs"] {
        assert_eq!(rules(path, text), [], "{path}");
    }
    let path = "crates/engine/src/a.rs";
    assert_eq!(rules(path, "/// As `--timeout` says.\nfn f() { a - -b; \"--\"; }"), []);
}

#[test]
fn sentences_name_what_they_are_about() {
    let rules = |text: &str| -> Vec<Rule> {
        let source = Source::new("crates/engine/src/worker.rs", text);
        words::check(&source).into_iter().map(|finding| finding.rule).collect()
    };
    let table: &[(&str, &[Rule])] = &[
        ("/// Whoever reads it.\nstruct A;", &[Rule::Phrase]),
        ("// It has so many bytes, be it late.\n", &[Rule::Phrase, Rule::Phrase]),
        ("// It has so\n// many bytes. Nobody\n// minds.\n", &[Rule::Phrase, Rule::Phrase]),
        ("// It is so\n\n// many bytes.\n", &[]),
        ("fn nobody() {} // \"nobody\"", &[]),
        ("/// The caller reads it. Maybe it is late.\nstruct A;", &[]),
        ("/// The same for gets.\nstruct A;", &[Rule::Opening]),
        ("/// A cas.\n/// The same key is read first.\nstruct A;", &[]),
        ("/// The sameness of both.\nstruct A;", &[]),
    ];
    for (text, expected) in table {
        assert_eq!(rules(text), *expected, "{text}");
    }
    let document = words::check_document("docs/udp.md", "Fine.\nAs nobody knows how many it had.");
    assert_eq!(document.len(), 1);
    assert_eq!((document[0].line, document[0].rule), (2, Rule::Phrase));
}

#[test]
fn documents_name_what_exists() {
    let sources = [
        Source::new("crates/engine/src/worker.rs", "fn turn() { later() } mod sending;"),
        Source::new(
            "crates/run/src/fill.rs",
            "struct Room; fn a_fill_ends_when_all_is_stored() {}",
        ),
    ];
    let declared = words::named::Declared::of(&sources);
    let table = [
        ("`worker.rs`: `turn`; `run/src/fill.rs`: `Room`", None),
        ("`crates/engine/src/worker.rs`, `fill.rs`: a `prose` word, `turn`", None),
        ("`worker.rs`: `turn`, `sending`, and `retired` elsewhere", None),
        ("in `worker/gone.rs`", Some("no source file `worker/gone.rs`")),
        ("`worker.rs`: `later`", Some("no `later` in crates/engine/src/worker.rs")),
        ("`worker.rs`: `turn`, `retired`", Some("no `retired` in crates/engine/src/worker.rs")),
        ("`worker.rs`, `fill.rs`: `turn`", Some("no `turn` in crates/run/src/fill.rs")),
        ("as `a_fill_ends_when_all_is_stored` states", None),
        ("as `a_fill_ends_when_it_likes` states", Some("no test `a_fill_ends_when_it_likes`")),
    ];
    for (line, expected) in table {
        let found = words::named::check("docs/a.md", &format!("\n{line}"), &declared);
        let what: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
        assert_eq!(what, expected.as_slice(), "{line}");
        assert!(found.iter().all(|finding| finding.line == 2), "{line}");
    }
}

#[test]
fn every_promise_names_a_test_that_exists() {
    let test = |name: &str| format!("#[test]\nfn {name}() {{}}\nfn no_test() {{}}\n");
    let sources = [
        Source::new("crates/run/src/lib.rs", "mod goals;"),
        Source::new("crates/run/src/goals.rs", format!("mod tests {{ {} }}", test("met"))),
        Source::new("crates/sim/tests/it/main.rs", "mod queues;"),
        Source::new("crates/sim/tests/it/queues/mod.rs", test("wait")),
        Source::new("crates/memtide/tests/it/steps.rs", test("end")),
        Source::new("crates/engine/tests/alloc.rs", test("nothing")),
        Source::new("xtask/src/main.rs", test("own")),
    ];
    let table = [
        ("`run::goals::tests::met`, `sim it queues::wait`; by hand: `cargo bench`", None),
        ("`it steps::end`, `engine alloc nothing`, `xtask::own`", None),
        ("not held by a test; by hand: `cargo xtask dist`", None),
        ("somewhere", Some("no test beside 'It holds.'")),
        ("by hand: `cargo xtask dist`", Some("no test beside 'It holds.'")),
        ("`run::goals::tests::no_test`", Some("no test `run::goals::tests::no_test`")),
        ("`sim it queues::no_test`", Some("no test `sim it queues::no_test`")),
        ("`it queues::wait`", Some("no test `it queues::wait`")),
        ("`run::tests::met`", Some("no test `run::tests::met`")),
    ];
    for (held, expected) in table {
        let page = format!("| promise | held by |\n|---|---|\n| It holds. | {held} |\n");
        let found = words::promises::check(&page, &sources);
        let what: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
        assert_eq!(what, expected.as_slice(), "{held}");
        assert!(found.iter().all(|finding| finding.line == 3), "{held}");
    }
}

#[test]
fn the_index_names_every_design_page() {
    let text = "[a](docs/design/0002-b.md)\n## The design pages\n[a](docs/design/0001-a.md)\n";
    let pages = ["docs/design/0001-a.md", "docs/design/0002-b.md"];
    let found = words::named::check_index(text, pages.into_iter());
    assert_eq!(found.len(), 1);
    assert!(found[0].what.ends_with("docs/design/0002-b.md"), "{found:?}");
}

#[test]
fn the_table_of_assertions_names_files_that_assert_and_every_bound() {
    let sources = [
        Source::new("crates/engine/src/a.rs", "const ONE_MAX: u8 = 1; fn f() { assert!(x); }"),
        Source::new("crates/engine/src/b.rs", "#[cfg(test)] mod t { fn f() { assert!(x); } }"),
        Source::new("crates/schema/src/c.rs", "const THREE_MAX: u8 = 3;"),
    ];
    let declared = words::named::Declared::of(&sources);
    let found = |section: &str| {
        let text = format!("## Assertions\n{section}\n## Glossary\n`ONE_MAX`");
        words::named::check_assertions(&text, &sources, &declared).len()
    };
    assert_eq!(found("| `ONE_MAX` | `engine/src/a.rs` |"), 0);
    assert_eq!(found("`ONE_MAX` is not asserted in `engine/src/b.rs`"), 0);
    assert_eq!(found("| `ONE_MAX` | `engine/src/b.rs` |"), 1);
    assert_eq!(found("| all | `engine/src/a.rs` |"), 1);
}

#[test]
fn the_table_of_words_says_where_tidy_looks() {
    let style = fs::read_to_string(crate::workspace_root().join("STYLE.md")).unwrap();
    assert_eq!(words::table::check(&style), []);
    for (row, instead) in [
        ("| crowd | clients | texts, names |", "| crowd | clients | names |"),
        ("| joint | joined source | names |", "| joint | joined source | texts, names |"),
        ("| crowd | clients | texts, names |", ""),
    ] {
        assert!(style.contains(row), "{row}");
        let found = words::table::check(&style.replace(row, instead)).len();
        assert_eq!(found, if instead.is_empty() { 2 } else { 1 }, "{row}");
    }
}

#[test]
fn public_types_are_made_of_the_glossarys_nouns() {
    let architecture = "| no | row |\n## Glossary\n\n| word | meaning |\n|---|---|\n\
                        | tally, totals | sums |\n\n## Next\n| crowd | no |\n";
    let count =
        |path: &str, text: &str| words::check_types(&[Source::new(path, text)], architecture).len();
    let path = "crates/engine/src/a.rs";
    assert_eq!(count(path, "pub struct Tally; pub enum TallyEnd {} pub type Totals = u8;"), 0);
    assert_eq!(count(path, "pub struct Crowd; pub(crate) struct Gang; struct Mob;"), 1);
    assert_eq!(count(path, "#[cfg(test)]\nmod tests { pub struct Crowd; }"), 0);
    assert_eq!(count("crates/codec/src/a.rs", "pub struct Crowd;"), 0);
}

#[test]
fn unsafe_stands_in_host_alone() {
    let text = "fn f() { unsafe { g() } }";
    assert_eq!(rules("crates/engine/src/worker.rs", text), [Rule::Unsafe]);
    assert_eq!(rules("crates/host/src/socket.rs", text), []);
    assert_eq!(rules("bench/src/usage.rs", text), []);
    assert_eq!(rules("crates/engine/tests/allocations.rs", text), []);
    assert_eq!(rules("crates/engine/src/lib.rs", "pub mod worker;"), [Rule::Unsafe]);
    assert_eq!(rules("crates/engine/src/lib.rs", "#![forbid(unsafe_code)]"), []);
    assert_eq!(rules("crates/host/src/lib.rs", "pub mod clock;"), []);
}

#[test]
fn sizes_have_limits() {
    let path = "crates/engine/src/worker.rs";
    let body = |lines: usize| format!("fn f() {{\n{}}}\n", "g();\n".repeat(lines - 2));
    assert_eq!(rules(path, &body(70)), []);
    assert_eq!(rules(path, &body(71)), [Rule::FunctionLength]);
    assert_eq!(rules(path, &format!("#[cfg(test)]\nmod tests {{ {} }}", body(90))), []);
    assert_eq!(rules(path, &"\n".repeat(799)), []);
    assert_eq!(rules(path, &"\n".repeat(800)), [Rule::FileLength]);
    assert_eq!(rules(path, &format!("// {}", "é".repeat(97))), []);
    assert_eq!(rules(path, &format!("// {}", "x".repeat(98))), [Rule::LineWidth]);
    let table: &[(&str, &[Rule])] = &[
        ("fn f(a: A, b: B, c: C, d: D, e: E, f: F) {}", &[]),
        ("fn f(a: A, b: B, c: C, d: D, e: E, f: F, g: G) {}", &[Rule::Parameters]),
        ("fn f(&mut self, a: A, b: B, c: C, d: D, e: E, f: F) {}", &[]),
        ("fn f(a: M<A, B>, c: (C, D), e: impl Fn(E, F) -> G, h: [H; 3]) {}", &[]),
        ("fn f(a: (A, B, C), d: (D, E, F)) {}", &[]),
        ("fn f((a, b, c): (A, B, C), (d, e, f, g): (D, E, F, G)) {}", &[Rule::Parameters]),
        ("fn f(a: &(A, B, C), d: &'a mut (D, (E, F), G)) {}", &[Rule::Parameters]),
        ("fn f(&self, a: (A, B, C), d: Option<(D, E, F)>, e: (), f: [(F, G); 3]) {}", &[]),
        ("fn f<T: Fn(A, B) -> C, U>(a: T, b: U) -> Vec<T> where T: D {}", &[]),
        ("type F = fn(A, B, C, D, E, F, G) -> H;", &[]),
    ];
    for (text, expected) in table {
        assert_eq!(rules(path, text), *expected, "{text}");
    }
}

#[test]
fn every_file_opens_with_a_header() {
    let rule = |text: &str| {
        let findings = shape::check(&Source::new("crates/base/src/id.rs", text));
        findings.first().map(|finding| finding.rule)
    };
    assert_eq!(rule("//! What it is.\n//!\n//! More.\nfn f() {}\n"), None);
    assert_eq!(rule("fn f() {}\n"), Some(Rule::Header));
    assert_eq!(rule("// What it is.\n"), Some(Rule::Header));
    assert_eq!(rule(&"//! Line.\n".repeat(6)), None);
    assert_eq!(rule(&"//! Line.\n".repeat(7)), Some(Rule::Header));
}

#[test]
fn folders_have_room_for_twelve() {
    let files = |count: usize| -> Vec<Source> {
        (0..count).map(|i| Source::new(format!("crates/x/src/{i}.rs"), "//! A file.")).collect()
    };
    assert_eq!(shape::check_folders(&files(12)), []);
    assert_eq!(shape::check_folders(&files(13))[0].path, "crates/x/src");
}

#[test]
fn crates_depend_only_downwards() {
    let check = |package: &str, dependency: &str, kind: Option<&str>| {
        let metadata = json!({"packages": [
            {"name": package, "dependencies": [{"name": dependency, "kind": kind}]}
        ]});
        arrows::check_packages(&metadata).len()
    };
    assert_eq!(check("memtide-engine", "memtide-codec", None), 0);
    assert_eq!(check("memtide-codec", "memtide-engine", None), 1);
    assert_eq!(check("memtide-workload", "memtide-codec", None), 1);
    assert_eq!(check("memtide-engine", "memtide-host", Some("dev")), 0);
    assert_eq!(check("memtide-base", "libc", None), 1);
    assert_eq!(check("memtide-base", "cc", Some("build")), 1);
    assert_eq!(check("memtide-unheard", "memtide-base", None), 1);
}

#[test]
fn every_arrow_that_is_allowed_is_drawn() {
    let drawn = |kind: Option<&str>| {
        let dependency = |name: &str, kind: Option<&str>| json!({"name": name, "kind": kind});
        let metadata = json!({"packages": [{"name": "memtide-server", "dependencies": [
            dependency("memtide-base", None), dependency("memtide-codec", kind)
        ]}]});
        let found = arrows::check_permissions(&metadata).into_iter();
        found.filter(|finding| finding.path == "crates/server/Cargo.toml").count()
    };
    assert_eq!(drawn(None), 0);
    assert_eq!(drawn(Some("dev")), 1);
}

#[test]
fn dependencies_are_used() {
    let check = |kind: Option<&str>, files: &[(&str, &str)]| {
        let metadata = json!({"packages": [
            {"name": "memtide-x", "dependencies": [{"name": "some-crate", "kind": kind}]}
        ]});
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(*path, *text)).collect();
        let table = "[workspace.dependencies]\nsome-crate = \"1\"\n\n[profile.dev]\na = 1\n";
        unused::check(&metadata, &sources, table).len()
    };
    let (code, test) = ("crates/x/src/a.rs", "crates/x/tests/a.rs");
    let uses = "use some_crate::Thing;";
    assert_eq!(check(None, &[(code, uses)]), 0);
    assert_eq!(check(None, &[(test, uses)]), 1);
    assert_eq!(check(None, &[(code, "// some_crate")]), 1);
    assert_eq!(check(None, &[("crates/y/src/a.rs", uses)]), 1);
    assert_eq!(check(Some("dev"), &[(test, uses)]), 0);
    assert_eq!(check(Some("dev"), &[(code, "#[cfg(test)]\nmod tests { use some_crate::A; }")]), 0);
    let none = json!({"packages": []});
    assert_eq!(unused::check(&none, &[], "[workspace.dependencies]\na = 1\nb.path = 2").len(), 2);
}

#[test]
fn packages_from_outside_are_counted_once() {
    let tree = |count: usize| {
        let outside = (0..count).map(|number| format!("p{number} v1.0.0\np{number} v1.0.0 (*)\n"));
        "memtide v0.1.0 (/x)\nmemtide-base v0.1.0 (/x/crates/base)\n".to_owned()
            + &outside.collect::<String>()
    };
    assert_eq!(budget::check(&tree(60)), None);
    let found = budget::check(&tree(61)).expect("61 are too many");
    assert!(found.what.starts_with("61 packages"), "{found}");
}

#[test]
fn who_is_free_of_a_ban_needs_it() {
    let text = "fn f() { println!(); std::fs::read(); unsafe { g() } }";
    let parts = ["memtide", "sinks", "xtask", "bench", "loom", "host"];
    let path = |part: &str| match part {
        "xtask" | "bench" | "fuzz" | "loom" => format!("{part}/src/a.rs"),
        _ => format!("crates/{part}/src/a.rs"),
    };
    let idle = |idle: &str| {
        let text = |part: &str| if part == idle { "" } else { text };
        let sources: Vec<Source> =
            parts.iter().map(|part| Source::new(path(part), text(part))).collect();
        text::check_freedoms(&sources).len()
    };
    assert_eq!(idle(""), 0);
    assert_eq!(idle("host"), 2);
    assert_eq!(idle("bench"), 3);
    assert_eq!(idle("memtide"), 1);
    assert_eq!(idle("sinks"), 1);
}

#[test]
fn modules_of_a_folder_form_no_circle() {
    let lines = |files: &[(&str, &str)]| -> Vec<String> {
        let above = [("crates/x/src/lib.rs", "mod p;"), ("crates/x/src/p.rs", "mod a;")];
        let files = above.into_iter().chain(files.iter().copied());
        let sources: Vec<Source> = files.map(|(path, text)| Source::new(path, text)).collect();
        circles::check(&sources).into_iter().map(|found| found.what).collect()
    };
    let (p, a, b) = ("crates/x/src/p.rs", "crates/x/src/p/a.rs", "crates/x/src/p/b.rs");
    assert!(lines(&[(a, "use super::b::B;"), (b, "use std::fmt;")]).is_empty());
    assert!(lines(&[(p, "use a::A;"), (a, "use super::P;")]).is_empty(), "parent and child");
    let both = lines(&[(a, "use super::b::B;"), (b, "fn f() { crate::p::a::g() }")]);
    assert_eq!(
        both,
        ["`a` uses `b`, which leads back to it", "`b` uses `a`, which leads back to it"]
    );
    let test = "#[cfg(test)]\nmod tests { use super::super::a::A; }";
    assert!(lines(&[(a, "use super::b::B;"), (b, test)]).is_empty());
    // By way of a third module, from a deeper one, and by a name that the parent re-exports.
    let c = "crates/x/src/p/c/deep.rs";
    let uses = [(a, "use super::b;"), (b, "use super::c::deep::C;"), (c, "use super::super::A;")];
    assert_eq!(lines(&[&[(p, "pub use a::A;")], &uses[..]].concat()).len(), 3);
    assert!(lines(&[&[(p, "pub struct A;")], &uses[..]].concat()).is_empty());
}

#[test]
fn modules_use_only_what_stands_below_them() {
    let findings = |root: &str, path: &str, text: &str| {
        let root = Source::new("crates/x/src/lib.rs", root);
        let file = Source::new(format!("crates/x/src/{path}"), text);
        arrows::check_modules(&[root, file]).len()
    };
    let root = "pub mod top;\nmod low;\n#[cfg(test)]\nmod tests;\npub use top::Thing;";
    let table: &[(&str, &str, usize)] = &[
        ("top.rs", "use crate::low::A;", 0),
        ("low.rs", "use crate::top::A;", 1),
        ("low.rs", "fn f() { crate::top::g() }", 1),
        ("low.rs", "use super::top::A;", 1),
        ("low.rs", "use crate::{low::B, top::{A, C}};", 2),
        ("low.rs", "use crate::Thing;", 1),
        ("low/deep.rs", "use crate::top::A;", 1),
        ("low/deep.rs", "use super::top::A;", 0),
        ("low.rs", "#[cfg(test)]\nmod tests { use crate::top::A; }", 0),
        ("low/tests.rs", "use crate::top::A;", 0),
    ];
    for (path, text, expected) in table {
        assert_eq!(findings(root, path, text), *expected, "{path}: {text}");
    }
}

#[test]
fn the_formatter_must_leave_the_reading_order_alone() {
    assert_eq!(arrows::check_formatter("max_width = 100\nreorder_modules = false\n"), None);
    assert!(arrows::check_formatter("max_width = 100\n").is_some());
}

#[test]
fn what_is_shown_is_used() {
    let findings = |files: &[(&str, &str)]| -> Vec<String> {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(*path, *text)).collect();
        surface::check(&sources).into_iter().map(|finding| finding.what).collect()
    };
    let dead = "pub const fn dead() {}";
    assert_eq!(findings(&[("crates/x/src/a.rs", dead)]).len(), 1);
    let user = |path, text| findings(&[("crates/x/src/a.rs", dead), (path, text)]).len();
    assert_eq!(user("crates/y/src/b.rs", "fn f() { x::dead() }"), 0);
    assert_eq!(user("crates/y/tests/b.rs", "fn f() { x::dead() }"), 0);
    assert_eq!(user("crates/x/src/b.rs", "fn f() { dead() }"), 0);
    assert_eq!(user("crates/x/src/a/tests.rs", "fn f() { dead() }"), 1);
    assert_eq!(user("crates/x/src/lib.rs", "pub use a::dead;"), 1);
    assert_eq!(user("crates/y/src/b.rs", "// dead\nfn f() { \"dead\" }"), 1);
    let shown = "pub(crate) fn own() {}\nstruct Own;\npub fn f() -> Error {}\npub struct Error;";
    assert_eq!(findings(&[("crates/x/src/a.rs", shown), ("xtask/src/b.rs", "f()")]).len(), 0);
}

#[test]
fn exceptions_excuse_one_thing_and_must_not_be_idle() {
    let finding = || Finding {
        path: "a.rs".to_owned(),
        line: 3,
        rule: Rule::FunctionLength,
        what: "`long_one` has 90 lines".to_owned(),
        why: "",
        instead: String::new(),
    };
    let exception =
        |name, reason| [Exception { rule: Rule::FunctionLength, path: "a.rs", name, reason }];
    let left = |exceptions: &[Exception]| without_exceptions(vec![finding()], exceptions).len();
    assert_eq!(left(&[]), 1);
    assert_eq!(left(&exception("long_one", "a table")), 0);
    assert_eq!(left(&exception("", "a table")), 0);
    assert_eq!(left(&exception("other", "a table")), 2);
    assert_eq!(left(&exception("long_one", "")), 1);
}

#[test]
fn a_finding_says_where_what_why_and_what_instead() {
    let source = Source::new("crates/x/src/a.rs", "//! A file.\n\nfn f() { x.unwrap(); }\n");
    let line = text::check(&source)[0].to_string();
    assert!(line.starts_with("crates/x/src/a.rs:3: `.unwrap()`; a panic must"), "{line}");
    assert!(line.ends_with("or return the error"), "{line}");
}

#[test]
fn literals_and_comments_are_no_code() {
    let table: &[(&str, &str)] = &[
        (r#"a("x"); b"#, r#"a(  "); b"#),
        (r#"a("\""); b"#, r#"a(   "); b"#),
        ("a // b\nc", "a     \nc"),
        ("a /* b /* c */ d */ e", "a                   e"),
        ("'x' 'a: 'static", "  \" 'a: 'static"),
        (r"'\'' b'\n' b", "   \"     \" b"),
        ("r#\"a\"b\"# c", "       \" c"),
        ("br\"a\" r#fn bread crab", "    \" r#fn bread crab"),
        ("é", "__"),
    ];
    for (text, expected) in table {
        assert_eq!(Source::new("a.rs", *text).code, *expected, "{text}");
    }
}

#[test]
fn what_is_declared_as_a_test_is_one() {
    let mut sources = [
        Source::new("crates/x/src/lib.rs", "mod a;\n#[cfg(test)]\nmod check;"),
        Source::new("crates/x/src/a.rs", "#[cfg(test)]\npub(crate) mod b;"),
        Source::new("crates/x/src/a/b.rs", ""),
        Source::new("crates/x/src/check/mod.rs", ""),
        Source::new("crates/x/src/check/deep.rs", ""),
        Source::new("crates/x/src/checked.rs", ""),
    ];
    source::mark_test_modules(&mut sources);
    let tests: Vec<bool> = sources.iter().map(Source::is_test).collect();
    assert_eq!(tests, [false, false, true, true, true, false]);
}

#[test]
fn use_trees_are_spelled_out() {
    let named = |text: &str| -> Vec<String> {
        let paths = Source::new("a.rs", text).named().into_iter();
        paths.map(|Named { path, .. }| path).collect()
    };
    assert_eq!(named("pub use a::b;"), ["a::b"]);
    assert_eq!(named("use a::{b, c::{self, d as e}, *};"), ["a::b", "a::c", "a::c::d", "a::*"]);
    assert_eq!(named("use {a::b, c};"), ["a::b", "c"]);
    assert_eq!(named("fn f() { std::a::b(crate::c::D { x }) }"), ["std::a::b", "crate::c::D"]);
}
