//! `--out html`: the page of every kind of result. That of a run is held in `law`.

use super::{SHORT, names, room};
use crate::prelude::*;

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

#[test]
fn scans_merged_runs_and_comparisons_have_a_page_too() {
    let folder = room("page-kinds");
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    run_in(&folder, &format!("{SHORT} --seed 1 --json a.json")).exits(0);
    run_in(&folder, &format!("{SHORT} --seed 2 --tag x=<b> --json b.json")).exits(0);
    run_in(&folder, "merge a.json b.json --out html=m.html").exits(0);
    assert!(text("m.html").contains(">Parts of this run</h2>"), "{}", text("m.html"));
    run_in(&folder, "report b.json --out html=b.html").exits(0);
    assert!(text("b.html").contains("x=&lt;b&gt;"), "{}", text("b.html"));
    run_in(&folder, "compare a.json b.json --out html=c.html").exits(0);
    let rows = figures(&text("c.html"));
    assert!(rows.iter().any(|(path, name, _)| path == "all.mean" && name == "ratio"), "{rows:?}");
    let scan = "scan --rates 1k,2k --duration 100ms --keys 50 --goal all.p50<1s";
    run_in(&folder, &format!("{scan} --out html=s.html --out json=s.json --out md=s.md"));
    assert!(text("s.html").contains("<h1>memtide: scan of 2 steps</h1>"), "{}", text("s.html"));
    assert!(text("s.html").contains("<strong>Times against rate</strong>"), "{}", text("s.html"));
    let again = "<code>memtide scan scenario.toml --rates 1k,2k</code>";
    assert!(text("s.html").contains(again), "{}", text("s.html"));
    let markdown = text("s.md");
    let (_, file) = markdown.split_once("```toml\n").unwrap();
    fs::write(folder.join("scenario.toml"), file.split("```").next().unwrap()).unwrap();
    let repeated = run_in(&folder, "scan scenario.toml --rates 1k,2k --json t.json");
    let steps = |name: &str| -> Vec<Value> {
        let json: Value = serde_json::from_str(&text(name)).unwrap();
        json["steps"].as_array().unwrap().iter().map(|step| step["rate_per_s"].clone()).collect()
    };
    assert_eq!(steps("t.json"), steps("s.json"), "{repeated}");
    run_in(&folder, "report s.json --out html=again.html").exits(0);
    assert_eq!(text("again.html"), text("s.html"));
    let pages = names(&folder).into_iter().filter(|name| name.ends_with(".html"));
    for name in pages {
        let page = text(&name);
        // A link leads to a section of the same page.
        let page = page.replace(" href=\"#", "");
        for loads in ["http:", "https:", " src=", " href=", "url(", "@import"] {
            assert!(!page.contains(loads), "{name}: {loads}");
        }
    }
}

/// The command on a search's page held its last step alone.
#[test]
fn a_search_is_repeated_from_its_page() {
    let _turn = shared();
    let folder = room("page-search");
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let search = "sim search --rate-min 400 --rate-max 1600 --steps-max 2 --duration 150ms \
                  --keys 50 --warmup 0 --goal all.p50<2s";
    run_in(&folder, &format!("{search} --out html=s.html --out json=s.json"));
    let page = text("s.html");
    let plain = |text: &str| {
        let signs =
            [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
        signs.iter().fold(text.to_owned(), |text, (code, sign)| text.replace(code, sign))
    };
    let (_, rest) =
        page.split_once("<code>memtide sim search scenario.toml ").expect("the command");
    let flags = plain(rest.split("</code>").next().unwrap());
    let (_, rest) = rest.split_once("<pre tabindex=\"0\">").expect("the scenario");
    fs::write(folder.join("scenario.toml"), plain(rest.split("</pre>").next().unwrap())).unwrap();
    let repeated = run_in(&folder, &format!("sim search scenario.toml {flags} --json t.json"));
    let of = |name: &str| -> Value { serde_json::from_str(&text(name)).unwrap() };
    let (first, again) = (of("s.json"), of("t.json"));
    let rates = |of: &Value| -> Vec<Value> {
        of["steps"].as_array().unwrap().iter().map(|step| step["rate_per_s"].clone()).collect()
    };
    assert_eq!(rates(&first), rates(&again), "{flags}: {repeated}");
    // Every setting of the load is the same, seeds included.
    let scenario = |of: &Value| of["steps"][0]["record"]["scenario"].clone();
    assert_eq!(scenario(&first), scenario(&again), "{flags}: {repeated}");
}
