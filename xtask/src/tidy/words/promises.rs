//! Tables of promises: every test that a row names exists where its name says. It reads the tables
//! whose last column is `held by`, and does not judge whether a test holds its promise.

use crate::tidy::Finding;
use crate::tidy::source::Source;

/// The pages with such tables.
pub(in crate::tidy) const PATHS: [&str; 2] = ["docs/tests.md", "docs/cluster.md"];
/// The name of the column with tests.
const HELD_BY: &str = "held by";
/// What a row says that names no test.
const NOT_HELD: &str = "not held by a test";
/// What stands before a proof that is no test.
const BY_HAND: &str = "by hand:";

/// Every row of the page that names no test, or one that does not exist. A test is written as
/// `crate::module::test`, one of a binary of tests as `crate binary module::test`; the crate
/// `memtide` may be left out.
pub(in crate::tidy) fn check(path: &str, page: &str, sources: &[Source]) -> Vec<Finding> {
    let (mut findings, mut in_table) = (Vec::new(), false);
    for (index, line) in page.lines().enumerate() {
        let row = cells(line);
        in_table = row.is_some_and(|(_, held)| in_table || held == HELD_BY);
        let Some((promise, held)) = row.filter(|_| in_table) else { continue };
        if held == HELD_BY || promise.starts_with("---") {
            continue;
        }
        let mut found = |what: String, instead: &str| {
            let why = "a promise without its test is only hoped for";
            findings.push(Finding::new(path, index + 1, what, why, instead));
        };
        let tests = held.split(BY_HAND).next().unwrap_or_default();
        // The parts of odd number are code spans.
        let tests: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        if tests.is_empty() && !held.starts_with(NOT_HELD) {
            found(format!("no test beside '{promise}'"), "name one, or say 'not held by a test'");
        }
        for test in tests.iter().filter(|test| !exists(test, sources)) {
            found(format!("no test `{test}`"), "name the test that holds the promise now");
        }
    }
    findings
}

/// The promise of a table's row, which may be several cells, and its last cell.
fn cells(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    let (promise, held) = inner.rsplit_once('|')?;
    Some((promise.trim(), held.trim()))
}

/// True if `test` is a test of the module that it names.
fn exists(test: &str, sources: &[Source]) -> bool {
    let words: Vec<&str> = test.split(' ').collect();
    let (roots, path) = match words[..] {
        [path] => {
            let Some((part, path)) = path.split_once("::") else { return false };
            let folder = if part == "xtask" { part.to_owned() } else { format!("crates/{part}") };
            let src = format!("{folder}/src");
            ([format!("{src}/lib.rs"), format!("{src}/main.rs")], (src, path))
        }
        [binary, path] => of_binary("memtide", binary, path),
        [part, binary, path] => of_binary(part, binary, path),
        _ => return false,
    };
    let (folder, path) = path;
    let mut modules: Vec<&str> = path.split("::").collect();
    let Some(name) = modules.pop() else { return false };
    // A module is a file, or stands inside the file of one above it.
    (0..=modules.len()).any(|depth| {
        let (files, inline) = modules.split_at(depth);
        let stem = format!("{folder}/{}", files.join("/"));
        let paths = match depth {
            0 => roots.clone(),
            _ => [format!("{stem}.rs"), format!("{stem}/mod.rs")],
        };
        let file = sources.iter().find(|source| paths.contains(&source.path));
        file.is_some_and(|source| {
            inline.iter().all(|module| declares(source, "mod", module).is_some())
                && declares(source, "fn", name).is_some_and(|before| before.contains("#[test]"))
        })
    })
}

fn of_binary<'a>(part: &str, binary: &str, path: &'a str) -> ([String; 2], (String, &'a str)) {
    let folder = format!("crates/{part}/tests/{binary}");
    ([format!("{folder}.rs"), format!("{folder}/main.rs")], (folder, path))
}

/// The code between the end of the item before `keyword name` and that declaration, which holds
/// its attributes; none if the file does not declare it.
fn declares<'a>(source: &'a Source, keyword: &str, name: &str) -> Option<&'a str> {
    let item = source.declared().find(|it| it.keyword == keyword && it.name == name)?;
    let code = source.code[..item.at].trim_end().strip_suffix(keyword)?;
    Some(&code[code.rfind(['}', ';']).map_or(0, |end| end + 1)..])
}
