//! Agents and masters that lie over real connections: the program at the other end ends or goes on
//! in bounded time and memory, names the lie, and shows nothing that a terminal obeys.

use super::{Agent, Lab};
use crate::child::{Running, memtide, shared};
use crate::hostile::peak_kib;
use crate::peer::{Peer, free_port};
use memtide_base::printable::is_obeyed;
use memtide_cluster::files;
use memtide_cluster::message::from_agent::What as Says;
use memtide_cluster::message::to_agent::What as Hears;
use memtide_cluster::message::{
    Aborted, Acknowledged, Alive, Alone, Armed, Bye, Clock, Failed, Fetch, FromAgent, Hello,
    KeptRecord, Note, Ping, Pong, Prepared, Preparing, RecordPart, Refused, Second, Server, Share,
    Step, Stop, ToAgent, Welcome,
};
use memtide_cluster::transport::{AgentNet, FromMaster, FromNet, MasterNet};
use memtide_host::clock::monotonic_ns;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// What a liar writes into every text: escapes, and a line of its own.
const EVIL: &str = "\u{1b}[2Jevil\u{1b}]0;t\u{7}\nmemtide: FORGED\r\u{202e}\u{9b}2J";
/// The words of the run that liars take part in.
const LOAD: &str = "--keys 10 --rate 500 --duration 200ms --warmup 0 --load never";
/// The longest time of a lie, on a busy machine.
const LIE_MAX: Duration = Duration::from_secs(100);
/// The most memory of either program, in KiB.
const PEAK_KIB_MAX: u64 = 400_000;

/// Asserts that a text obeys no stranger, has no line of theirs, and is short.
pub(super) fn is_harmless(text: &str, what: &str) {
    let obeyed = text.chars().find(|c| is_obeyed(*c) && !"\n\t".contains(*c));
    assert_eq!(obeyed, None, "{what}: {text}");
    assert!(!text.lines().any(|line| line.starts_with("memtide: FORGED")), "{what}: {text}");
    assert!(text.len() < 200_000, "{what}: {} bytes", text.len());
}

/// A lie of an agent: what it says, and how its master ends.
struct Lie {
    name: &'static str,
    tells: Tells,
    /// The master's exit code, and words of its stderr.
    code: i32,
    words: &'static str,
}

enum Tells {
    /// Another first message.
    Hello(fn(&mut Hello)),
    /// These messages once it has its share.
    Early(fn(&Share) -> Vec<Says>),
    /// These messages once its load has been armed.
    Armed(fn(&Share) -> Vec<Says>),
    /// Its record, with this change.
    Record(fn(&mut Value)),
    /// Its record, as this text.
    Text(fn(&str) -> Vec<u8>),
}

/// The parts of a record; the digest is that of the bytes.
pub(super) fn parts(run: &[u8], record: &[u8]) -> Vec<Says> {
    let digest = digest(&SHA256, record).as_ref().to_vec();
    let bytes_total = record.len() as u64;
    let part = |data: &[u8]| {
        let (run, data, digest) = (run.to_vec(), data.to_vec(), digest.clone());
        Says::Record(RecordPart { run, data, bytes_total, digest })
    };
    record.chunks(1 << 20).map(part).collect()
}

fn long() -> String {
    format!("{EVIL}{}", "x".repeat(1 << 20))
}

fn times(count: usize, says: impl Fn() -> Says) -> Vec<Says> {
    (0..count).map(|_| says()).collect()
}

fn note(text: String) -> Says {
    Says::Note(Note { text, is_trouble: false })
}

fn failed(exit: u32) -> Says {
    Says::Failed(Failed { exit, why: EVIL.to_owned() })
}

/// The lies of an agent before its load.
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn early() -> Vec<Lie> {
    let hello = |name, change: fn(&mut Hello), code, words| Lie {
        name,
        tells: Tells::Hello(change),
        code,
        words,
    };
    let says = |name, messages: fn(&Share) -> Vec<Says>, code, words| Lie {
        name,
        tells: Tells::Early(messages),
        code,
        words,
    };
    vec![
        hello("too many shares", |h| h.units = u32::MAX, 3, "takes 4294967295 shares of a run"),
        hello("1 025 shares", |h| h.units = 1_025, 3, "at most 1024 are allowed"),
        hello("another protocol", |h| h.protocol = 99, 3, "install the same version"),
        hello("a version of escapes", |h| h.version = long(), 3, "install the same version"),
        hello(
            "busy for ever",
            |h| h.busy_since_unix_s = Some(u64::MAX),
            3,
            "busy with another run",
        ),
        hello("a name of escapes", |h| h.name = long(), 1, "there is no result"),
        hello("no name", |h| h.name.clear(), 1, "agent unnamed"),
        hello(
            "twenty thousand records",
            |h| h.kept = vec![KeptRecord { run: vec![1; 16], bytes: u64::MAX, share: 9 }; 20_000],
            1,
            "there is no result",
        ),
        hello("no CPUs", |h| h.cpus = u32::MAX, 1, "there is no result"),
        says("it died by a signal", |_| vec![failed(137)], 1, "evil"),
        says("it succeeded", |_| vec![failed(0)], 1, "evil"),
        says("an exit code beyond a byte", |_| vec![failed(u32::MAX)], 1, "evil"),
        says("it was interrupted", |_| vec![failed(130)], 130, "evil"),
        says("a long refusal", |_| vec![Says::Refused(Refused { why: long() })], 2, "evil"),
        says("ready twice", |_| times(2, || Says::Prepared(Prepared {})), 3, "ready without"),
        says("hello again", |_| vec![Says::Hello(Hello::default())], 3, "unknown message"),
        says(
            "seconds too early",
            |_| times(2_000, || Says::Second(Second { interval: vec![9; 99] })),
            3,
            "was not running",
        ),
        says(
            "a flood of notes, then an end",
            |_| [times(3_000, || note("n".repeat(9_000))), vec![failed(1)]].concat(),
            1,
            "there is no result",
        ),
        says(
            "a flood of troubles",
            |_| {
                let trouble = || Says::Note(Note { text: EVIL.to_owned(), is_trouble: true });
                [times(3_000, trouble), vec![failed(1)]].concat()
            },
            1,
            "evil",
        ),
        says(
            "a flood of progress",
            |_| {
                let what = || Says::Preparing(Preparing { done: u64::MAX, what: long() });
                [times(40, what), vec![failed(1)]].concat()
            },
            1,
            "there is no result",
        ),
        says(
            "a flood of pongs from the future",
            |_| {
                let pong = || Says::Pong(Pong { number: u64::MAX, clock_ns: u64::MAX });
                [times(5_000, pong), vec![failed(1)]].concat()
            },
            1,
            "there is no result",
        ),
        says("a record of no run", |_| parts(&[], b"{}"), 1, "another run"),
        says("a record of another run", |_| parts(&[9; 16], b"{}"), 1, "another run"),
        says(
            "a record without an end",
            |share| {
                let part = RecordPart { run: share.run.clone(), data: vec![b'{'], ..endless() };
                vec![Says::Record(part)]
            },
            1,
            "are allowed",
        ),
        says(
            "more than it said",
            |share| {
                let part = RecordPart { bytes_total: 1, data: vec![b' '; 1 << 20], ..endless() };
                vec![Says::Record(RecordPart { run: share.run.clone(), ..part })]
            },
            1,
            "longer than it said",
        ),
        says(
            "another digest",
            |share| {
                let part = RecordPart { bytes_total: 2, data: b"{}".to_vec(), ..endless() };
                vec![Says::Record(RecordPart { run: share.run.clone(), ..part })]
            },
            1,
            "digest differs",
        ),
        says("loneliness, then an end", |_| lonely(), 1, "there is no result"),
    ]
}

fn endless() -> RecordPart {
    RecordPart { bytes_total: u64::MAX, digest: vec![7; 32], ..RecordPart::default() }
}

fn lonely() -> Vec<Says> {
    [times(5_000, || Says::Alone(Alone {})), vec![failed(1)]].concat()
}

/// The lies of an agent about its load.
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn late() -> Vec<Lie> {
    let says = |name, messages: fn(&Share) -> Vec<Says>, code, words| Lie {
        name,
        tells: Tells::Armed(messages),
        code,
        words,
    };
    let record = |name, change: fn(&mut Value), code, words| Lie {
        name,
        tells: Tells::Record(change),
        code,
        words,
    };
    let text = |name, change: fn(&str) -> Vec<u8>, words| Lie {
        name,
        tells: Tells::Text(change),
        code: 1,
        words,
    };
    vec![
        // So the changes below are what is refused.
        record("the truth", |_| {}, 0, ""),
        says("a second of noise", |_| vec![second(vec![0xff; 4_000])], 1, "there is no result"),
        says(
            "a second without an end",
            |_| vec![second(vec![b'['; 2 << 20])],
            1,
            "there is no result",
        ),
        record("another share", |r| r["share"]["number"] = json!(1), 1, "the record of share"),
        record("of another number", |r| r["share"]["of"] = json!(7), 1, "the record of share"),
        record("two shares", |r| r["share"]["units"] = json!(2), 1, "the record of share"),
        record("of all", |r| r["share"]["units"] = json!(u32::MAX), 1, "the record of share"),
        record("no share", |r| r["share"] = Value::Null, 1, "not the record of a share"),
        record("no agent", |r| drop(agent(r).take()), 1, "not that of an agent"),
        record("an earlier run", |r| agent(r)["run"] = json!("00".repeat(16)), 1, "earlier"),
        record("another agent", |r| agent(r)["name"] = json!(EVIL), 1, "of another agent"),
        record("another instant", |r| agent(r)["armed_ns"] = json!("7"), 1, "another instant"),
        record("no instant", |r| agent(r)["armed_ns"] = Value::Null, 1, "another instant"),
        record("it measured for years", |r| r["measured_s"] = json!(1e9), 1, "measured"),
        record("it measured backwards", |r| r["measured_s"] = json!(-1.0), 1, "measured"),
        record("it measured nothing known", |r| r["measured_s"] = Value::Null, 1, "record"),
        record(
            "another scenario",
            |r| r["share"]["scenario_digest"] = json!(EVIL),
            1,
            "another scenario",
        ),
        record("it did not run", |r| r["share"]["not_run"] = json!(EVIL), 1, "did not run"),
        record("another version", |r| r["schema"] = json!("memtide.record/9"), 1, "schema"),
        record("more answers", |r| r["totals"]["answered"] = json!(u64::MAX), 1, "record"),
        record("fewer intended", |r| r["totals"]["intended"] = json!(0), 1, "record"),
        record("phases that disagree", |r| r["phases"]["measure"]["sent"] = json!(1), 1, "record"),
        record("a lane of others", |r| r["lanes"]["first"] = json!(5), 1, "lanes"),
        record("all lanes", |r| r["lanes"]["count"] = json!(60_000), 1, "lanes"),
        record("8 000 seconds", |r| repeat(&mut r["seconds"], 8_000), 1, "record"),
        record("20 000 intervals", |r| repeat(&mut r["intervals"], 20_000), 1, "record"),
        record(
            "a distribution of noise",
            |r| r["response"]["all"]["histogram"] = json!("AAAA"),
            1,
            "record",
        ),
        record(
            "more in a server",
            |r| r["servers"][0]["totals"]["intended"] = json!(1),
            1,
            "record",
        ),
        record("a server of escapes", |r| r["servers"][0]["name"] = json!(EVIL), 0, ""),
        record("a server more", |r| repeat(&mut r["servers"], 9_000), 1, "record"),
        record("a window of years", |r| r["window_ns"] = json!(u64::MAX), 1, "record"),
        text("no JSON", |_| EVIL.as_bytes().to_vec(), "record"),
        text("no text", |_| vec![0xff; 9_000], "not text"),
        text("half of it", |text| text.as_bytes()[..text.len() / 2].to_vec(), "record"),
        text("more behind it", |text| format!("{text}{text}").into_bytes(), "record"),
        text("no end of brackets", |_| vec![b'['; 8 << 20], "record"),
        text("spaces", |_| vec![b' '; 48 << 20], "record"),
        text("a number beyond all", |text| text.replacen("0.2,", "1e999,", 1).into(), "record"),
    ]
}

fn second(interval: Vec<u8>) -> Says {
    Says::Second(Second { interval })
}

fn agent(record: &mut Value) -> &mut Value {
    &mut record["share"]["agent"]
}

/// Repeats the first entry of an array.
fn repeat(array: &mut Value, count: usize) {
    let first = array[0].clone();
    *array = Value::Array(vec![first; count]);
}

/// An agent that lies to the master at the other end, until that ends the connection or is `over`.
fn lie(net: &AgentNet, lie: &Lie, base: &str, over: &AtomicBool) {
    let mut share = None;
    let send = |all: Vec<Says>| {
        all.into_iter().for_each(|what| net.send(FromAgent { what: Some(what) }));
    };
    while !over.load(Ordering::Relaxed) {
        let message = match net.next(Duration::from_millis(50)) {
            Some(FromMaster::Message { message, .. }) => message.what,
            // The master dials again as long as it wants the agent.
            Some(FromMaster::Closed { .. }) if share.is_some() => return,
            _ => continue,
        };
        match (message, &lie.tells, &share) {
            (Some(Hears::Share(given)), tells, _) => {
                send(match tells {
                    Tells::Hello(_) => vec![failed(1)],
                    Tells::Early(messages) => messages(&given),
                    _ => vec![Says::Prepared(Prepared {})],
                });
                share = Some(given);
            }
            (Some(Hears::Armed(_)), Tells::Armed(messages), Some(share)) => send(messages(share)),
            (Some(Hears::Armed(armed)), tells, Some(share)) => {
                let mut record = own_record(base, share, armed.clock_ns);
                if let Tells::Record(change) = tells {
                    change(&mut record);
                }
                let text = record.to_string();
                let bytes = match tells {
                    Tells::Text(change) => change(&text),
                    _ => text.into_bytes(),
                };
                send(parts(&share.run, &bytes));
            }
            _ => {}
        }
    }
}

/// The record that belongs to a share, made of that of a plain run of the same scenario.
fn own_record(base: &str, share: &Share, armed_ns: u64) -> Value {
    let mut record: Value = serde_json::from_str(base).unwrap();
    let run: String = share.run.iter().map(|byte| format!("{byte:02x}")).collect();
    let of = &mut record["share"];
    of["start"] = json!("agents");
    of["agent"] = json!({"name": "liar", "run": run, "armed_ns": armed_ns.to_string()});
    record
}

/// Runs a master against one liar; returns what went wrong, if anything did.
fn against(lab: &Lab, peer: &Peer, it: &Lie, base: &str) {
    let join = files::read_join(&lab.join()).unwrap();
    let net = AgentNet::listen("127.0.0.1:0", &join, monotonic_ns).unwrap();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let (protocol, name) = (memtide_cluster::PROTOCOL, "liar".to_owned());
    let mut hello = Hello { protocol, version, name, cpus: 1, ..Hello::default() };
    if let Tells::Hello(change) = it.tells {
        change(&mut hello);
    }
    net.set_hello(hello);
    let address = net.local_address().unwrap();
    let began = Instant::now();
    // A master waits that long for another agent than one that it does not take.
    let expect = if matches!((&it.tells, it.code), (Tells::Hello(_), 3)) { "9s" } else { "90s" };
    let line = format!("run -s {} --quiet --agents {address} --expect {expect} {LOAD}", peer.name);
    let master = lab.master(&line);
    let (id, mut peak) = (master.id(), 0);
    let over = AtomicBool::new(false);
    let finished = thread::scope(|scope| {
        scope.spawn(|| lie(&net, it, base, &over));
        while let kib @ 1.. = peak_kib(id)
            && began.elapsed() < LIE_MAX
        {
            peak = peak.max(kib);
            thread::sleep(Duration::from_millis(5));
        }
        over.store(true, Ordering::Relaxed);
        assert!(began.elapsed() < LIE_MAX, "{}: it goes on", it.name);
        Running::finish(master)
    });
    let Lie { name, code, words, .. } = it;
    assert!(!finished.err.contains("panicked"), "{name}: {finished}");
    assert!(finished.code == Some(*code) && finished.err.contains(words), "{name}: {finished}");
    is_harmless(&finished.err, name);
    is_harmless(&finished.out, name);
    assert!(peak < PEAK_KIB_MAX, "{name}: {peak} KiB");
}

/// Does `act` for each of `all` on a few threads; reports every failure.
pub(super) fn on_threads<T: Sync>(all: &[T], threads: usize, act: impl Fn(usize, &T) + Sync) {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(0));
    thread::scope(|scope| {
        for thread in 0..threads {
            let (next, wrong, act) = (&next, &wrong, &act);
            scope.spawn(move || {
                while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let done = std::panic::AssertUnwindSafe(|| act(thread, one));
                    if std::panic::catch_unwind(done).is_err() {
                        *wrong.lock().unwrap() += 1;
                    }
                }
            });
        }
    });
    assert_eq!(*wrong.lock().unwrap(), 0, "see the failures above");
}

#[test]
fn every_lie_of_an_agent_ends_its_run_in_bounded_time_and_memory() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("liars"), Peer::memcached(""));
    let file = lab.path("base.json").display().to_string();
    memtide(&format!("run -s {} --quiet --shard 0/1 --json {file} {LOAD}", peer.name)).exits(0);
    let base = fs::read_to_string(file).unwrap();
    let lies: Vec<Lie> = early().into_iter().chain(late()).collect();
    assert!(lies.len() > 60, "{}", lies.len());
    on_threads(&lies, 24, |_, it| against(&lab, &peer, it, &base));
}

/// A lie of a master: what it sends, and how the agent answers.
struct Order {
    name: &'static str,
    messages: fn(&str) -> Vec<Hears>,
    answer: Expected,
}

enum Expected {
    /// A refusal or failure with this word.
    No(&'static str),
    /// It closes the connection.
    Leaves,
    /// It goes on, and answers a ping after all messages.
    Goes,
}
use Expected::{Goes, Leaves, No};

fn share(scenario: String) -> Share {
    Share { run: vec![7; 16], scenario, of: 1, units: 1, ..Share::default() }
}

/// A share of a load on `server` with more lines.
fn of(server: &str, more: &str) -> Share {
    share(format!(
        "server = ['{server}']\nrate = 100.0\nduration = '60s'\nload = 'never'\nkeys = 10\n{more}"
    ))
}

fn asks(share: Share) -> Vec<Hears> {
    vec![Hears::Share(share)]
}

fn with(step: (f64, u64)) -> Option<Step> {
    let (rate, rest_ns) = step;
    Some(Step { number: 1, rate_per_s: Some(rate), keeps_data: false, rest_ns, longer: 1 })
}

/// A share of a step of which the scenario's 10 minutes are allowed, and 24 times as long is not.
fn lengthened(server: &str) -> Share {
    let scenario = of(server, "").scenario.replace("'60s'", "'10m'");
    let step = with((100.0, 0)).map(|step| Step { longer: 24, ..step });
    Share { step, ..share(scenario) }
}

/// The lies of a master about shares.
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn shares() -> Vec<Order> {
    let asks_for =
        |name, messages: fn(&str) -> Vec<Hears>, word| Order { name, messages, answer: No(word) };
    vec![
        asks_for("a share beyond", |s| asks(Share { number: 5, ..of(s, "") }), "no share 5 of 1"),
        asks_for("no units", |s| asks(Share { units: 0, ..of(s, "") }), "no share"),
        asks_for("all units", |s| asks(Share { units: u32::MAX, ..of(s, "") }), "no share"),
        asks_for("of none", |s| asks(Share { of: 0, ..of(s, "") }), "no share 0 of 0"),
        asks_for("of too many", |s| asks(Share { of: u32::MAX, ..of(s, "") }), "shares"),
        asks_for("no TOML", |_| asks(share(format!("{EVIL} = = ["))), "scenario"),
        asks_for("3 MB of nothing", |_| asks(share("#".repeat(3 << 20))), "no server"),
        asks_for("an unknown field", |s| asks(of(s, "evil = 1")), "evil"),
        asks_for("a field of escapes", |s| asks(of(s, "\"\\u001b[2J\\nFORGED\" = 1")), "FORGED"),
        asks_for(
            "nested without an end",
            |_| asks(share("a=".to_owned() + &"[".repeat(1 << 20))),
            "",
        ),
        asks_for("a file", |s| asks(of(s, "json = '/tmp/memtide-evil.json'")), "json"),
        asks_for("a file of samples", |s| asks(of(s, "samples = '/tmp/memtide-evil'")), "samples"),
        asks_for("a user", |s| asks(of(s, "user = 'root'")), "user"),
        asks_for("a password", |s| asks(of(s, "user = 'a'\npassword = 'b'")), "user"),
        asks_for("another share", |s| asks(of(s, "shard = '0/2'")), "shard"),
        asks_for("another start", |s| asks(of(s, "start-at = '@99'")), "start-at"),
        asks_for("no server", |_| asks(share("rate = 1.0".to_owned())), "no server"),
        asks_for(
            "a server elsewhere",
            |_| asks(of("192.0.2.1:11211", "")),
            "not among the targets",
        ),
        asks_for(
            "a server elsewhere by the master's word",
            |_| {
                let addresses = vec!["192.0.2.1:11211".to_owned()];
                let name = "nowhere.invalid:11211".to_owned();
                let servers = vec![Server { name, addresses }];
                asks(Share { servers, ..of("nowhere.invalid:11211", "") })
            },
            "not among the targets",
        ),
        asks_for("a socket", |_| asks(of("unix:/run/evil.sock", "")), "not among the targets"),
        asks_for("threads", |s| asks(of(s, "threads = 60000\nconnections = 60000")), "threads"),
        asks_for("connections", |s| asks(of(s, "connections = 4000000000")), "connections"),
        asks_for(
            "values",
            |s| asks(of(s, "value-size = 1000000000\nvalue-max = '1GiB'")),
            "memory",
        ),
        asks_for("depth", |s| asks(of(s, "connections = 1000\ndepth = 65536")), ""),
        asks_for(
            "keys to verify",
            |s| asks(of(s, "verify = 1\nkeys = '1T'\nverify-keys = '1G'")),
            "",
        ),
        asks_for("windows", |s| asks(of(s, "clients = 1000\nwindow = '1M'")), "memory"),
        asks_for("rows", |s| asks(of(s, "interval = '1ns'")), "interval"),
        asks_for(
            "no number as a rate",
            |_| asks(share("server=['a']\nrate = nan".to_owned())),
            "rate",
        ),
        asks_for(
            "a step's rate of no number",
            |s| asks(Share { step: with((f64::NAN, 0)), ..of(s, "") }),
            "not possible",
        ),
        asks_for(
            "a negative step",
            |s| asks(Share { step: with((-1.0, 0)), ..of(s, "") }),
            "not possible",
        ),
        asks_for(
            "a step beyond all",
            |s| asks(Share { step: with((1e300, 0)), ..of(s, "") }),
            "not possible",
        ),
        asks_for(
            "a rest without an end",
            |s| asks(Share { step: with((1.0, u64::MAX)), ..of(s, "") }),
            "too long",
        ),
        asks_for(
            "samples",
            |s| asks(Share { samples: true, ..of(s, "") }),
            "no folder for samples",
        ),
        asks_for("points", |s| asks(Share { points: true, ..of(s, "") }), "no database"),
        asks_for("longer than allowed", |s| asks(of(s, "warmup = '9h'")), "duration-max"),
        asks_for("a step longer than allowed", |s| asks(lengthened(s)), "duration-max"),
    ]
}

/// The lies of a master in the order and content of its messages.
fn orders() -> Vec<Order> {
    let order = |name, messages: fn(&str) -> Vec<Hears>, answer| Order { name, messages, answer };
    vec![
        order("no run", |s| asks(Share { run: Vec::new(), ..of(s, "") }), Leaves),
        order("a run of a path", |s| asks(Share { run: b"../../x".to_vec(), ..of(s, "") }), Leaves),
        order(
            "a run without an end",
            |s| asks(Share { run: vec![1; 1 << 20], ..of(s, "") }),
            Leaves,
        ),
        order("a second share", |s| [asks(of(s, "")), asks(of(s, ""))].concat(), Leaves),
        order(
            "a start before it is ready",
            |s| [asks(of(s, "")), vec![Hears::Armed(Armed { clock_ns: 1 })]].concat(),
            Leaves,
        ),
        order("a start of nothing", |_| vec![Hears::Armed(Armed { clock_ns: u64::MAX })], Goes),
        order(
            "a clock of no sense",
            |_| {
                let clock = Clock { clock_ns: u64::MAX, ahead_ns: i64::MIN, error_ns: u64::MAX };
                vec![Hears::Clock(clock); 1_000]
            },
            Goes,
        ),
        order(
            "an end of nothing, at length",
            |_| vec![Hears::Stop(Stop { aborted: None, why: long() }); 5],
            Goes,
        ),
        order(
            "conditions of escapes",
            |s| {
                let (condition, why) = (long(), long());
                let aborted =
                    Aborted { condition, measured: Some(f64::NAN), why, after_s: f64::INFINITY };
                let stop = Stop { aborted: Some(aborted), why: EVIL.to_owned() };
                [asks(of(s, "")), vec![Hears::Stop(stop)]].concat()
            },
            Goes,
        ),
        order(
            "a receipt of a path",
            |_| {
                let run = b"../../../etc/passwd".to_vec();
                vec![Hears::Acknowledged(Acknowledged { run, share: 0 })]
            },
            Goes,
        ),
        order(
            "receipts of nothing",
            |_| vec![Hears::Acknowledged(Acknowledged { run: vec![9; 16], share: u32::MAX }); 500],
            Goes,
        ),
        order(
            "a record of a path",
            |_| vec![Hears::Fetch(Fetch { run: b"../../x".to_vec(), share: 0 })],
            No("no longer has"),
        ),
        order(
            "records that it never had",
            |_| vec![Hears::Fetch(Fetch { run: vec![9; 16], share: 3 }); 300],
            No("no longer has"),
        ),
        order("a refusal of escapes", |_| vec![Hears::Refused(Refused { why: long() })], Leaves),
        order("no more work", |_| vec![Hears::Bye(Bye {})], Leaves),
        order("pings", |_| (0..500).map(|number| Hears::Ping(Ping { number })).collect(), Goes),
        order("signs of life", |_| vec![Hears::Alive(Alive {}); 800], Goes),
        order("a welcome", |_| vec![Hears::Welcome(Welcome { version: long() }); 9], Goes),
    ]
}

/// Sends the messages of a lie to the agent at `address`, and checks its answer.
fn order(lab: &Lab, server: &str, address: &str, it: &Order) {
    let keys = files::read_identity(&lab.path("key")).unwrap();
    let token = keys.join.token.clone();
    let dial = vec![address.to_owned()];
    let net = MasterNet::start(&keys.identity, token, None, dial, monotonic_ns).unwrap();
    let (began, mut peer, mut heard) = (Instant::now(), 0, String::new());
    let last = u64::MAX - 1;
    loop {
        assert!(began.elapsed() < LIE_MAX, "{}: there is no answer: {heard}", it.name);
        match net.next(Duration::from_millis(50)) {
            // The share of the lie before may not have ended yet.
            Some(FromNet::Opened { peer, hello, .. }) if hello.busy_since_unix_s.is_some() => {
                net.close(peer);
                drop(net);
                thread::sleep(Duration::from_millis(100));
                return order(lab, server, address, it);
            }
            Some(FromNet::Opened { peer: opened, .. }) => {
                peer = opened;
                let ping = Hears::Ping(Ping { number: last });
                for what in (it.messages)(server).into_iter().chain([ping]) {
                    net.send(peer, ToAgent { what: Some(what) });
                }
            }
            Some(FromNet::Closed { why, .. }) if peer > 0 => {
                assert!(matches!(it.answer, Leaves), "{}: it left: {why}; {heard}", it.name);
                return;
            }
            Some(FromNet::Message { message, .. }) => match (message.what, &it.answer) {
                (
                    Some(Says::Refused(Refused { why }) | Says::Failed(Failed { why, .. })),
                    No(word),
                ) => {
                    assert!(why.contains(word), "{}: {why}", it.name);
                    return;
                }
                (Some(Says::Pong(pong)), Goes) if pong.number == last => return,
                (other, _) => heard += &format!("{other:.200?}\n"),
            },
            _ => {}
        }
    }
}

#[test]
fn no_lie_of_a_master_ends_an_agent_or_takes_its_memory() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("tyrants"), Peer::memcached(""));
    let limits = "--memory-max 100M --duration-max 1h --threads-max 8";
    let agents: Vec<(Agent, String)> = (0..3)
        .map(|number| {
            let address = format!("127.0.0.1:{}", free_port());
            let words = format!("--listen {address} {limits}");
            let agent = lab.agent_with(&format!("a{number}"), &words);
            agent.await_log("waits for its master");
            (agent, address)
        })
        .collect();
    let all: Vec<Order> = shares().into_iter().chain(orders()).collect();
    assert!(all.len() > 50, "{}", all.len());
    on_threads(&all, agents.len(), |at, it| order(&lab, &peer.name, &agents[at].1, it));
    for (agent, _) in &agents {
        let kib = peak_kib(agent.id());
        assert!(kib < PEAK_KIB_MAX, "{kib} KiB: {}", agent.said());
        is_harmless(&agent.said(), "the log");
        assert!(agent.said().lines().all(|line| line.chars().count() < 1_100));
        let said = agent.said();
        assert!(!said.contains("panicked"), "{said}");
    }
    // What the agents have kept are records, in their folders.
    for folder in fs::read_dir(lab.path("")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        let is_own = name == "key" || name.starts_with('a');
        assert!(is_own, "{name} was written");
    }
    let addresses: Vec<&str> = agents.iter().map(|(_, address)| address.as_str()).collect();
    lab.run(&peer, &addresses.join(","), "--rate 500 --duration 500ms --warmup 0 --expect 60s");
}
