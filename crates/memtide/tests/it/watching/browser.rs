//! The page in a real browser, Debian's Chromium without a screen, which the DevTools protocol
//! drives through two pipes. Skipped, with a reason, where there is none.

use super::web::Site;
use crate::prelude::*;
use serde_json::json;
use std::process::Child;

const LINE: &str = "run --rate 1k --duration 20s --warmup 0 --keys 50 --goal all.p99<1s";
/// Chromium starts slowly beside other tests.
const PATIENCE: Duration = Duration::from_secs(60);
/// Where the set-up of the tests puts axe-core, seen from this package.
const AXE: &str = "../../target/axe/package/axe.min.js";

/// A browser, and what it said besides answers.
struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    events: Vec<Value>,
    asked: u64,
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A page in the browser: its target and its session.
struct Tab {
    target: String,
    session: String,
}

impl Browser {
    /// Starts one, if there is one.
    fn start(folder: &Path) -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        let mut all = std::env::split_paths(&path).map(|folder| folder.join("chromium"));
        let Some(program) = all.find(|program| program.exists()) else {
            drop(writeln!(std::io::stderr(), "skipped: there is no chromium"));
            return None;
        };
        for pipe in ["to", "from"] {
            assert!(Command::new("mkfifo").arg(folder.join(pipe)).status().unwrap().success());
        }
        let mut shell = Command::new("sh");
        shell.current_dir(folder).args(["-c", "exec \"$@\" 3<to 4>from", "sh"]).arg(program);
        shell
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"])
            .args(["--disable-background-networking", "--no-first-run"])
            .args(["--disable-component-update", "--disable-dev-shm-usage"])
            .arg("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
            .arg(format!("--user-data-dir={}", folder.join("profile").display()));
        let child = shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let to = File::create(folder.join("to")).unwrap();
        let from = BufReader::new(File::open(folder.join("from")).unwrap());
        Some(Self { child, to, from, events: Vec::new(), asked: 0 })
    }

    /// Asks for one thing; returns the answer. Events that come before it are kept.
    fn ask(&mut self, session: Option<&str>, method: &str, params: Value) -> Value {
        self.asked += 1;
        let mut question = json!({ "id": self.asked, "method": method, "params": params });
        if let Some(session) = session {
            question["sessionId"] = session.into();
        }
        self.to.write_all(format!("{question}\0").as_bytes()).unwrap();
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).unwrap();
            assert_eq!(bytes.pop(), Some(0), "the browser has gone");
            let said: Value = serde_json::from_slice(&bytes).unwrap();
            if said["id"] == self.asked {
                assert!(said.get("error").is_none(), "{method}: {said}");
                return said["result"].clone();
            }
            self.events.push(said);
        }
    }

    /// Opens a page in a tab of its own, and listens to all that it does.
    fn open(&mut self, url: &str) -> Tab {
        let made = self.ask(None, "Target.createTarget", json!({ "url": "about:blank" }));
        let target = made["targetId"].as_str().unwrap().to_owned();
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = self.ask(None, "Target.attachToTarget", attach);
        let session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Runtime", "Network", "Log", "Page"] {
            self.ask(Some(&session), &format!("{domain}.enable"), json!({}));
        }
        self.ask(Some(&session), "Page.navigate", json!({ "url": url }));
        Tab { target, session }
    }

    /// The value of an expression in a page.
    fn value(&mut self, tab: &Tab, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let said = self.ask(Some(&tab.session), "Runtime.evaluate", params);
        assert!(said.get("exceptionDetails").is_none(), "{expression}: {said}");
        said["result"]["value"].clone()
    }

    /// Waits until an expression is true in a page.
    fn wait(&mut self, tab: &Tab, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.value(tab, expression) != true {
            assert!(Instant::now() < deadline, "{expression} was never true");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Asserts that nothing was said on a console, and nothing was asked of another origin.
    fn assert_kept_to(&self, origin: &str) {
        for event in &self.events {
            let method = event["method"].as_str().unwrap_or_default();
            let is_said = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
            assert!(!is_said.contains(&method), "{event}");
            if method == "Network.requestWillBeSent" {
                let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                assert!(url.starts_with(origin) || url == "about:blank", "{url}");
            }
        }
    }

    /// Asserts that a page breaks no rule of axe-core seriously, if axe-core is there.
    fn assert_for_all(&mut self, tab: &Tab) {
        let Ok(axe) = fs::read_to_string(AXE) else {
            drop(writeln!(std::io::stderr(), "skipped: there is no axe-core in target/axe"));
            return;
        };
        self.value(tab, &format!("{axe}; true"));
        let broken = self.value(
            tab,
            "axe.run().then((found) => found.violations.filter((it) => ['serious', 'critical']\
             .includes(it.impact)).map((it) => [it.id, it.nodes.map((node) => node.html)]))",
        );
        assert!(broken.as_array().unwrap().is_empty(), "{broken}");
    }
}

/// The record in a file that is written about when the page ends.
fn written(path: &Path) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if let Ok(record) = serde_json::from_str(&text) {
            return record;
        }
        assert!(Instant::now() < deadline, "{} was never whole", path.display());
        thread::sleep(Duration::from_millis(20));
    }
}

/// What a page shows in the column of this name of its first table.
const SHOWN: &str = "(name) => { const table = document.querySelector('#live table'); \
    const at = [...table.querySelectorAll('thead th')].findIndex((it) => it.textContent === name); \
    return table.querySelectorAll('tbody tr > *')[at].textContent; }";

#[test]
fn browsers_draw_the_page_each_second_and_its_end_beside_others_that_misbehave() {
    let _turn = shared();
    let folder = crate::outputs::room("web-browser");
    let Some(mut browser) = Browser::start(&folder) else { return };
    let site = Site::of(&folder, &format!("{LINE} --web --web-linger 5m --quiet --json r.json"));
    let url = format!("http://{}{}", site.address, site.path);
    // One that never reads, and one that leaves.
    let lazy = site.ask(&format!("{}live", site.path), "");
    let (first, second) = (browser.open(&url), browser.open(&url));
    for tab in [&first, &second] {
        browser.wait(tab, "document.querySelectorAll('#live svg').length >= 3");
    }
    drop(site.ask(&format!("{}live", site.path), ""));
    let answered = format!("({SHOWN})('answered so far')");
    let before = browser.value(&first, &answered);
    browser.wait(&first, &format!("{answered} !== {before}"));
    zooms(&mut browser, &first);
    for scheme in ["light", "dark"] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.ask(Some(&first.session), "Emulation.setEmulatedMedia", features);
        browser.assert_for_all(&first);
    }
    let close = json!({ "targetId": second.target });
    browser.ask(None, "Target.closeTarget", close);
    // The finished page takes the place of the live one, and has the figures of the record.
    browser.wait(&first, "document.getElementById('live') === null");
    let record = written(&folder.join("r.json"));
    let shown = browser.value(
        &first,
        "[...document.querySelectorAll('tr[data-figures=\"response.all\"] td[data-name]')]\
         .filter((it) => it.querySelector('data') !== null)\
         .map((it) => [it.dataset.name, Number(it.querySelector('data').value)])",
    );
    let mut equal = 0;
    for figure in shown.as_array().unwrap() {
        let name = figure[0].as_str().unwrap();
        // A rate is no member of the times.
        if let Some(kept) = record["response"]["all"][name].as_f64() {
            assert_eq!(figure[1].as_f64(), Some(kept), "{name}");
            equal += 1;
        }
    }
    assert!(equal >= 3, "{shown}");
    let answered = record["totals"]["answered"].as_u64().unwrap();
    assert!(answered > 10_000, "{answered}: no worker noticed");
    browser.assert_for_all(&first);
    browser.assert_kept_to(&format!("http://{}", site.address));
    drop((lazy, browser));
    site.interrupt();
    assert_eq!(site.ends(), 0);
    drop(fs::remove_dir_all(folder));
}

/// A chart zooms by keyboard, holds the picture still meanwhile, and shows all again.
fn zooms(browser: &mut Browser, tab: &Tab) {
    let press = |key: &str| {
        format!(
            "document.querySelector('.plot').dispatchEvent(new KeyboardEvent('keydown', \
             {{ key: '{key}' }})); document.querySelector('.plot svg').getAttribute('viewBox')"
        )
    };
    assert_eq!(browser.value(tab, &press("+")), "250 0 500 400");
    assert_eq!(browser.value(tab, &press("+")), "375 0 250 400");
    let read = "document.querySelector('.readout').textContent";
    browser.value(tab, &press("ArrowRight"));
    assert!(browser.value(tab, read).as_str().is_some_and(|text| text.contains("/s")));
    browser.wait(tab, "document.getElementById('state').textContent.includes('stands still')");
    // It zooms out around the place that was read.
    let out = browser.value(tab, &press("-"));
    assert!(out.as_str().is_some_and(|part| part.ends_with(" 0 500 400")), "{out}");
    assert_eq!(browser.value(tab, &press("0")), "0 0 1000 400");
    browser.wait(tab, "document.getElementById('state').textContent === 'under way'");
}
