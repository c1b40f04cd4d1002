//! From a decided command line to a scenario: each of its values under the name that memtide has
//! for it. Decides nothing that the command line has not decided.

mod faults;
mod divided;

pub use divided::{Divided, OwnRate, divide};

use super::numbers::{Law, Sinusoid};
use super::options::{Keys, Mode, Options};
use crate::Stop;
use crate::said::{Said, nanoseconds};
use memtide_base::{Span, law};
use memtide_scenario::Settings;

/// The timeout; the originals wait for ever.
const TIMEOUT: Span = Span::from_s(60);
/// A rate, in operations per second, of which so much is left that a load never catches up with it.
const UNBOUNDED_OPS: f64 = 1e9;
/// The most rows over time that stay open, which is as long as an answer may take.
const ROWS_OPEN_MAX: u64 = 1000;
/// The seed of every run that names none.
const SEED: u32 = 1;
/// The exit code of a face that cannot begin.
const FATAL: u8 = 255;

/// The scenario of `options`; for a search or a scan, that of each step without its rate. `targets`
/// are the rates of a dynamic run's intervals, and otherwise ignored.
///
/// # Errors
/// If no machine could carry it out; the sentence names the field of the scenario.
pub fn lower(options: &Options, targets: &[u32]) -> Result<Settings, Stop> {
    let mut whole = Part::whole(options, targets);
    if options.agents.is_some() {
        // A profile of zeros is no load of one process.
        whole.targets = whole.targets.map(|all| if is_idle(&all) { unbounded(&all) } else { all });
    }
    part(options, &whole)
}

/// The values in which the loads of a run by several processes differ.
struct Part {
    /// Threads of one of its shares.
    threads: u32,
    /// Connections in all.
    connections: u64,
    /// The pipeline depth.
    depth: u32,
    /// The rate, of a run or of a scan's first step; 0 sends as fast as answers come.
    rate: f64,
    /// The rates of a dynamic run's intervals; `None` for a constant rate.
    targets: Option<Vec<f64>>,
    sinusoid: Option<Sinusoid>,
    /// True if it fills the servers, and sends the commands before and after a run.
    is_first: bool,
}

impl Part {
    /// The whole load of a run.
    fn whole(options: &Options, targets: &[u32]) -> Self {
        let is_dynamic = matches!(options.mode, Mode::Dynamic(_));
        let targets: Option<Vec<f64>> =
            is_dynamic.then(|| targets.iter().copied().map(f64::from).collect());
        let rate = match (&options.mode, &targets) {
            (_, Some(targets)) => mean(targets),
            (Mode::Scan(scan), _) => f64::from(scan.min),
            _ => f64::from(options.paced.rate_ops),
        };
        // Without threads of the master's own, agents make all load.
        let threads = options.connections.threads.max(1);
        Self {
            threads,
            connections: options.connections.of_threads(threads),
            depth: options.paced.depth,
            rate,
            targets,
            sinusoid: options.paced.sinusoid,
            is_first: true,
        }
    }

    /// The rate of one connection; `None` sends as fast as answers come.
    fn rate_each(&self) -> Option<f64> {
        (self.rate > 0.0).then(|| self.rate / self.connections.max(1) as f64)
    }
}

fn part(options: &Options, part: &Part) -> Result<Settings, Stop> {
    let mut words = Said::new();
    target(&mut words, options, part);
    load(&mut words, options, part);
    pace(&mut words, options, part);
    words.settings().map_err(|wrong| refused(options, &wrong.field, &wrong.message))
}

/// The end of a face when `field` of the scenario of `options` cannot be carried out; `message` is
/// the scenario's reason.
pub fn refused(options: &Options, field: &str, message: &str) -> Stop {
    Stop::complaint(faults::sentence(options, field, message), FATAL)
}

fn target(words: &mut Said, options: &Options, part: &Part) {
    let target = &options.target;
    words.say_all("server", target.servers.iter().map(ToString::to_string).collect());
    // With more threads than servers, servers that are taken in turn differ by at most one thread.
    let each_server = part.connections.div_ceil(u64::from(options.connections.servers));
    words.say("connections", each_server);
    words.say("threads", part.threads);
    words.say("depth", part.depth);
    if target.is_binary {
        words.say("protocol", "binary");
    }
    if let Some(login) = &target.login {
        words.say("user", &login.user);
        words.say("password", &login.password);
    }
    // The originals end when a connection does.
    words.say("reconnect", "never");
    words.switch("nagle", target.is_nagle_on);
    if target.is_traced && part.is_first {
        words.say("before", "start_trace");
        words.say("after", "stop_trace");
    }
    words.switch("pin", options.paced.is_pinned);
    words.say("wait", if options.paced.is_blocking { "sleep" } else { "hybrid" });
}

fn load(words: &mut Said, options: &Options, part: &Part) {
    let load = &options.load;
    words.say("keys", load.records_each);
    words.say("key-form", "decimal");
    words.say("key-size", key_sizes(load.key_bytes));
    words.say("value-size", sizes(load.value_bytes));
    words.say("popularity", popularity(&load.keys));
    words.say("mix", mix(load.set_probability));
    if let Some(multiget) = load.multiget {
        words.say("multiget", multiget.keys);
        if multiget.probability < 1.0 && multiget.keys > 1 {
            words.say("multiget-share", multiget.probability);
        }
    }
    let is_filled = load.is_filled && part.is_first;
    words.say("load", if is_filled { "always" } else { "never" });
    // The originals ignore the answers to a fill.
    words.switch("load-partial", is_filled);
    words.say("seed", load.seed.unwrap_or(SEED));
    words.switch("quiet", true);
    // The face handles its destination; the workers only need to know that there is one.
    let output = &options.output;
    if output.save.is_some() || output.save_all.is_some() {
        words.say("samples", "-");
    }
    if let Some(influx) = &output.influx {
        words.say("out", influx);
    }
}

fn pace(words: &mut Said, options: &Options, part: &Part) {
    let paced = &options.paced;
    words.say("warmup", nanoseconds(paced.warmup));
    words.say("cooldown", "stop");
    // The originals count every reply.
    words.switch("count-refused", true);
    let mut timeout = TIMEOUT;
    let mut length = paced.time;
    if let Mode::Dynamic(dynamic) = &options.mode {
        words.say("interval", nanoseconds(dynamic.interval));
        words.switch("interval-times", true);
        length = Span::from_ns(dynamic.interval.ns() * u64::from(dynamic.intervals));
        if part.targets.iter().flatten().any(|rate| *rate >= UNBOUNDED_OPS) {
            timeout = timeout.max(length);
        }
        let open = dynamic.interval.ns().saturating_mul(ROWS_OPEN_MAX);
        timeout = Span::from_ns(timeout.ns().min(open));
        if let Some(targets) = &part.targets {
            words.say("wave", steps(targets, dynamic.interval));
        }
    }
    words.say("duration", nanoseconds(length));
    words.say("timeout", nanoseconds(timeout));
    match part.sinusoid {
        Some(Sinusoid { mean_ops, amplitude_ops, period }) => {
            let period = nanoseconds(period);
            words.say("wave", format!("sine:{mean_ops},{amplitude_ops},{period}"));
        }
        None if part.targets.is_some() => {}
        None => words.say("rate", part.rate),
    }
    let has_one_rate = match options.mode {
        Mode::Once | Mode::Masterless => true,
        Mode::Dynamic(_) => part.targets.is_none(),
        Mode::LoadOnly | Mode::Search(_) | Mode::Scan(_) => false,
    };
    if !(has_one_rate && part.rate == 0.0) {
        words.say("schedule", "connection");
        words.say("arrival", gaps(paced.gaps, part.rate_each()));
        if let Some(skip) = paced.skip {
            let (late, again) = (nanoseconds(skip.late_max), nanoseconds(skip.late_again));
            words.say("on-full", format!("skip:{late},{again}"));
        }
    }
    if let Some(gap) = paced.answer_gap {
        words.say("pause-after-reply", nanoseconds(gap));
    }
}

/// True if no interval has a rate.
fn is_idle(targets: &[f64]) -> bool {
    targets.iter().all(|target| *target <= 0.0)
}

/// The rates of a load that never leaves its first interval, and sends as fast as answers come.
fn unbounded(targets: &[f64]) -> Vec<f64> {
    (0..targets.len()).map(|at| if at == 0 { UNBOUNDED_OPS } else { 0.0 }).collect()
}

fn mean(targets: &[f64]) -> f64 {
    targets.iter().sum::<f64>() / targets.len().max(1) as f64
}

fn steps(targets: &[f64], every: Span) -> String {
    let rates: Vec<String> = targets.iter().map(f64::to_string).collect();
    format!("step:{}@{}", rates.join(","), nanoseconds(every))
}

fn mix(set_probability: f64) -> String {
    match set_probability {
        0.0 => "get=1".to_owned(),
        1.0 => "set=1".to_owned(),
        sets => format!("get={},set={sets}", 1.0 - sets),
    }
}

fn popularity(keys: &Keys) -> String {
    match keys {
        Keys::Random => "uniform".to_owned(),
        Keys::Cached { law: None, capacity, .. } => format!("walk:{capacity}"),
        Keys::Cached { law: Some(law), capacity, rounds, stride_max } => {
            let (rounds, fraction) = (rounds.max(&1), 1.0 / f64::from(*stride_max));
            format!("walk:{capacity},{rounds},{fraction}@{}", sizes(*law))
        }
    }
}

/// The law of the lengths of keys. Draws are rounded to the nearest length, as in the originals, so
/// each end of a uniform law is half as likely as the lengths between.
fn key_sizes(law: Law) -> String {
    match law {
        Law::Uniform { least, most } => {
            format!("uniform-real:{},{}", least.max(0.0), most.max(0.0))
        }
        other => sizes(other),
    }
}

/// A law of whole numbers. Draws of the originals below 0 become 0, as casts of such numbers do.
fn sizes(law: Law) -> String {
    match law.quantiles() {
        key if key == law::ETC_KEY => "etc-key".to_owned(),
        law::Law::EtcValue => "etc-value".to_owned(),
        law::Law::Fixed(size) => format!("fixed:{}", size as u64),
        law::Law::Uniform(least, most) => format!("uniform:{},{}", least as u64, most as u64),
        law::Law::Normal(mean, deviation) => format!("normal:{mean},{deviation}"),
        law::Law::MutilateNormal(mean, deviation) => format!("mutilate-normal:{mean},{deviation}"),
        law::Law::Exponential(mean) => format!("exponential:{mean}"),
        law::Law::Pareto(location, scale, shape) => format!("pareto:{location},{scale},{shape}"),
        law::Law::Gev(location, scale, shape) => format!("gev:{location},{scale},{shape}"),
        law::Law::Table(_) => unreachable!("no word of the originals is a table"),
    }
}

/// The shape of the gaps of one connection that sends `rate_ops_each` a second. Without a known
/// rate, the law's own parameters give the shape.
fn gaps(law: Law, rate_ops_each: Option<f64>) -> String {
    match law {
        Law::Fixed(_) => "fixed".to_owned(),
        Law::Uniform { least, most } => {
            let in_gaps = rate_ops_each.map_or(2.0 * least / (least + most), |rate| least * rate);
            // Without bounds the least gap is 0.
            if in_gaps > 0.0 { format!("uniform:{in_gaps}") } else { "uniform".to_owned() }
        }
        Law::Normal { mean, deviation } | Law::OriginalNormal { mean, deviation } => {
            let in_gaps = rate_ops_each.map_or(deviation / mean, |rate| deviation * rate);
            format!("normal:{}", if in_gaps.is_finite() { in_gaps } else { 0.0 })
        }
        Law::Pareto { location, scale, shape } => {
            let own_mean = location + scale / (1.0 - shape);
            let at = rate_ops_each.map_or(location / own_mean, |rate| location * rate);
            let at = if at.is_finite() { at } else { 0.0 };
            format!("pareto:{at},{},{shape}", (1.0 - shape) * (1.0 - at))
        }
        Law::FacebookGap => "etc".to_owned(),
        Law::Exponential { .. } | Law::Gev { .. } | Law::FacebookKey | Law::FacebookValue => {
            "poisson".to_owned()
        }
    }
}

#[cfg(test)]
mod tests;
