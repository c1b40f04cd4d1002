//! Errors for values that the originals accept and no machine can carry out, in the words of the
//! face, whose user knows neither memtide's fields nor their forms.

use crate::mutilate::options::{Keys, Mode, Options};
use crate::said::without_flags;

/// The allowed sizes, as the faces write them.
const SIZES: &str = "a distribution of sizes from 0 to 1073741824, with a scale above 0 and a \
                     shape from -10 to 10";

/// The sentence about `field` of the scenario that `options` became; `message` is the scenario's
/// own sentence.
pub(super) fn sentence(options: &Options, field: &str, message: &str) -> String {
    let (load, paced, all) = (&options.load, &options.paced, &options.connections);
    let [time_s, warmup_s] =
        [paced.time, paced.warmup].map(|span| (span.ns() / 1_000_000_000).to_string());
    let (option, value, allowed) = match field {
        "server" => ("--server (-s)", all.servers.to_string(), "at most 1024 servers are allowed"),
        "duration" => ("--time (-t)", time_s, "at most 31622400 s are allowed"),
        "warmup" => ("--warmup (-w)", warmup_s, "at most 31622400 s are allowed"),
        "threads" => ("--threads (-T)", all.threads.to_string(), "1 to 1024 are allowed"),
        "connections" => (
            "--connections (-c)",
            all.each.to_string(),
            "at most 1000000 connections to each server over all threads are allowed",
        ),
        "depth" => ("--depth (-d)", paced.depth.to_string(), "1 to 65536 are allowed"),
        "key-size" => ("--keysize (-K)", load.key_bytes.to_string(), SIZES),
        "value-size" => (
            "--valuesize (-V)",
            load.value_bytes.to_string(),
            "a distribution of sizes from 0 to 1048576, with a scale above 0 and a shape from -10 \
             to 10",
        ),
        "popularity" => ("--keyorder", order(&load.keys), SIZES),
        "arrival" => (
            "--iadist (-i)",
            paced.gaps.to_string(),
            "a distribution whose mean can be what --qps asks for of each connection: of a Pareto \
             law the location is below that and the shape below 1, of a normal law the deviation \
             is below it",
        ),
        "multiget" => (
            "--getq_size (-G)",
            load.multiget.map_or(0, |multiget| multiget.keys).to_string(),
            "at most 65535 keys are allowed",
        ),
        "user" | "password" => (
            "--username (-U)",
            login(options),
            "it and --password (-P) have no blanks, and no more than 250 bytes",
        ),
        "wave" | "interval" => match &options.mode {
            Mode::Dynamic(dynamic) if !dynamic.has_rate() => (
                "--qps_target",
                "0".to_owned(),
                "without --agent (-a), at least one interval has a rate above 0",
            ),
            Mode::Dynamic(dynamic) => (
                "--qps_interval",
                dynamic.interval.as_s_f64().to_string(),
                "0.01 to 31622400 s are allowed",
            ),
            _ => return without_flags(message),
        },
        _ => return without_flags(message),
    };
    format!("{option} '{value}' is not allowed; {allowed}")
}

fn order(keys: &Keys) -> String {
    match keys {
        Keys::Cached { law: Some(law), .. } => law.to_string(),
        Keys::Cached { law: None, .. } | Keys::Random => "none".to_owned(),
    }
}

fn login(options: &Options) -> String {
    options.target.login.as_ref().map_or_else(String::new, |login| login.user.clone())
}
