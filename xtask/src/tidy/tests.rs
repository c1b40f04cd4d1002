//! Each rule reports a tiny example and not a similar correct one; then the rules check the tree
//! itself.

#[path = "../../../crates/base/tests/table/mod.rs"]
mod table;

use super::source::{Named, Source};
use super::*;
use serde_json::json;
use table::assert_said;

const CASES: &str = include_str!("tests/cases.txt");

/// What the findings report, in one text.
fn what(findings: Vec<Finding>) -> String {
    findings.into_iter().map(|finding| finding.what).collect::<Vec<_>>().join("; ")
}

/// What the rules about names and sizes report of `text` as the inside of a file with a valid
/// header.
fn found(path: &str, text: &str) -> Vec<String> {
    let source = Source::new(path, format!("//! A file.\n{text}"));
    let mut findings = names::check(&source);
    findings.extend(shape::check(&source));
    findings.into_iter().map(|finding| finding.what).collect()
}

#[test]
fn the_tree_is_tidy() {
    let findings = check(&crate::workspace_root()).expect("the tree can be read");
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} findings:\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn tests_that_do_not_run_are_found() {
    let path = "crates/engine/tests/it.rs";
    assert_eq!(found(path, "#[ignore]\nfn f() {}"), ["`#[ignore`"]);
    assert_eq!(found(path, "#[ignore = \"slow\"]\nfn f() {}"), ["`#[ignore`"]);
    assert!(found(path, "// #[ignore]\nfn ignore() {}").is_empty());
    let fence = format!("/{}", "// ```");
    assert_eq!(found(path, &format!("{fence}\nfn f() {{}}")), [format!("`{fence}`")]);
}

#[test]
fn empty_names_are_banned() {
    let path = "crates/engine/src/worker.rs";
    for name in ["latency_ns", "LatencyLaw", "LATENCY", "Manager", "test_helper", "io_utils"] {
        let text = format!("fn f() {{ {name}; }}");
        assert_eq!(found(path, &text), [format!("`{name}`")], "{name}");
    }
    for name in ["managers_choice", "translatency", "utility", "stats_command"] {
        assert!(found(path, &format!("fn f() {{ {name}; }}")).is_empty(), "{name}");
    }
    assert_eq!(found(path, "mod stats;"), ["`mod stats`"]);
    assert!(found(path, "fn stats() {}").is_empty());
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
    let declared = named::Names::of(&sources);
    assert_said(CASES, "documents", |line| {
        let found = named::check("docs/a.md", &format!("\n{line}"), &declared);
        assert!(found.iter().all(|finding| finding.line == 2), "{line}");
        what(found)
    });
}

#[test]
fn sizes_have_limits() {
    let path = "crates/engine/src/worker.rs";
    assert!(found(path, &"\n".repeat(799)).is_empty());
    assert_eq!(found(path, &"\n".repeat(800)), ["801 lines"]);
    assert!(found(path, &format!("// {}", "é".repeat(97))).is_empty());
    assert_eq!(found(path, &format!("// {}", "x".repeat(98))), ["101 columns"]);
}

#[test]
fn every_file_opens_with_a_header() {
    assert_said(CASES, "headers", |text| {
        what(shape::check(&Source::new("crates/base/src/id.rs", text)))
    });
}

#[test]
fn crates_depend_only_downwards() {
    assert_said(CASES, "arrows", |words| {
        let mut words = words.split(' ');
        let [package, dependency, kind] = [words.next(), words.next(), words.next()];
        let metadata = json!({"packages": [
            {"name": package, "dependencies": [{"name": dependency, "kind": kind}]}
        ]});
        let found = arrows::check(&metadata).into_iter();
        let wrong = |it: &Finding| it.what.contains("` depends on") || it.what.contains("no row");
        found.filter(wrong).count().to_string()
    });
}

#[test]
fn every_arrow_that_is_allowed_is_drawn() {
    let drawn = |kind: Option<&str>| {
        let dependency = |name: &str, kind: Option<&str>| json!({"name": name, "kind": kind});
        let metadata = json!({"packages": [{"name": "memtide-server", "dependencies": [
            dependency("memtide-base", None), dependency("memtide-codec", kind)
        ]}]});
        let found = arrows::check(&metadata).into_iter();
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
        libraries::check(&metadata, &sources, table).len()
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
    assert_eq!(
        libraries::check(&none, &[], "[workspace.dependencies]\na = 1\nb.path = 2").len(),
        2
    );
}

#[test]
fn packages_from_outside_are_counted_once() {
    let tree = |count: usize| {
        let outside = (0..count).map(|number| format!("p{number} v1.0.0\np{number} v1.0.0 (*)\n"));
        "memtide v0.1.0 (/x)\nmemtide-base v0.1.0 (/x/crates/base)\n".to_owned()
            + &outside.collect::<String>()
    };
    assert_eq!(libraries::check_budget(&tree(60)), None);
    let found = libraries::check_budget(&tree(61)).expect("61 are too many");
    assert!(found.what.starts_with("61 packages"), "{found}");
}

#[test]
fn modules_of_a_folder_form_no_circle() {
    let lines = |files: &[(&str, &str)]| -> Vec<String> {
        let above = [("crates/x/src/lib.rs", "mod p;"), ("crates/x/src/p.rs", "mod a;")];
        let files = above.into_iter().chain(files.iter().copied());
        let sources: Vec<Source> = files.map(|(path, text)| Source::new(path, text)).collect();
        modules::check(&sources).into_iter().map(|found| found.what).collect()
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
    let root = "pub mod top;\nmod low;\n#[cfg(test)]\nmod tests;\npub use top::Thing;";
    assert_said(CASES, "what stands below", |case| {
        let (path, text) = case.split_once(": ").unwrap();
        let others = ["top.rs", "low.rs"].into_iter().filter(|other| *other != path);
        let files = others.map(|other| (other, "")).chain([("lib.rs", root), (path, text)]);
        let files = files.map(|(path, text)| Source::new(format!("crates/x/src/{path}"), text));
        modules::check(&files.collect::<Vec<_>>()).len().to_string()
    });
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
    assert_said(CASES, "surface", |case| {
        let other = case.split_once(": ").unwrap();
        findings(&[("crates/x/src/a.rs", dead), other]).len().to_string()
    });
    let shown = "pub(crate) fn own() {}\nstruct Own;\npub fn f() -> Error {}\npub struct Error;";
    assert_eq!(findings(&[("crates/x/src/a.rs", shown), ("xtask/src/b.rs", "f()")]).len(), 0);
}

#[test]
fn exceptions_excuse_one_thing_and_must_not_be_idle() {
    let finding = || Finding::new("a.rs", 0, "900 lines".to_owned(), "", "");
    let left = |exceptions: &[(&str, &str, &str)]| {
        without_exceptions(vec![finding()], exceptions).into_iter().map(|found| found.what)
    };
    assert!(left(&[]).eq(["900 lines"]));
    assert!(left(&[("a.rs", "lines", "a table")]).eq([""; 0]));
    assert_eq!(left(&[("b.rs", "lines", "a table")]).count(), 2);
    assert_eq!(left(&[("a.rs", "columns", "a table")]).count(), 2);
}

#[test]
fn a_finding_says_where_what_why_and_what_instead() {
    let source = Source::new("crates/x/src/a.rs", "//! A file.\n\n#[ignore]\nfn f() {}\n");
    let line = names::check(&source)[0].to_string();
    assert!(line.starts_with("crates/x/src/a.rs:3: `#[ignore`; a test that"), "{line}");
    assert!(line.ends_with("or delete it"), "{line}");
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
    assert_said(CASES, "use trees", |text| {
        let paths = Source::new("a.rs", text).named().into_iter();
        paths.map(|Named { path, .. }| path).collect::<Vec<_>>().join(" ")
    });
}
