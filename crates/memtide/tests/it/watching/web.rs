//! `--web`: what browsers get and do not get, by plain HTTP requests; and viewers that misbehave.

use crate::agents::Lab;
use crate::prelude::*;
use std::net::{Shutdown, TcpStream};
use std::process::Child;

const LINE: &str = "run --rate 1k --duration 4s --warmup 0 --keys 50";
const PATIENCE: Duration = Duration::from_secs(120);

/// A run with a page.
pub(super) struct Site {
    child: Child,
    pub(super) address: String,
    pub(super) path: String,
    /// What it said before its address.
    said: Vec<String>,
}

impl Site {
    pub(super) fn start(folder: &Path, more: &str) -> Self {
        Self::of(folder, &format!("{LINE} --json r.json {more}"))
    }

    /// The page of any command that prints its address.
    pub(super) fn of(folder: &Path, line: &str) -> Self {
        let mut command = program_in(folder, line);
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let url = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let url = line.split_once("http://").map(|(_, url)| url.to_owned());
            said.push(line);
            url
        });
        thread::spawn(move || lines.count());
        let url = url.unwrap();
        let url = url.split(';').next().unwrap();
        let (address, path) = url.split_once('/').unwrap();
        Self { child, address: address.to_owned(), path: format!("/{path}"), said }
    }

    /// A request for `path` with further headers.
    pub(super) fn ask(&self, path: &str, headers: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let host = if headers.contains("Host:") {
            String::new()
        } else {
            format!("Host: {}\r\n", self.address)
        };
        let request = format!("GET {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// The whole answer to a request.
    pub(super) fn get(&self, path: &str, headers: &str) -> String {
        let mut text = String::new();
        self.ask(path, headers).read_to_string(&mut text).unwrap();
        text
    }

    /// Ends the wait for browsers.
    pub(super) fn interrupt(&self) {
        let pid = rustix::process::Pid::from_raw(self.child.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, Signal::INT).unwrap();
    }

    /// Waits for the end of the run, and ends the wait for browsers.
    fn ends_after_its_run(self) {
        let seconds = self.get(&format!("{}live", self.path), "");
        assert!(seconds.contains("event: over"), "{seconds}");
        self.interrupt();
        assert_eq!(self.ends(), 0);
    }

    pub(super) fn ends(mut self) -> i32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap();
            }
            if Instant::now() > deadline {
                drop(self.child.kill());
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn code(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[test]
fn only_who_knows_the_path_gets_the_page() {
    let _turn = shared();
    let folder = crate::outputs::room("web-guard");
    let site = Site::start(&folder, "--web --web-linger 5m");
    assert!(site.address.starts_with("127.0.0.1:") && site.path.len() == 34, "{}", site.path);
    let page = site.get(&site.path, "");
    assert_eq!(code(&page), "200");
    for header in ["cache-control: no-store", "x-frame-options: DENY", "referrer-policy: no-ref"] {
        assert!(page.contains(header), "{header}");
    }
    let other = format!("/{}/", "0".repeat(32));
    let below = format!("{}other", site.path);
    for path in ["/", "/live", "/favicon.ico", &other, &below, &site.path[..33]] {
        assert_eq!(code(&site.get(path, "")), "404", "{path}");
    }
    let own = format!("Origin: http://{}\r\n", site.address);
    assert_eq!(code(&site.get(&site.path, &own)), "200");
    for headers in ["Host: evil.example\r\n", "Origin: http://evil.example\r\n", "Origin: null\r\n"]
    {
        assert_eq!(code(&site.get(&site.path, headers)), "403", "{headers}");
        // Without the path, not even that is told.
        assert_eq!(code(&site.get("/", headers)), "404", "{headers}");
    }
    site.ends_after_its_run();
}

#[test]
fn a_viewer_gets_each_second_and_then_the_finished_page() {
    let _turn = shared();
    let folder = crate::outputs::room("web-seconds");
    let site = Site::start(&folder, "--web --web-linger 5m --out html=r.html");
    let stream = site.get(&format!("{}live", site.path), "");
    assert!(stream.contains("content-type: text/event-stream"), "{stream}");
    let parts = stream.matches("event: part").count();
    assert!((2..=60).contains(&parts), "{parts} parts");
    assert!(stream.contains("data-suspect=") && stream.contains("<svg"), "no charts");
    assert!(stream.contains("event: over"), "the end is told");
    let finished = site.get(&site.path, "");
    site.ends_after_its_run();
    // One set of charts and figures, and no second page.
    let page = fs::read_to_string(folder.join("r.html")).unwrap();
    assert!(finished.ends_with(&page) || finished.contains(page.trim_end()), "another page");
}

#[test]
fn viewers_that_never_read_or_leave_disturb_nothing() {
    let _turn = shared();
    let folder = crate::outputs::room("web-viewers");
    let site = Site::start(&folder, "--web --web-linger 0s");
    let live = format!("{}live", site.path);
    let lazy: Vec<TcpStream> = (0..2).map(|_| site.ask(&live, "")).collect();
    for _ in 0..5 {
        let mut gone = site.ask(&live, "");
        let _ = gone.read(&mut [0; 100]);
        gone.shutdown(Shutdown::Both).unwrap();
    }
    assert_eq!(site.ends(), 0);
    drop(lazy);
    let record = fs::read_to_string(folder.join("r.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    assert!(record["totals"]["answered"].as_u64().unwrap() > 1_000, "{}", record["totals"]);
}

#[test]
fn a_port_that_is_taken_is_an_error_before_the_run() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let words = [format!("--web=127.0.0.1:{port}"), "in use".to_owned()];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    memtide(&format!("{LINE} --web={port}")).complains(2, &words);
}

#[test]
fn kept_results_are_shown_each_and_side_by_side() {
    let _turn = shared();
    let folder = crate::outputs::room("web-view");
    let run = "run --ops-max 2k --keys 50 --rate 0 --quiet";
    for name in ["a", "b"] {
        run_in(&folder, &format!("{run} --json {name}.json --out html={name}.html")).exits(0);
    }
    let site = Site::of(&folder, "view a.json b.json");
    let list = site.get(&site.path, "");
    assert!(list.contains("side by side") && list.contains("b.json"), "{list}");
    let page = |number: u32| site.get(&format!("{}{number}", site.path), "");
    assert!(page(0).contains("2 records compared"), "{}", page(0));
    let written = fs::read_to_string(folder.join("b.html")).unwrap();
    assert!(page(2).ends_with(&written), "the page of --out html");
    assert_eq!(code(&page(3)), "404");
    assert_eq!(code(&site.get("/0", "")), "404");
    site.interrupt();
    assert_eq!(site.ends(), 0);
}

/// Shares that ran without a master are shown as the run that `memtide merge` makes of them, beside
/// each other, and each; shares of two runs are not added up, and a line says why.
#[test]
fn shares_without_a_master_are_shown_as_one_run_and_each() {
    let _turn = shared();
    let peer = Peer::embedded("");
    let folder = crate::outputs::room("web-shares");
    fs::create_dir(folder.join("one")).unwrap();
    let share = |number: u32, rate: &str, name: &str| {
        let line = format!(
            "run -s {} --quiet --rate {rate} --duration 1s --warmup 0 --keys 50 --shard {number}/2 \
             --json {name}",
            peer.name
        );
        Running::of(&mut program_in(&folder, &line))
    };
    let shares =
        [share(0, "1k", "one/0.json"), share(1, "1k", "one/1.json"), share(1, "2k", "other.json")];
    for running in shares {
        running.finish().exits(0);
    }
    run_in(&folder, "merge one --json all.json --out html=all.html");
    let site = Site::of(&folder, "view one");
    let list = site.get(&site.path, "");
    let names = ["all shares as one run", "side by side", "one/0.json", "one/1.json"];
    let at = names.map(|name| list.find(name).unwrap_or_else(|| panic!("no {name}: {list}")));
    assert!(at.is_sorted(), "{list}");
    let page = |number: u32| site.get(&format!("{}{number}", site.path), "");
    let merged = fs::read_to_string(folder.join("all.html")).unwrap();
    assert!(page(0).ends_with(&merged), "the page of the merged record");
    assert!(page(1).contains("2 records compared"));
    assert_eq!([page(2), page(3)].map(|page| code(&page).to_owned()), ["200", "200"]);
    site.interrupt();
    assert_eq!(site.ends(), 0);

    let site = Site::of(&folder, "view one/0.json other.json");
    let why = "no page shows all shares as one run: 'one/0.json' and 'other.json' are not shares \
               of one run: rate is '1000' in one and '2000' in the other";
    assert!(site.said.iter().any(|line| line.starts_with(why)), "{:?}", site.said);
    site.interrupt();
    assert_eq!(site.ends(), 0);
}

#[test]
fn a_search_and_a_trial_are_watched_as_one() {
    let _turn = shared();
    let common = "--warmup 0 --keys 50 --web --web-linger 5m --quiet --out html=r.html";
    let scan = "scan --rates 500,1k --duration 2s";
    let trial = "ab --a rate=500 --b rate=1k --duration 1s --at-most 60s";
    for (name, line, words) in [
        ("web-scan", scan, ["Times against rate", "step 2 at 1 000/s", "<caption>Steps"]),
        ("web-trial", trial, ["By how much B differs from A so far", "pair 2, arm", "rate=1k"]),
    ] {
        let folder = crate::outputs::room(name);
        let site = Site::of(&folder, &format!("{line} {common}"));
        let stream = site.get(&format!("{}live", site.path), "");
        for word in words {
            assert!(stream.contains(word), "{name} has no {word}");
        }
        assert!(stream.contains("event: over"), "{name}");
        let finished = site.get(&site.path, "");
        site.interrupt();
        // A busy machine may spoil a trial, which then has no answer.
        let code = site.ends();
        assert!(code == 0 || (code == 1 && name == "web-trial"), "{name}: {code}");
        if code == 0 {
            let page = fs::read_to_string(folder.join("r.html")).unwrap();
            assert!(finished.contains(page.trim_end()), "{name}: another page");
        }
    }
}

#[test]
fn a_master_shows_a_row_for_each_agent() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("web"), Peer::embedded(""));
    let _agents = lab.agents(2);
    let address = format!("127.0.0.1:{}", free_port());
    let running = lab.master(&format!(
        "run -s {} --quiet --keys 200 --agents 2 --rate 1k --duration 8s --warmup 0 \
         --web={address}/mine --web-linger 0s",
        peer.name
    ));
    let deadline = Instant::now() + PATIENCE;
    let mut stream = loop {
        match TcpStream::connect(&address) {
            Ok(stream) => break stream,
            Err(why) => assert!(Instant::now() < deadline, "{why}"),
        }
        thread::sleep(Duration::from_millis(20));
    };
    let request = format!("GET /mine/live HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    // The server may end with the run.
    drop(stream.read_to_end(&mut bytes));
    running.finish().exits(0);
    let text = String::from_utf8_lossy(&bytes);
    for word in ["<caption>Agents in the last second", ">a0<", ">a1<"] {
        assert!(text.contains(word), "no {word}");
    }
}
