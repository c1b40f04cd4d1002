//! From a decided command line to a scenario: each of its values under the name that memtide has
//! for it. Decides nothing that the command line has not decided.

use super::distribution::Distribution;
use super::options::{Load, Options, Sizes, Target};
use crate::Stop;
use crate::said::{Said, Wrong, nanoseconds};
use memtide_base::Span;
use memtide_scenario::Settings;

/// The longest timeout; the original may wait for ever.
const TIMEOUT_MAX: Span = Span::from_s(3600);
/// The largest socket buffer; the kernel's limits are far lower.
const BUFFER_BYTES_MAX: u32 = 1 << 30;
/// The most connections open at once, when they come at a rate, and the most calls outstanding on
/// one; the original has no limit but memory.
const PLACES_MAX: u32 = 65_536;
const DEPTH_MAX: u32 = 65_536;
/// The most calls outstanding on all connections.
const OUTSTANDING_MAX: u32 = 1 << 26;
/// The number of calls of a connection that ends when the time is over.
const CALLS_MAX: u32 = 1 << 31;
/// The longest linger, in seconds.
const LINGER_S_MAX: u32 = 3600;
/// The exit code of a face that cannot begin.
const FATAL: u8 = 1;

/// twemperf's options for the fields of a scenario.
const OPTIONS: &[(&str, &str)] = &[
    ("server", "--server"),
    ("timeout", "--timeout"),
    ("linger", "--linger"),
    ("send-buffer", "--send-buffer"),
    ("receive-buffer", "--recv-buffer"),
    ("expiry", "--expiry"),
    ("key-prefix", "--prefix"),
    ("value-size", "--sizes"),
    ("delta", "--sizes"),
    ("connections-total", "--num-conns"),
    ("calls", "--num-calls"),
    ("connection-rate", "--conn-rate"),
    ("connection-arrival", "--conn-rate"),
    ("call-rate", "--call-rate"),
    ("arrival", "--call-rate"),
    ("threads", "--threads"),
    ("duration", "--time"),
];

/// The scenario of `options`.
///
/// # Errors
/// If no machine could carry it out; the sentence names the field of the scenario.
pub fn lower(options: &Options) -> Result<Settings, Stop> {
    let refused =
        |wrong: Wrong| Stop::complaint(format!("mcperf: {}", wrong.in_words(OPTIONS)), FATAL);
    let mut words = Said::new();
    target(&mut words, options);
    data(&mut words, options);
    load(&mut words, options);
    words.settings().map_err(refused)
}

fn target(words: &mut Said, options: &Options) {
    words.say(
        "server",
        match &options.target {
            Target::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
            Target::Tcp { host, port } => format!("{host}:{port}"),
            Target::Unix(path) => format!("unix:{path}"),
        },
    );
    let socket = &options.socket;
    words.say("send-buffer", socket.send_buffer_bytes.min(BUFFER_BYTES_MAX));
    words.say("receive-buffer", socket.receive_buffer_bytes.min(BUFFER_BYTES_MAX));
    words.switch("nagle", socket.is_nagle_on);
    let timeout = socket.timeout.unwrap_or(TIMEOUT_MAX).min(TIMEOUT_MAX);
    words.say("timeout", nanoseconds(timeout));
    words.switch("trailing-space", true);
}

fn data(words: &mut Said, options: &Options) {
    let (keys, request) = (&options.keys, &options.request);
    words.say("keys", keys.count);
    words.say("key-form", "hex");
    words.say("key-first", keys.first);
    if !keys.prefix.is_empty() {
        words.say("key-prefix", &keys.prefix);
    }
    // Eight digits, as `%08x` prints them; the counter never needs more.
    words.say("key-size", format!("fixed:{}", keys.prefix.len() + 8));
    words.say("popularity", "sequential");
    let method = request.method;
    words.say("mix", format!("{}=1", method.name()));
    words.switch("noreply", request.is_noreply);
    words.say("expiry", request.expiry_s);
    words.say("value-fill", "0");
    words.say("value-draws", draws(&options.load));
    if method.is_arithmetic() {
        words.say("numeric-keys", "shared");
        words.say("delta", sizes(&request.sizes));
    } else if method.is_storage() {
        words.say("value-size", sizes(&request.sizes));
        words.say("value-max", request.sizes.size_max);
    }
    if method.name() == "cas" {
        words.say("cas-unique", 1);
    }
    words.say("load", "never");
}

fn load(words: &mut Said, options: &Options) {
    let load = &options.load;
    words.say("threads", load.threads);
    let calls = load.calls_each.unwrap_or(CALLS_MAX);
    words.say("calls", calls);
    let mut places = 1;
    if let Some(gaps) = load.connection_gaps {
        let (rate, law) = pace(gaps);
        words.say("connection-rate", rate);
        words.say("connection-arrival", law);
        places = load.connections.unwrap_or(PLACES_MAX).min(PLACES_MAX);
    }
    words.say("connections", places);
    let mut depth = 1;
    if let Some(gaps) = load.call_gaps {
        let (rate, law) = pace(gaps);
        words.say("call-rate", rate);
        words.say("arrival", law);
        depth = calls.min(DEPTH_MAX).min(OUTSTANDING_MAX / places);
    }
    words.say("depth", depth);
    if is_drawn(load.connection_gaps) || is_drawn(load.call_gaps) {
        words.say("gap-draws", draws(load));
    }
    if let Some(total) = load.connections {
        words.say("connections-total", total);
    }
    if let Some(linger_s) = options.socket.linger_s {
        words.say("linger", format!("{}s", linger_s.min(LINGER_S_MAX)));
    }
    words.say("wait", "sleep");
    words.say("cooldown", "drain");
    if let Some(time) = load.time {
        words.say("duration", nanoseconds(time));
    }
    words.switch("message-sizes", true);
    words.switch("quiet", true);
}

/// Gaps in seconds as a rate, and the law of the gaps at that rate.
fn pace(gaps: Distribution) -> (f64, String) {
    match gaps {
        Distribution::Fixed(gap) => (1.0 / gap, "fixed".to_owned()),
        Distribution::Exponential(mean) => (1.0 / mean, "poisson".to_owned()),
        Distribution::Uniform(least, most) => {
            let mean = least / 2.0 + most / 2.0;
            (1.0 / mean, format!("uniform:{}", least / mean))
        }
        // Each gap is one second longer than the one before.
        Distribution::Ascending(first) => (1.0 / first, format!("ascending:{}", 1.0 / first)),
    }
}

/// The source of the client's draws.
fn draws(load: &Load) -> String {
    let [low, middle, high] = load.seed_words;
    format!("rand48:{low},{middle},{high}")
}

/// True if gaps depend on draws.
const fn is_drawn(gaps: Option<Distribution>) -> bool {
    matches!(gaps, Some(Distribution::Exponential(_) | Distribution::Uniform(..)))
}

/// A law of whole numbers. A fixed one is rounded as C's lrint does, halves to even numbers.
fn sizes(sizes: &Sizes) -> String {
    match sizes.law {
        Distribution::Fixed(size) => format!("fixed:{}", size.round_ties_even()),
        Distribution::Uniform(least, most) => format!("uniform-real:{least},{most}"),
        Distribution::Exponential(mean) => format!("exponential:{mean}"),
        Distribution::Ascending(first) => format!("ascending:{first}"),
    }
}

#[cfg(test)]
mod tests;
