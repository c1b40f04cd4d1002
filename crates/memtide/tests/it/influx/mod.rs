//! Points in InfluxDB: a real database receives the record's operations; one that is away, busy or
//! refuses affects only its points, each of which is accounted for.

mod influxd;
pub(crate) mod stub;

use crate::prelude::*;
use influxd::Influxd;
use stub::{Reply, Request, Stub, point};

/// The replies of a stub.
type Answer = fn(usize, &Request) -> Reply;

/// A run of a few thousand operations.
const RUN: &str = "run --rate 4k --duration 500ms --keys 100 --mix get=5,set=1,delete=1 --json -";

/// Number of operations for a real database: `MEMTIDE_INFLUX_OPS` in the environment.
fn many() -> u64 {
    std::env::var("MEMTIDE_INFLUX_OPS").ok().and_then(|word| word.parse().ok()).unwrap_or(50_000)
}

/// Starts the program with these environment variables.
fn start(line: &str, variables: &[(&str, &str)]) -> Running {
    let variables = variables.iter().copied();
    Running::of(program().args(line.split_whitespace()).envs(variables))
}

fn run(line: &str) -> Finished {
    start(line, &[]).finish()
}

/// Number of a record's operations by kind and outcome; all must have ended well.
pub(crate) fn counts(record: &Record) -> BTreeMap<(String, String), u64> {
    let totals = &record.totals;
    assert_eq!(totals.answered, totals.intended, "all are answered");
    let mut counts = BTreeMap::new();
    let mut add = |kind: &str, outcome: &str, count| {
        counts.insert((kind.to_owned(), outcome.to_owned()), count);
    };
    add("get", "hit", totals.hits);
    add("get", "miss", totals.misses);
    for (kind, count) in &record.phases.measure.ops {
        if !["get", "all"].contains(&kind.name()) {
            add(kind.name(), "answered", *count);
        }
    }
    counts
}

/// Number of posted points of operations by kind and outcome; each line is parsed strictly.
pub(crate) fn posted(requests: &[Request]) -> BTreeMap<(String, String), u64> {
    let mut counts = BTreeMap::new();
    for line in requests.iter().flat_map(|request| &request.lines) {
        let (name, tags, fields, time) = point(line).unwrap_or_else(|| panic!("{line}"));
        if name == "memtide_operation" {
            assert!(fields["intended"] <= time as f64, "{line}");
            *counts.entry((tags["kind"].clone(), tags["outcome"].clone())).or_default() += 1;
        } else {
            assert_eq!(name, "memtide_interval", "{line}");
        }
    }
    counts
}

#[test]
fn a_database_has_the_points_of_the_record() {
    let Some(database) = Influxd::start("points") else { return };
    let _turn = shared();
    let ops = many();
    let line = "run --rate 25k --timeout 90s --keys 1000 --mix get=5,set=1,delete=1 --json -";
    let line = format!("{line} --ops-max {ops}");
    let ended = run(&format!("{line} --out influx={} --tag build=7", database.url())).exits(0);
    let record = ended.record();
    assert_eq!(record.totals.answered, ops);
    assert_eq!(database.counts(), counts(&record));
    let answer = database.ask("SHOW SERIES");
    let series = answer["series"][0]["values"].as_array().unwrap().len();
    assert!((4..=200).contains(&series), "{series} series");
    for (name, fraction) in [("p50_ns", 50.0), ("p99_ns", 99.0)] {
        let query = format!(
            "SELECT PERCENTILE(response, {fraction}) FROM memtide_operation WHERE kind = 'get'"
        );
        let found = database.ask(&query)["series"][0]["values"][0][1].as_f64().unwrap();
        let own: Value = serde_json::from_str(&ended.out).unwrap();
        let own = own["response"]["get"][name].as_f64().unwrap();
        assert!((found / own - 1.0).abs() < 0.01, "{name}: {found} there, {own} in the record");
    }
    let whole =
        database.ask("SELECT SUM(measured_answered) FROM memtide_interval WHERE kind = 'all'");
    let sum = whole["series"][0]["values"][0][1].as_u64();
    assert_eq!(sum, Some(record.totals.answered), "{whole}");

    // The database decides how long points are kept: the URL names a retention policy.
    database.ask("CREATE RETENTION POLICY day ON it DURATION 1d REPLICATION 1");
    let ended = run(&format!("{RUN} --out influx={}&rp=day", database.url())).exits(0);
    let kept = database.ask("SELECT COUNT(intended) FROM it.day.memtide_operation");
    let kept = kept["series"][0]["values"][0][1].as_u64();
    assert_eq!(kept, Some(ended.record().totals.intended));
}

#[test]
fn a_database_that_is_killed_in_mid_run_has_all_points_in_the_end() {
    let Some(mut database) = Influxd::start("killed") else { return };
    let _turn = shared();
    let spool = scratch("influx-killed-spool");
    // The run outlasts the database's absence.
    let (ops, rate) = (many(), many().clamp(40_000, 150_000) / 4);
    let line = "run --timeout 90s --keys 1000 --mix get=5,set=1,delete=1 --json -";
    let line = format!("{line} --rate {rate} --ops-max {ops} --spool {},1GB", spool.display());
    let running = Running::start(&format!("{line} --out influx={}", database.url()));
    thread::sleep(Duration::from_millis(1_200));
    database.kill();
    thread::sleep(Duration::from_millis(1_500));
    database.start_again();
    let record = running.finish().exits(0).record();
    assert_eq!(record.totals.answered, ops);
    assert_eq!(database.counts(), counts(&record));
}

#[test]
fn what_a_spool_has_no_room_for_is_counted() {
    let Some(mut database) = Influxd::start("full") else { return };
    let _turn = shared();
    let spool = scratch("influx-full-spool");
    drop(fs::remove_dir_all(&spool));
    let (at, place) = (spool.display(), database.url());
    let line = "run --rate 20k --duration 4s --keys 1000 --mix get=5,set=1,delete=1 --json -";
    let running = Running::start(&format!("{line} --spool {at},200KB --out influx={place}"));
    until("no point is written", || !database.counts().is_empty());
    database.kill();
    let ended = running.finish().exits(1);
    let said = ended.err.lines().find(|line| line.contains("points were delivered"));
    let said = said.unwrap_or_else(|| panic!("{ended}"));
    let all = number(said, " points were delivered");
    let written = number(said, &format!(" of {all} points"));
    let (kept, lost) = (number(said, " are in the spool"), number(said, " are lost"));
    // What a busy machine had not acknowledged when the database ended does not count as written.
    assert!(kept > 0 && lost > 0, "{said}");
    assert_eq!(written + kept + lost, all, "{said}");
    assert!(all > ended.record().totals.intended, "operations and seconds: {said}");
    database.start_again();
    let left = format!("report --from-spool {at} --out influx={place}");
    let left = run(&left).exits(0);
    assert!(
        left.out.starts_with(&format!("{kept} points were delivered to the database")),
        "{left}"
    );
    let seconds = database.ask("SELECT COUNT(length_s) FROM memtide_interval");
    let seconds = seconds["series"][0]["values"][0][1].as_u64().unwrap_or(0);
    assert_eq!(database.counts().values().sum::<u64>() + seconds, all - lost);
}

#[test]
fn a_database_behind_tls_is_one_whose_certificate_is_trusted() {
    let _turn = shared();
    let (stub, certificate) = Stub::with_tls(|_, _| Reply::Whole(204, "", ""));
    let trusted = scratch("influx-authority.pem");
    fs::write(&trusted, certificate).unwrap();
    let place = stub.url("/write?db=x").replacen("http", "https", 1);
    let line = format!("{RUN} --out influx={place}");
    let record = start(&line, &[("SSL_CERT_FILE", trusted.to_str().unwrap())]).finish();
    let record = record.exits(0).record();
    assert_eq!(posted(&stub.requests()), counts(&record));
    let ended = run(&line).exits(1);
    assert!(ended.err.contains("it cannot be reached: ") && ended.err.contains("ertificate"));
    assert_eq!(stub.requests().len(), 0, "nothing leaves before the certificate is believed");
    assert_eq!(ended.record().totals.answered, ended.record().totals.intended);
}

#[test]
fn points_go_where_each_version_wants_them_and_as_the_user_who_may() {
    let secret = scratch("influx-token");
    fs::write(&secret, "from-file\n").unwrap();
    let user = [("MEMTIDE_INFLUX_USER", "a"), ("MEMTIDE_INFLUX_PASSWORD", "b")];
    let token = [("MEMTIDE_INFLUX_TOKEN", "t0k")];
    let file = [("MEMTIDE_INFLUX_TOKEN_FILE", secret.to_str().unwrap())];
    let _turn = shared();
    for (path, variables, target, proof) in [
        ("/write?db=x", &user[..], "/write?db=x&precision=ns", "Basic YTpi"),
        (
            "/api/v2/write?org=o&bucket=b",
            &token,
            "/api/v2/write?org=o&bucket=b&precision=ns",
            "Token t0k",
        ),
        (
            "/api/v3/write_lp?db=x",
            &file,
            "/api/v3/write_lp?db=x&precision=nanosecond",
            "Bearer from-file",
        ),
    ] {
        let stub = Stub::start(|_, _| Reply::Whole(204, "", ""));
        let line = format!("{RUN} --out influx={} --tag t=b\\c", stub.url(path));
        let record = start(&line, variables).finish().exits(0).record();
        let requests = stub.requests();
        for request in &requests {
            assert_eq!(request.target, target);
            assert_eq!(request.headers["authorization"], proof);
            assert_eq!(request.headers["content-encoding"], "gzip");
        }
        assert_eq!(posted(&requests), counts(&record), "{path}");
    }
}

/// The number before `words` in a sentence.
fn number(text: &str, words: &str) -> u64 {
    let Some((before, _)) = text.split_once(words) else { return 0 };
    before.rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Asserts that a run with `stub` ended with its report, and with a sentence that accounts for all
/// points and contains `words`.
fn costs_points(name: &str, stub: &Stub, words: &str) {
    costs_points_at(name, &stub.url("/write?db=x"), words);
}

fn costs_points_at(name: &str, url: &str, words: &str) {
    // A few operations: each point of a batch that is too long is posted alone in the end, and all
    // of them must fit into the time that the end allows, on a busy machine too.
    const FEW: &str = "run --rate 400 --duration 500ms --keys 100 --json -";
    let ended = run(&format!("{FEW} --out influx={url}")).exits(1);
    let record = ended.record();
    let line = ended.err.lines().find(|line| line.contains("points were delivered"));
    let line = line.unwrap_or_else(|| panic!("{name}: {ended}"));
    assert!(line.contains(words), "{name}: {ended}");
    let all = number(line, " points were delivered");
    let written = number(line, &format!(" of {all} points"));
    let parts = number(line, " were refused") + number(line, " are lost");
    assert_eq!(written + parts, all, "{name}: {line}");
    assert!(all > record.totals.intended, "{name}: operations and seconds: {line}");
}

#[test]
fn a_database_that_does_not_take_points_costs_them_alone() {
    let _turn = shared();
    let json = r#"{"error":"partial write: field type conflict dropped=3"}"#;
    let cases: [(_, Answer, _); 11] = [
        ("201", |_, _| Reply::Whole(201, "", "ok"), "it answered 201 (ok)"),
        ("202", |_, _| Reply::Whole(202, "", "queued"), "it answered 202 (queued) and not 204"),
        ("206", |_, _| Reply::Whole(206, "", ""), "it answered 206 and not 204"),
        ("200", |_, _| Reply::Whole(200, "", "log in"), "it answered 200 (log in) and not 204"),
        ("400", |_, _| Reply::Whole(400, "", r#"{"error":"unable to parse"}"#), "unable to parse"),
        ("401", |_, _| Reply::Whole(401, "", ""), "set MEMTIDE_INFLUX_TOKEN"),
        ("404", |_, _| Reply::Whole(404, "", "database not found"), "create the database"),
        ("413", |_, _| Reply::Whole(413, "", "too large"), "it answered 413 (too large)"),
        ("503", |_, _| Reply::Whole(503, "", "timeout"), "it answered 503 (timeout)"),
        ("half", |_, _| Reply::Half, "it cannot be reached"),
        ("never", |_, _| Reply::Never, "it cannot be reached: timeout"),
    ];
    thread::scope(|scope| {
        for (name, reply, words) in cases {
            scope.spawn(move || costs_points(name, &Stub::start(reply), words));
        }
        scope.spawn(move || {
            let partial = Stub::start(move |number, _| match number {
                0 => Reply::Whole(400, "", json),
                _ => Reply::Whole(204, "", ""),
            });
            costs_points("partial", &partial, "; 3 were refused");
        });
    });
}

/// The writes of all versions answer 204, and nothing else is a write.
#[test]
fn only_204_is_a_write_in_each_version() {
    let _turn = shared();
    for place in ["/api/v2/write?org=o&bucket=x", "/api/v3/write_lp?db=x"] {
        let taking = Stub::start(|_, _| Reply::Whole(204, "", ""));
        let record = run(&format!("{RUN} --out influx={}", taking.url(place))).exits(0).record();
        let points = posted(&taking.requests()).values().sum::<u64>();
        assert_eq!(points, record.totals.intended, "{place}");
        let login = Stub::start(|_, _| Reply::Whole(200, "", "log in"));
        costs_points_at(place, &login.url(place), "it answered 200 (log in) and not 204");
    }
}

#[test]
fn a_database_that_is_busy_or_takes_little_gets_all_points() {
    let _turn = shared();
    let busy = Stub::start(|number, _| match number {
        0 => Reply::Whole(429, "Retry-After: 1\r\n", "slower"),
        1 => Reply::Whole(500, "", "engine is restarting"),
        2 => Reply::Half,
        _ => Reply::Whole(204, "", ""),
    });
    let small = Stub::start(|_, request| match request.lines.len() {
        0..=300 => Reply::Whole(204, "", ""),
        _ => Reply::Whole(413, "", "Request Entity Too Large"),
    });
    for stub in [busy, small] {
        let line = format!("{RUN} --out influx={}", stub.url("/write?db=x"));
        let record = run(&line).exits(0).record();
        let requests = stub.requests();
        assert!(posted(&requests).values().sum::<u64>() >= record.totals.intended);
    }
}

#[test]
fn a_record_gives_equal_points_each_time_with_its_own_tags() {
    let _turn = shared();
    let taking = Stub::start(|_, _| Reply::Whole(204, "", ""));
    let path = scratch("influx-record.json");
    let at = path.display();
    run(&format!("run --rate 2k --duration 1500ms --keys 100 --json {at} --tag build=7")).exits(0);
    let place = taking.url("/write?db=x#run=id");
    let [first, again] = [(), ()].map(|()| {
        run(&format!("report {at} --out influx={place}")).exits(0);
        let requests = taking.requests();
        requests.into_iter().flat_map(|request| request.lines).collect::<Vec<_>>()
    });
    assert!(!first.is_empty() && first == again, "{first:?} {again:?}");
    let (_, tags, ..) = point(&first[0]).unwrap();
    assert_eq!((&*tags["build"], tags["id"].len(), tags.get("run")), ("7", 16, None));
    // The user's word for the run is the value of the tag for the run, whatever its name is.
    let line = format!("{RUN} --out influx={place} --tag run=mine");
    let record = run(&line).exits(0).record();
    assert_eq!(record.tags["run"], "mine");
    let requests = taking.requests();
    let (_, tags, ..) = point(&requests[0].lines[0]).unwrap();
    assert_eq!((&*tags["id"], tags.get("run")), ("mine", None));
    for (names, tag) in [("", "kind"), ("#kind=kind", "kind"), ("#kind=op", "op"), ("", "time")] {
        let url = taking.url("/write?db=x");
        run(&format!("{RUN} --plan --out influx={url}{names} --tag {tag}=x"))
            .complains(2, &[&format!("tag {tag}")]);
    }
}

/// Times and fields of the points of seconds, of all kinds together.
fn seconds(stub: &Stub) -> BTreeMap<u64, BTreeMap<String, f64>> {
    let requests = stub.requests();
    let points = requests.iter().flat_map(|request| &request.lines).filter_map(|line| point(line));
    let of_seconds = points.filter(|(name, tags, ..)| {
        name == "memtide_interval" && tags.get("kind").is_some_and(|kind| kind == "all")
    });
    of_seconds.map(|(_, _, fields, time)| (time, fields)).collect()
}

#[test]
fn points_of_a_record_replace_those_of_its_run() {
    let _turn = shared();
    let taking = Stub::start(|_, _| Reply::Whole(204, "", ""));
    let (path, place) = (scratch("influx-origin.json"), taking.url("/write?db=x"));
    let at = path.display();
    let line = "run --rate 1k --duration 2500ms --warmup 300ms --keys 100";
    run(&format!("{line} --json {at} --out influx={place}")).exits(0);
    let live = seconds(&taking);
    run(&format!("report {at} --out influx={place}")).exits(0);
    let again = seconds(&taking);
    assert!(again.len() >= 3);
    assert_eq!(again.keys().collect::<Vec<_>>(), live.keys().collect::<Vec<_>>());
    for (time, fields) in &again {
        for (name, value) in fields {
            assert_eq!(live[time].get(name), Some(value), "{name} at {time}");
        }
    }
}

#[test]
fn a_spool_keeps_what_it_can_and_is_delivered_later() {
    let _turn = shared();
    let folder = scratch("influx-spool");
    drop(fs::remove_dir_all(&folder));
    let at = folder.display();
    let refusing = Stub::start(|_, _| Reply::Whole(401, "", ""));
    let place = refusing.url("/write?db=x");
    let ended = run(&format!("{RUN} --spool {at},1MB --out influx={place}")).exits(1);
    let command = format!("memtide report --from-spool '{at}' --out 'influx={place}");
    assert!(ended.err.contains(&command), "{ended}");
    let record = ended.record();
    let full = run(&format!("{RUN} --spool {at},1KB --out influx={place}")).exits(1);
    assert!(full.err.contains("the spool is full; use a larger one"), "{full}");

    let taking = Stub::start(|_, _| Reply::Whole(204, "", ""));
    run(&format!("report --from-spool {at} --out influx={place}")).exits(1);
    run(&format!("report --from-spool {at} --out influx={}", taking.url("/write?db=x"))).exits(0);
    assert_eq!(posted(&taking.requests()), counts(&record));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);

    // What is no batch is named, and stays.
    let put = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    put("memtide-1-a-000000.lp.gz", b"");
    put("memtide-1-b-000000.lp.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03");
    put("notes.txt", b"mine");
    let url = taking.url("/write?db=x");
    let left = run(&format!("report --from-spool {at} --out influx={url}")).exits(1);
    for name in ["memtide-1-a-000000.lp.gz", "memtide-1-b-000000.lp.gz", "notes.txt"] {
        assert!(left.err.contains(name) && folder.join(name).exists(), "{name}: {left}");
    }
    assert_eq!(taking.requests().len(), 0);

    let line = format!("{RUN} --spool /dev/null/x,1MB --out influx={place}");
    run(&line).complains(2, &["--spool '/dev/null/x' cannot be used", "name a folder"]);
}
