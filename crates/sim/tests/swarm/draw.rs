//! A world drawn from one number: every scenario field and every fault, small enough that thousands
//! take a minute.

use crate::harness::World;
use memtide_base::rng::{Stream, hash, unit};
use memtide_base::{Instant, Law, Span};
use memtide_server::ServerProfile;
use memtide_sim::{Network, PauseKind, WorkerPause};

/// Sequential draws.
struct Draw {
    seed: u64,
    drawn: u64,
}

impl Draw {
    fn unit(&mut self) -> f64 {
        self.drawn += 1;
        unit(hash(self.seed, Stream(0x7377_6172), self.drawn))
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.unit() * bound as f64) as u64
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn ms(&mut self, low: u64, high: u64) -> String {
        format!("{}ms", self.between(low, high))
    }

    fn instant(&mut self, low_ms: u64, high_ms: u64) -> Instant {
        Instant::ZERO + Span::from_us(self.between(low_ms * 1000, high_ms * 1000))
    }
}

/// The world of `seed`.
pub fn world(seed: u64) -> World {
    let mut draw = Draw { seed, drawn: 0 };
    let mut world = World::new(&[]);
    let servers = draw.between(1, 3) as usize;
    world.servers = vec![ServerProfile::default(); servers];
    load(&mut draw, &mut world.words);
    data(&mut draw, &mut world.words);
    measurement(&mut draw, &mut world.words);
    network(&mut draw, &mut world.network);
    if draw.chance(0.7) {
        let behaviour = behaviour(&mut draw);
        world = world.behaviour(&behaviour);
    }
    let mut world = world.seed(seed);
    trouble(&mut draw, &mut world);
    if draw.chance(0.3) {
        world.words.push(("protocol", "binary".to_owned()));
    }
    if draw.chance(0.4) {
        let word = draw.pick(&["0", "0.1%", "20%", "100%"]);
        world.words.push(("errors-max", word.to_owned()));
    }
    // Last, so that it changes no other draw.
    let churns = world.words.iter().any(|(field, _)| *field == "calls");
    if !churns && draw.chance(0.25) {
        world.words.push(("rate-unit", "keys".to_owned()));
    }
    if draw.chance(0.3) {
        speak_meta(&mut draw, &mut world.words);
    }
    if draw.chance(0.2) {
        encrypt(&mut draw, &mut world.words);
    }
    if !churns && draw.chance(0.15) {
        lengthen(&mut draw, &mut world.words);
    }
    world
}

/// The world of `seed`, described in words.
pub fn described(seed: u64) -> String {
    let world = world(seed);
    let words = world.words.iter().map(|(field, word)| format!("--{field} {word}"));
    format!(
        "{}\nservers {:?}\n{:?}\npauses {:?}\ndeaths {:?}\ninterrupt {:?}",
        words.collect::<Vec<_>>().join(" "),
        world.servers,
        world.network,
        world.pauses,
        world.deaths,
        world.interrupt_at
    )
}

type Words = Vec<(&'static str, String)>;

/// Replaces the protocol by meta; replies of single keys may be matched by their opaques.
fn speak_meta(draw: &mut Draw, words: &mut Words) {
    words.retain(|(field, _)| *field != "protocol");
    words.push(("protocol", "meta".to_owned()));
    let is_single = words.iter().all(|(field, _)| *field != "multiget");
    if is_single && draw.chance(0.5) {
        words.push(("match", "opaque".to_owned()));
    }
    if draw.chance(0.6) {
        only_meta(draw, words);
    }
}

/// Adds kinds and flags that only the meta protocol has.
fn only_meta(draw: &mut Draw, words: &mut Words) {
    let (_, mix) = words.iter_mut().find(|(field, _)| *field == "mix").expect("it is drawn");
    for kind in ["recache", "invalidate", "peek"] {
        if draw.chance(0.6) {
            *mix += &format!(",{kind}={}", draw.between(1, 5));
        }
    }
    if mix.contains("recache") {
        let laws = ["fixed:0s", "2ms", "exponential:3ms", "uniform:100us,20ms", "300ms"];
        words.push(("recache-time", draw.pick(&laws).to_owned()));
    }
    words.push(("stale-time", draw.pick(&["30", "30", "1", "0"]).to_owned()));
    if draw.chance(0.3) {
        words.push(("meta-flags", draw.pick(&["t", "hl", "thlsfc"]).to_owned()));
    }
}

/// Makes a load last for more than a second, so that seconds end within its window.
fn lengthen(draw: &mut Draw, words: &mut Words) {
    let is_short = |(field, word): &&mut (&str, String)| *field == "duration" && word != "5s";
    if let Some((_, word)) = words.iter_mut().find(is_short) {
        *word = draw.ms(1_500, 3_000);
    }
}

/// Encrypts all connections.
fn encrypt(draw: &mut Draw, words: &mut Words) {
    words.push(("tls", "on".to_owned()));
    words.push(("tls-min", draw.pick(&["1.2", "1.3"]).to_owned()));
    words.push(("tls-resume", draw.pick(&["on", "on", "off"]).to_owned()));
}

fn load(draw: &mut Draw, words: &mut Words) {
    let connections = draw.between(1, 12);
    words.push(("connections", connections.to_string()));
    words.push(("threads", draw.between(1, connections.min(4)).to_string()));
    let depth = draw.pick(&["1", "1", "2", "16", "200"]);
    words.push(("depth", depth.to_owned()));
    if depth != "1" {
        words.push(("refill", draw.pick(&["each", "each", "whole"]).to_owned()));
    }
    words.push(("timeout", draw.ms(5, 400)));
    words.push(("reconnect", draw.pick(&["1ms", "2ms..50ms", "20ms..1s"]).to_owned()));
    words.push(("cooldown", draw.pick(&["load", "drain", "stop"]).to_owned()));
    let pauses = ["0", "0", "0", "250us", "2ms"];
    words.push(("pause-after-reply", draw.pick(&pauses).to_owned()));
    if draw.chance(0.2) {
        return churn(draw, words);
    }
    if draw.chance(0.25) {
        words.push(("rate", "0".to_owned()));
        words.push(("ops-max", draw.between(1, 1500).to_string()));
        return;
    }
    words.push(("duration", draw.ms(50, 600)));
    words.push(("warmup", draw.ms(0, 100)));
    let high = draw.between(200, 4000);
    let low = draw.between(0, high);
    let every = draw.ms(10, 200);
    match draw.below(5) {
        0 => words.push(("wave", format!("ramp:{low},{high}"))),
        1 => words.push(("wave", format!("step:{low},{high},{}@{every}", high / 2))),
        2 => words.push(("wave", format!("sine:{high},{low},{every}"))),
        3 => words.push(("wave", format!("random:{low},{high}@{every}"))),
        // A window that is opened by command; shorter runs would not find their warm-up.
        _ if draw.chance(0.25) => {
            words.retain(|(field, _)| !["duration", "warmup"].contains(field));
            let auto = [("duration", "5s"), ("warmup", "auto"), ("rate", "300")];
            words.extend(auto.map(|(field, word)| (field, word.to_owned())));
        }
        _ => words.push(("rate", high.to_string())),
    }
    let laws =
        ["poisson", "fixed", "uniform", "etc", "pareto:4,16,0.15", "pareto:0,1,-1", "normal:0.5"];
    words.push(("arrival", draw.pick(&laws).to_owned()));
    words.push(("schedule", draw.pick(&["shared", "connection"]).to_owned()));
    words.push(("on-full", draw.pick(&["queue", "queue", "drop", "skip:5ms,4ms"]).to_owned()));
}

/// Connection churn, with slots and depth that are drawn already.
fn churn(draw: &mut Draw, words: &mut Words) {
    // Connections make all their calls, even after the window ends.
    words.retain(|(field, word)| (*field, word.as_str()) != ("cooldown", "stop"));
    words.push(("calls", draw.between(1, 8).to_string()));
    let laws = ["poisson", "fixed", "uniform", "etc"];
    words.push(("connection-arrival", draw.pick(&laws).to_owned()));
    words.push(("arrival", draw.pick(&laws).to_owned()));
    words.push(("call-rate", draw.pick(&["0", "100", "5k"]).to_owned()));
    // If nothing takes time, only a count ends connections that follow each other.
    let chained = draw.chance(0.3);
    if chained {
        words.push(("connection-rate", "0".to_owned()));
    } else if draw.chance(0.5) {
        words.push(("wave", format!("ramp:10,{}", draw.between(20, 1000))));
    } else {
        words.push(("connection-rate", draw.between(20, 2000).to_string()));
    }
    words.push(("duration", draw.ms(50, 600)));
    words.push(("warmup", draw.ms(0, 100)));
    if chained || draw.chance(0.5) {
        words.push(("connections-total", draw.between(1, 300).to_string()));
    }
}

fn data(draw: &mut Draw, words: &mut Words) {
    const KINDS: [&str; 14] = [
        "get", "gets", "gat", "set", "add", "replace", "append", "prepend", "cas", "delete",
        "incr", "decr", "touch", "gats",
    ];
    let mut mix = vec![format!("get={}", draw.between(1, 9))];
    for kind in &KINDS[1..] {
        if draw.chance(0.3) {
            mix.push(format!("{kind}={}", draw.between(1, 3)));
        }
    }
    // Values changed by append or prepend cannot be verified.
    let verifiable = !mix.iter().any(|part| part.contains("pend"));
    if verifiable {
        words.push(("verify", draw.pick(&["0", "0.5", "1"]).to_owned()));
    }
    // Without one of these kinds noreply has no effect.
    if mix.iter().any(|part| part.starts_with("set")) {
        words.push(("noreply", draw.pick(&["false", "false", "true"]).to_owned()));
    }
    words.push(("mix", mix.join(",")));
    words.push(("keys", draw.between(1, 200).to_string()));
    if draw.chance(0.3) {
        words.push(("multiget", "3".to_owned()));
        words.push(("multiget-share", draw.pick(&["1", "0.5"]).to_owned()));
    }
    words.push(("key-form", draw.pick(&["base32", "base32", "decimal"]).to_owned()));
    words.push(("key-size", draw.pick(&["fixed:30", "etc-key", "uniform:20,250"]).to_owned()));
    let sizes = ["fixed:0", "fixed:10", "fixed:200", "uniform:1,2000", "etc-value"];
    words.push(("value-size", draw.pick(&sizes).to_owned()));
    let popularity =
        ["uniform", "zipf:0.99", "sequential", "hotspot:20%,80%", "walk:50,2,10%@uniform:0,9999"];
    words.push(("popularity", draw.pick(&popularity).to_owned()));
    words.push(("load", draw.pick(&["auto", "always", "never"]).to_owned()));
    words.push(("expiry", draw.pick(&["0", "0", "1"]).to_owned()));
}

fn measurement(draw: &mut Draw, words: &mut Words) {
    if draw.chance(0.3) {
        words.push(("goal", draw.pick(&["all.p99<5ms", "errors<1%", "rate>100"]).to_owned()));
    }
}

fn network(draw: &mut Draw, network: &mut Network) {
    network.delay = match draw.below(4) {
        0 => Law::Fixed(0.0),
        1 => Law::Fixed(draw.unit() * 2e-3),
        2 => Law::Exponential(500e-6),
        _ => Law::Fixed(20e-6),
    };
    if draw.chance(0.2) {
        network.bytes_per_s = Some(2e5 + draw.unit() * 1e7);
    }
    if draw.chance(0.2) {
        network.loss = draw.unit() * 0.02;
        network.resend = Span::from_ms(draw.between(1, 200));
    }
    if draw.chance(0.1) {
        let from = draw.instant(0, 400);
        network.partitions.push((from, from + Span::from_ms(draw.between(1, 200))));
    }
}

fn behaviour(draw: &mut Draw) -> String {
    let law = draw.pick(&["fixed:100us", "exponential:300us", "lognormal:200us,1", "fixed:3ms"]);
    let mut word = match draw.below(3) {
        0 => law.to_owned(),
        _ => format!("queue:{},{law}", draw.between(1, 4)),
    };
    if draw.chance(0.3) {
        word += &format!("+pause:{},{}", draw.ms(151, 400), draw.ms(1, 150));
    }
    if draw.chance(0.1) {
        word += "+slowing:50%/s";
    }
    word
}

fn trouble(draw: &mut Draw, world: &mut World) {
    const FAULTS: [&str; 11] = [
        "reset",
        "stall",
        "refuse",
        "truncate",
        "flip",
        "other-key",
        "stale",
        "expire-early",
        "expire-late",
        "server-error",
        "garbage",
    ];
    for number in 0..world.servers.len() {
        let mut faults = Vec::new();
        let faulty = draw.chance(0.5);
        for fault in FAULTS {
            if faulty && draw.chance(0.2) {
                faults.push(format!("{fault}:{:.4}", draw.unit() * 0.05));
            }
        }
        if !faults.is_empty() {
            // A fill that is answered with errors ends most runs before they begin.
            if draw.chance(0.9) {
                world.words.push(("load", "never".to_owned()));
            }
            let faults = faults.join(",");
            world.servers[number].faults = faults.parse().expect("the words are right");
        }
        if draw.chance(0.15) {
            let from = draw.instant(0, 600);
            world.deaths.push((number, from, from + Span::from_ms(draw.between(1, 400))));
        }
    }
    if draw.chance(0.15) {
        let from = Span::from_ms(draw.between(0, 500));
        let length = Span::from_ms(draw.between(1, 100));
        world.pauses.push(WorkerPause { worker: 0, from, length, kind: PauseKind::Stopped });
    }
    if draw.chance(0.05) {
        world.interrupt_at = draw.instant(1, 600);
    }
}
