//! `--out html`: the page of every kind of result; its tables show the record's figures.

use super::{SHORT, names, room, run_in};
use serde_json::Value;
use std::fs;

/// Every figure in the tables of a page: the row's path, the column, and the exact value.
fn figures(page: &str) -> Vec<(String, String, f64)> {
    let mut figures = Vec::new();
    for row in page.split("<tr data-figures=\"").skip(1) {
        let (path, rest) = row.split_once('"').unwrap();
        let rest = rest.split("</tr>").next().unwrap();
        for cell in rest.split(" data-name=\"").skip(1) {
            let (name, rest) = cell.split_once('"').unwrap();
            let rest = rest.split("</td>").next().unwrap();
            if let Some((_, value)) = rest.split_once("<data value=\"") {
                let value = value.split('"').next().unwrap().parse().unwrap();
                figures.push((path.to_owned(), name.to_owned(), value));
            }
        }
    }
    figures
}

/// A figure of a record, by the row and column that show it.
fn of_record(record: &Value, path: &str, name: &str) -> Option<f64> {
    if let (Some(kind), "per_s") = (path.strip_prefix("response."), name) {
        let rate = &record["rate"];
        let rate = if kind == "all" { &rate["achieved_per_s"] } else { &rate["kinds_per_s"][kind] };
        return rate.as_f64();
    }
    let found = path.split('.').fold(record, |value, name| &value[name]);
    if found.is_object() { found[name].as_f64() } else { found.as_f64() }
}

#[test]
fn the_tables_of_a_page_show_the_figures_of_its_record() {
    let folder = room("page");
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    run_in(&folder, &format!("{SHORT} --out html=r.html --out json=r.json")).exits(0);
    let (page, record) = (text("r.html"), text("r.json"));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    let record: Value = serde_json::from_str(&record).unwrap();
    let shown = figures(&page);
    assert!(shown.len() > 40, "{shown:?}");
    for (path, name, value) in &shown {
        assert_eq!(of_record(&record, path, name), Some(*value), "{path} {name}");
    }
    let has = |path: &str, name: &str| shown.iter().any(|(p, n, _)| p == path && n == name);
    for path in ["response.all", "response.get", "service.all", "lag.all", "lag_split.generator"] {
        assert!(has(path, "p50_ns") && has(path, "max_ns"), "{path}: {shown:?}");
    }
    run_in(&folder, "report r.json --out html=again.html").exits(0);
    assert_eq!(text("again.html"), page);
}

#[test]
fn scans_merged_runs_and_comparisons_have_a_page_too() {
    let folder = room("page-kinds");
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    run_in(&folder, &format!("{SHORT} --seed 1 --json a.json")).exits(0);
    run_in(&folder, &format!("{SHORT} --seed 2 --tag x=<b> --json b.json")).exits(0);
    run_in(&folder, "merge a.json b.json --out html=m.html").exits(0);
    assert!(text("m.html").contains("<h2>Parts of this run</h2>"), "{}", text("m.html"));
    run_in(&folder, "report b.json --out html=b.html").exits(0);
    assert!(text("b.html").contains("x=&lt;b&gt;"), "{}", text("b.html"));
    run_in(&folder, "compare a.json b.json --out html=c.html").exits(0);
    let rows = figures(&text("c.html"));
    assert!(rows.iter().any(|(path, name, _)| path == "all.mean" && name == "ratio"), "{rows:?}");
    let scan = "scan --rates 1k,2k --duration 100ms --keys 50 --goal all.p50<1s";
    run_in(&folder, &format!("{scan} --out html=s.html --out json=s.json"));
    assert!(text("s.html").contains("<h1>memtide: scan of 2 steps</h1>"), "{}", text("s.html"));
    assert!(text("s.html").contains("<strong>Times against rate</strong>"), "{}", text("s.html"));
    let again = "<code>memtide scan scenario.toml --rates 1k,2k</code>";
    assert!(text("s.html").contains(again), "{}", text("s.html"));
    run_in(&folder, "report s.json --out html=again.html").exits(0);
    assert_eq!(text("again.html"), text("s.html"));
    let pages = names(&folder).into_iter().filter(|name| name.ends_with(".html"));
    for name in pages {
        let page = text(&name);
        for loads in ["http:", "https:", " src=", " href=", "url(", "@import"] {
            assert!(!page.contains(loads), "{name}: {loads}");
        }
    }
}
