//! Loads over TLS that are drawn from a seed, each over every driver: all make the same operations,
//! each connection agrees on TLS once, and the server counts what was sent.

use super::{VALID, embedded, memcached};
use crate::prelude::*;
use memtide_base::rng::{Stream, hash};

/// `MEMTIDE_TLS_DRAWS=100` draws more loads, and `MEMTIDE_TLS_FROM=7` begins with another seed.
const DRAWS: u64 = 8;

/// Sequential draws of one load.
struct Draw {
    seed: u64,
    drawn: u64,
}

impl Draw {
    fn pick(&mut self, choices: &[&'static str]) -> &'static str {
        self.drawn += 1;
        let bits = hash(self.seed, Stream(0x746c_7364), self.drawn);
        choices[(bits % choices.len() as u64) as usize]
    }
}

const MIXES: [&str; 3] = [
    "get=5,gets=1,set=2,add=1,replace=1,cas=1,delete=1,incr=1,decr=1,touch=1,gat=1,gats=1",
    "get=9,set=1",
    "get=1,set=4",
];
/// 3 000 operations: back to back, at a rate, or by connections of three calls each.
const PACES: [&str; 3] = [
    "--ops-max 3k --depth DEPTH",
    "--ops-max 3k --depth DEPTH --rate 20k",
    "--connections-total 1k --calls 3 --linger 0",
];
/// Values of any length, and of lengths behind which a memcached leaves no request unanswered
/// (docs/tls.md).
const SIZES: [&str; 4] = ["fixed:0", "uniform:1,1000", "fixed:40000", "uniform:1,70000"];
const SHORT: usize = 2;

/// The load of `seed`, with values of these lengths.
fn load(seed: u64, sizes: &[&'static str]) -> String {
    let mut draw = Draw { seed, drawn: 0 };
    let depth = draw.pick(&["1", "2", "16"]);
    let protocol = draw.pick(&["text", "binary", "meta"]);
    let only_meta = draw.pick(&["", ",recache=2,invalidate=1 --recache-time 1ms"]);
    let only_meta = if protocol == "meta" { only_meta } else { "" };
    let flags = [
        draw.pick(&PACES).replace("DEPTH", depth),
        format!("--protocol {protocol} --mix {}{only_meta}", draw.pick(&MIXES)),
        format!("--value-size {}", draw.pick(sizes)),
        format!("--threads {} --connections 6", draw.pick(&["1", "3"])),
        format!("--tls-min {}", draw.pick(&["1.2", "1.3"])),
        format!("--tls-resume {}", draw.pick(&["on", "off"])),
        format!("--verify {}", draw.pick(&["0", "1"])),
    ];
    format!("{} --keys 200 --timeout 50s --seed {seed}", flags.join(" "))
}

/// A number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |word| word.parse().unwrap())
}

#[test]
fn every_driver_makes_the_load_that_was_drawn() {
    let (real, own) = (memcached(""), embedded("127.0.0.1", VALID));
    let first = setting("MEMTIDE_TLS_FROM", 1);
    for seed in first..first + setting("MEMTIDE_TLS_DRAWS", DRAWS) {
        let ((peer, ca), sizes) = match seed % 2 {
            0 => (&real, &SIZES[..SHORT]),
            _ => (&own, &SIZES[..]),
        };
        let line = format!("run -s {} --tls --tls-ca {} --json -", peer.name, ca.own());
        let line = format!("{line} {}", load(seed, sizes));
        let mut made = Vec::new();
        for io in ["epoll", "uring"] {
            let run = memtide(&format!("{line} --io {io}"));
            if io == "uring" && run.code == Some(2) && run.err.contains("cannot be used") {
                continue;
            }
            let run = run.exits(0);
            let record = run.record();
            let totals = &record.totals;
            assert_eq!((totals.intended, totals.answered), (3_000, 3_000), "seed {seed}: {run}");
            assert_eq!(totals.verification.corrupt, 0, "seed {seed}: {run}");
            let connections = &totals.connections;
            let handshakes = connections.handshakes_full + connections.handshakes_resumed;
            assert_eq!(handshakes, connections.opened, "seed {seed}: {run}");
            assert_counters_equal(&record);
            made.push(record.phases.measure.ops);
        }
        assert!(made.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}: {line}: {made:?}");
    }
}
