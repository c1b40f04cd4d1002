//! The floor of a load: the response times of one that has the same connections, sizes, wait and
//! rate, and whose answers cost next to nothing. It is what memtide, the kernel and the way to the
//! server contribute. Floors are kept for an hour in the user's cache.

use crate::console::say;
use crate::fresh;
use memtide_base::Span;
use memtide_host::clock::since_unix;
use memtide_host::signal::StopFlag;
use memtide_host::{machine, with_cpus};
use memtide_record::{FloorRecord, LoopKind, PlanRecord, Responder};
use memtide_scenario::{Kind, Load, Outputs, Scenario, Settings, Tls, Warmup};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;

/// How long a floor is kept.
const KEPT_S: u64 = 3_600;
/// Largest number of floors in the cache.
const FLOORS_MAX: usize = 256;
/// Keys of a floor: so few that all fit into a small server.
const KEYS_MAX: u64 = 1_000;
/// Operations that a floor should have, for its p99, and how long its window may be.
const OPS: f64 = 1_000.0;
const SHORTEST_S: f64 = 1.0;
const SHORTEST: Span = Span::from_s(1);
const LONGEST_S: f64 = 3.0;
const WARMUP: Span = Span::from_ms(200);
/// Prefix of keys that no server has.
const NO_KEYS: &str = "memtide-floor-";
/// Beginning of the address of a server that is asked by datagrams.
const UDP: &str = "udp:";
/// Beginning of the address of a unix socket, and why its load has no floor.
const UNIX: &str = "unix:";
const NO_UNIX: &str = "the embedded server, which would answer its load, has no unix socket";

/// Fields on which a floor depends besides the decisions of the plan.
const FIELDS: [&str; 20] = [
    "rate-unit",
    "arrival",
    "protocol",
    "transport",
    "schedule",
    "mix",
    "multiget",
    "multiget-share",
    "key-size",
    "value-size",
    "value-max",
    "noreply",
    "pin",
    "bind",
    "nagle",
    "send-buffer",
    "receive-buffer",
    "busy-poll",
    "tls",
    "tls-min",
];

/// Whether a floor is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloorMode {
    /// It is not.
    Off,
    /// Unless there is one that is less than an hour old.
    Kept,
    /// In any case, once by each process.
    Fresh,
}

impl FloorMode {
    /// The words of the command line.
    pub const WORDS: [&str; 3] = ["off", "kept", "fresh"];

    /// What the user said; without a word `usual`, but nothing for runs of less than a second,
    /// which would take less time than their floor.
    fn of(word: Option<&str>, usual: Self, settings: &Settings) -> Self {
        match word {
            Some("kept") => Self::Kept,
            Some("fresh") => Self::Fresh,
            Some(_) => Self::Off,
            None if settings.scenario.duration.is_some_and(|length| length < SHORTEST) => Self::Off,
            None => usual,
        }
    }
}

/// The floors of a scenario at any rate. Clones share what they have measured.
#[derive(Clone)]
pub struct Floors {
    mode: FloorMode,
    settings: Settings,
    /// Floors by what they depend on, each with the second since 1970 in which it was measured.
    known: Rc<RefCell<Map<String, Value>>>,
}

impl Floors {
    /// Floors of the scenario in `settings`, if the user's `word` or the command's `usual` mode
    /// wants them.
    pub fn new(word: Option<&str>, usual: FloorMode, settings: &Settings) -> Option<Self> {
        let (mode, known) = (FloorMode::of(word, usual, settings), Rc::default());
        (mode != FloorMode::Off).then(|| Self { mode, settings: settings.clone(), known })
    }

    /// The floor of a load with this plan, which is made on `cpus`; none in a closed loop, over a
    /// unix socket, if it cannot be measured, and once `stop` is raised.
    pub(crate) fn floor(
        &self,
        plan: &PlanRecord,
        cpus: &[usize],
        stop: &StopFlag,
    ) -> Option<FloorRecord> {
        let rate_per_s = plan.rate_per_s.filter(|per_s| *per_s > 0.0)?;
        if plan.loop_kind != LoopKind::Open || plan.churn.is_some() || plan.clients.is_some() {
            return None;
        }
        let mut addresses = plan.servers.iter().flat_map(|server| &server.addresses);
        if addresses.any(|address| address.starts_with(UNIX)) {
            return self.without(UNIX, NO_UNIX);
        }
        let responder = responder(plan);
        let key = self.key(plan, responder, rate_per_s, cpus);
        let now_s = since_unix().ns() / 1_000_000_000;
        if let Some(kept) = self.kept(&key, now_s) {
            return Some(kept);
        }
        // What failed once in this process is not tried before each run.
        if self.known.borrow().get(&key) == Some(&Value::Null) {
            return None;
        }
        let settings = self.load(plan, responder, rate_per_s);
        let measured = with_cpus(cpus, || fresh::run(&settings, &[], true, &|| stop.is_raised()));
        if stop.is_raised() {
            return None;
        }
        let Ok(record) = measured else { return self.without(&key, "its load failed") };
        // A floor of a busy machine would say that every figure is near it, for an hour.
        if record.believable.spoils_all() {
            let reasons = record.believable.reasons.iter().map(|reason| &*reason.message);
            return self.without(&key, &reasons.collect::<Vec<_>>().join("; "));
        }
        let Some(times) = record.response.get(&Kind::All) else {
            return self.without(&key, "its load had no answer");
        };
        let floor = FloorRecord::of(responder, rate_per_s, times);
        self.keep(key, now_s, &floor);
        Some(floor)
    }

    /// Remembers that there is no floor under `key`, and says why the first time.
    fn without(&self, key: &str, why: &str) -> Option<FloorRecord> {
        let before = self.known.borrow_mut().insert(key.to_owned(), Value::Null);
        if before != Some(Value::Null) && !self.settings.outputs.quiet {
            say(&format!("memtide: no floor was measured, because {why}"));
        }
        None
    }

    /// What a floor depends on. Rates of one octave share a floor.
    fn key(
        &self,
        plan: &PlanRecord,
        responder: Responder,
        rate_per_s: f64,
        cpus: &[usize],
    ) -> String {
        let spelled = self.settings.scenario.spelled();
        let fields =
            FIELDS.iter().filter_map(|name| Some(format!("{name} {}", spelled.get(*name)?)));
        let at = match responder {
            Responder::Embedded => "here".to_owned(),
            Responder::Server => {
                plan.servers.iter().map(|it| it.addresses.join(",")).collect::<Vec<_>>().join(" ")
            }
        };
        let PlanRecord { connections, depth, workers, wait, io, .. } = plan;
        let octave = rate_per_s.log2().round();
        let version = env!("CARGO_PKG_VERSION");
        let decided = format!(
            "{version}; at {at}; {connections} connections; depth {depth}; {workers} workers \
             on CPUs {cpus:?}; {wait}; {io}; rate 2^{octave}"
        );
        [decided].into_iter().chain(fields).collect::<Vec<_>>().join("; ")
    }

    /// The load that measures the floor.
    fn load(&self, plan: &PlanRecord, responder: Responder, rate_per_s: f64) -> Settings {
        let of = self.settings.scenario.clone();
        let window_s = (OPS / rate_per_s).clamp(SHORTEST_S, LONGEST_S);
        let servers = plan.servers.len().max(1) as u32;
        let same = Scenario {
            rate: Some(rate_per_s),
            rate_unit: of.rate_unit,
            arrival: of.arrival,
            schedule: of.schedule,
            threads: Some(plan.workers),
            pin: of.pin,
            connections: Some(plan.connections),
            depth: Some(plan.depth),
            keys: of.keys.min(KEYS_MAX),
            key_size: of.key_size,
            value_size: of.value_size,
            value_max: of.value_max,
            mix: of.mix,
            multiget: of.multiget,
            multiget_share: of.multiget_share,
            noreply: of.noreply,
            wait: plan.wait.parse().ok().or(of.wait),
            io: plan.io.parse().ok().or(of.io),
            protocol: of.protocol,
            transport: of.transport,
            sockets: of.sockets,
            warmup: Warmup::Fixed(WARMUP),
            duration: Some(Span::from_s_f64(window_s)),
            ..Scenario::default()
        };
        let scenario = match responder {
            Responder::Embedded => {
                Scenario { tls: Tls { on: of.tls.on, ..Tls::default() }, ..same }
            }
            Responder::Server => {
                let mut same = same;
                same.key_shape.prefix = NO_KEYS.to_owned();
                Scenario {
                    servers: of.servers,
                    connections: Some((plan.connections / servers).max(1)),
                    mix: "get=1".parse().expect("it is a mix"),
                    noreply: false,
                    load: Load::Never,
                    bind: of.bind,
                    user: of.user,
                    password: of.password,
                    tls: of.tls,
                    ..same
                }
            }
        };
        let outputs = Outputs { quiet: true, ..Outputs::default() };
        Settings { scenario, outputs, ..Settings::default() }
    }

    /// The floor that this process or an earlier one has measured; none if it is too old.
    fn kept(&self, key: &str, now_s: u64) -> Option<FloorRecord> {
        let own = self.known.borrow().get(key).cloned();
        let kept = own.or_else(|| (self.mode == FloorMode::Kept).then(read)?.remove(key))?;
        let floor: FloorRecord = serde_json::from_value(kept.get("floor")?.clone()).ok()?;
        let age_s = now_s.checked_sub(measured_s(&kept)?)?;
        (age_s < KEPT_S).then_some(FloorRecord { age_s, ..floor })
    }

    /// Keeps a floor. A cache that cannot be written keeps nothing.
    fn keep(&self, key: String, now_s: u64, floor: &FloorRecord) {
        let kept = json!({"measured_unix_s": now_s, "floor": floor});
        self.known.borrow_mut().insert(key.clone(), kept.clone());
        let mut all = read();
        all.retain(|_, kept| measured_s(kept).is_some_and(|at| now_s < at + KEPT_S));
        if all.len() < FLOORS_MAX {
            all.insert(key, kept);
        }
        let _ = write(all);
    }
}

/// What answers: the embedded server, if the servers are on this machine.
fn responder(plan: &PlanRecord) -> Responder {
    let mut addresses = plan.servers.iter().flat_map(|server| &server.addresses);
    let is_here = plan.embedded
        || addresses.all(|address| {
            let address = address.strip_prefix(UDP).unwrap_or(address);
            address.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback())
        });
    if is_here { Responder::Embedded } else { Responder::Server }
}

fn measured_s(kept: &Value) -> Option<u64> {
    kept.get("measured_unix_s")?.as_u64()
}

/// The file of kept floors.
fn file() -> Option<PathBuf> {
    Some(machine::user_folder("XDG_CACHE_HOME", ".cache")?.join("memtide/floors.json"))
}

/// The kept floors; none if they cannot be read.
fn read() -> Map<String, Value> {
    let text = file().and_then(|file| fs::read_to_string(file).ok());
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Writes the kept floors, whole or not at all.
fn write(all: Map<String, Value>) -> Option<()> {
    let file = file()?;
    fs::create_dir_all(file.parent()?).ok()?;
    let new = file.with_extension(std::process::id().to_string());
    fs::write(&new, Value::Object(all).to_string()).ok()?;
    fs::rename(new, file).ok()
}

#[cfg(test)]
mod tests;
