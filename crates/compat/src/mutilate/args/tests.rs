//! Command lines and their results: the listings beside this file are the specification.
//! `UPDATE=1 cargo test -p memtide-compat` writes them anew; read the difference before keeping it.

use super::*;
use crate::mutilate::rows::{ROWS, Takes};
use crate::mutilate::{Connections, Keys, Mode, face_for};
use std::collections::BTreeSet;

fn words(line: &str) -> Vec<String> {
    // A pair of quotes is an empty word.
    line.split_whitespace().map(|word| word.replace("''", "")).collect()
}

fn read(face: Face, line: &str) -> Result<Options, Stop> {
    load(face, name(face), &words(line))
}

/// A command line that makes load.
pub(in crate::mutilate) fn load(
    face: Face,
    program: &str,
    argv: &[String],
) -> Result<Options, Stop> {
    parse(face, program, argv).map(|command| match command {
        Command::Load(options) => *options,
        Command::Agent(agent) => panic!("it is for an agent: {agent:?}"),
    })
}

fn name(face: Face) -> &'static str {
    if face.is_mutilate() { "mutilate" } else { "mcperf" }
}

/// The values of `options`, one a line, each with its path.
fn values(options: &Options) -> Vec<String> {
    let mut path: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for line in format!("{options:#?}").lines() {
        let line = line.trim().trim_end_matches(',');
        if line.ends_with(['{', '(', '[']) {
            let key = line.trim_end_matches(['{', '(', '[']).split(':').next().unwrap_or("");
            path.push(key.trim().to_owned());
        } else if line.starts_with(['}', ')', ']']) {
            path.pop();
        } else {
            found.push(format!("{} {line}", path[1..].join(".")));
        }
    }
    found
}

/// The changes of `line` against the shortest valid command line of the face, or its end.
fn outcome(face: Face, line: &str) -> String {
    let least: BTreeSet<String> = values(&read(face, "-s h").unwrap()).into_iter().collect();
    match parse(face, name(face), &words(line)) {
        Ok(Command::Agent(agent)) => format!("  {agent:?}\n"),
        Ok(Command::Load(options)) => {
            let changed = values(&options).into_iter().filter(|value| !least.contains(value));
            changed.map(|value| format!("  {}\n", value.trim())).collect()
        }
        Err(Stop { stdout, stderr, code }) => {
            assert!(stdout.is_empty(), "{line}: pages have listings of their own");
            format!("  exit {code}: {stderr}")
        }
    }
}

fn check_listing(file: &str, listing: &str) {
    let path = format!("{}/src/mutilate/args/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, listing).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(listing, kept, "{file} differs; UPDATE=1 writes it anew");
}

fn list(face: Face, file: &str, lines: &[&str]) {
    let program = name(face);
    let mut listing = format!("$ {program} -s h\n");
    for value in values(&read(face, "-s h").unwrap()) {
        listing += &format!("  {}\n", value.trim());
    }
    for line in lines {
        listing += &format!("$ {program} {line}\n{}", outcome(face, line));
    }
    check_listing(file, &listing);
}

/// Options that all three have.
pub(in crate::mutilate) const COMMON: &[&str] = &[
    "--server h",
    "-s a -s b:1 --server=c",
    "-s a,b:7000-7002,[::1]:5",
    r"-s a\,b",
    "-s a,",
    "-sa stray words",
    "-s h --binary",
    "-s h -q 1000",
    "-s h --qps=0x10",
    "-s h --qps 010",
    "-s h -t 60",
    "-s h --time 60",
    "-s h -K 16",
    "-s h --keysize fb_key",
    "-s h -V fixed:1024",
    "-s h --valuesize normal:200,20",
    "-s a,b -r 1000",
    "-s a,b,c --records 2",
    "-s a:1-4 --records 4000",
    "-s h -u 0.25",
    "-s h --update 1",
    "-s h -U u -P p",
    "-s h --username u",
    "-s h --password p",
    "-s h -T 16",
    "-s h --threads 16",
    "-s h --affinity",
    "-s h -c 8",
    "-s h --connections 512",
    "-s h -d 4096",
    "-s h --depth 4",
    "-s h -R",
    "-s h --roundrobin",
    "-s h -i uniform:5 -q 10",
    "-s h --iadist pareto:0,16,0.15",
    "-s h -i fb_value",
    "-s h -S",
    "-s h --skip",
    "-s h --moderate",
    "-s h --noload",
    "-s h --loadonly",
    "-s h -B",
    "-s h --blocking",
    "-s h --no_nodelay",
    "-s h --no",
    "-s h -w 5",
    "-s h --warmup 5",
    "-s h -W 3",
    "-s h --wait 3",
    "-s h --save f",
    "-s h --sav f",
    "-s h --save_all f",
    "-s h --search 95:1000",
    "-s h --search avg:500 --scan 1:2:1",
    "-s h --search 99.9:1000",
    "-s h --search 9999:1000",
    "-s h --scan 1000:5000:1000",
    "-s h --scan 500:500:0",
    "-s h --loadonly --search 95:1000 --scan 1:2:1",
    "-s h -p 7777",
    "-s h --agent_port 7777 -l 4 --lambda_mul=4",
    "-s h -l 4",
    "-s h -C 4 -q 1000",
    "-s h --measure_connections 600",
    "-s h -Q 1000",
    "-s h --measure_qps 1000",
    "-s h -D 4",
    "-s h --measure_depth 4",
    "-s h -M 120",
    "-s h -M120",
    "-s h -M",
    "-s h -M -T 10 -B -c 1 -t 600 --noload -v",
    "-s h -BM --search 95:1000",
    "-s h -v",
    "-s h -vv",
    "-s h -v --verbose -v",
    "-s h --quiet -v",
    "-s h --seed 7",
    "-s h --format mutilate",
    "-s h --format mutilate-2012",
    "-s h --format=mcperf",
    "-s h --form mcperf-dynamic",
    "-s h --response",
    "-s h --json -",
    "-s h --notes",
    "-s h -K normal:30,5 --original-normal",
    "-- -s h",
    "-s h -- -q oops",
];

/// Command lines with errors, for all three faces.
const WRONG: &[&str] = &[
    "",
    "h",
    "-s",
    "-s h --nothing",
    "-s h --nothing=5",
    "-s h -x",
    "-s h -Bx",
    "-s h --s=h",
    "-s h --binary=1",
    "-s h --qps",
    "-s h -q 10k",
    "-s h --time 1.5",
    "-s h -t ''",
    "-s h -u half",
    "-s h -q 99999999999",
    "-s h -t 5 --time 6",
    "-s h --binary --binary",
    "-s h -B -B",
    "-s h --scan 1:2:1 --scan 1:2:1",
    "-s h -d 0",
    "-s h -q -1",
    "-s h -q 1000000001",
    "-s h -u 1.5",
    "-s h -u -0.1",
    "-s h -u nan",
    "-s h -t 0",
    "-s h -c 0",
    "-s h -c 513",
    "-s h -d 0 --quiet",
    "-s h -T -1",
    "-s h -r -1",
    "-s h -w -1",
    "-s h -W -1",
    "-s h -C 0",
    "-s h --seed -1",
    "-s h -T 0",
    "-A",
    "-s h -A",
    "--agentmode -T 16",
    "-s h -a agent1",
    "-s h --agent=a,b --noload",
    "-A -T 4 -l 2 -B --affinity -p 7777 -v",
    "-A -T 0",
    "-A -T 100 -l 100",
    "-A -p 70000",
    "-s h -a a -a a:5556",
    "-s h -a a:1 -a a:2 -a [::1]:3 -a ::1",
    "-s h -a a:0",
    "-s h -a a:1-2",
    "-s h -a a -p x",
    "-s h -a a -T 0",
    "-s h -a a -T 4 -c 2 -d 8 -C 16 -D 1 -Q 1000 -q 100000 -l 2",
    "-s h -a a -q 1000 -Q 1000",
    "-s h -a a -q 0 -Q 1000",
    "-s h -a a --scan 500:2000:500 -Q 500",
    "-s h -a a --scan 0:2000:500 -Q 500",
    "-s h -a a --search 95:1000 -q 1000 -Q 2000",
    "-s h -a a -D 0",
    "-s h -a a -l 0",
    "-s h -a a -M 5 -m 2",
    "-s h -a a --loadonly -T 0",
    "-s ''",
    "-s h:0",
    "-s [::1",
    "-s h:9-5",
    "-s h -K zipf:1",
    "-s h -K ''",
    "-s h -K none",
    "-s h -V 0.5",
    "-s h -i wrong",
    "-s h -i none",
    "-s h -i fb_key -q 10",
    "-s h -i gev:1,2,3 --scan 1:2:1",
    "-s h -i gev:1,2,3 --search 95:1",
    "-s h --search 95",
    "-s h --search p95:1000",
    "-s h --scan 1:2",
    "-s h --scan 1:2:x",
    "-s h --format table",
];

/// Options that only mutilate and its improved fork have.
pub(in crate::mutilate) const MUTILATES: &[&str] = &[
    "-s h --masterless_agentmode",
    "-s h --master",
    "-s h -q 1000 --sin 500",
    "-s h -q 1000 --sin=500 --sin_amplitude 0.25 -M",
    "-s h --sin_amplitude 0.25",
    "-s h -q 1000 --sin 500 --search 95:1000",
    "-s h --poll_max 5",
    "-s h --p x",
    "-s h --sin 500",
    "-s h -q 1 --sin 0",
    "-s h -q 1 --sin 500 --sin_amplitude 1.5",
    "-s h --push_lat_influx db:8086",
    "-s h -V uniform:10,20",
    "-s h --profile 1",
    "-s h --keyorder none",
    "-s h --qps_interval 1",
    "-s h -e",
    "-s h -G 5",
    "-s h -m 5",
    "-s h -M -M",
    "-s h -M 5 -M 6",
];

#[test]
fn mutilates_options() {
    list(Face::Mutilate, "mutilate.txt", &[COMMON, MUTILATES, WRONG].concat());
}

/// Options that both mcperfs have.
pub(in crate::mutilate) const MCPERFS: &[&str] = &[
    "-s h --profile 1",
    "-s a,b -T 4 -c 400 --profile 2",
    "-s a,b -T 4 --profile 2",
    "-s h --profile 3 -r 5 -i uniform",
    "-s h --profile 4",
    "-s h --profile 5",
    "-s h --keyorder uniform:1000",
    "-s h --keyorder pareto:0,16,0.15 -r 100",
    "-s h -r 20000",
    "-s h -r 20000 --keyorder uniform:20000",
    "-s h -V uniform:10,20",
    "-s h -e",
    "-s h --trace",
    "-s h -e --scan 10:20:5",
    "-s h -e --binary",
    "-s h -e --binary -U u",
    "-s h -G 10 -g 0.5",
    "-s h --getq_size=10 --getq_freq=50",
    "-s h -g 0",
    "-s h -g -1",
    "-s h --keycache_capacity 100",
    "-s h --keycache_capacity 100 --keycache_reuse 3 --keycache_regen 10",
    "-s h --keycache_capacity 100 --keycache_regen 1000",
    "-s h --keycache_reuse 3",
    "-s h --keyc 5",
    "-s h --plot_all",
    "-s h -m 5 -M 5",
    "-s h --poll_freq 5 --poll_max=120",
    "-s h --masterless_agentmode",
    "-s h --sin 5",
    "-s h --po 5",
    "-s h -M 5 --poll_max 6",
    "-s h -G 0",
    "-s h --keycache_capacity 0",
    "-s h --keyorder zipf",
];

#[test]
fn mcperfs_options() {
    let own = ["-s h --qps_interval 1", "-s h --qp 5", "-s h --qps_m 5"];
    list(Face::Mcperf, "mcperf.txt", &[COMMON, MCPERFS, &own, WRONG].concat());
}

/// Options that only the dynamic mcperf has.
pub(in crate::mutilate) const DYNAMICS: &[&str] = &[
    "-s h --qps_interval 10 -t 50 --qps_min 10000 --qps_max 50000 --qps_seed 23",
    "-s h --qps_interval 2 -t 5 -Q 1000",
    "-s h --qps_interval 0.1",
    "-s h --qps_interval 10 --qps_target 32000 --qps_target 74000",
    "-s h --qps_interval 0.5 --qps_target 1,2,3 -t 9 -q 10",
    "-s h --qps_target 1,2,3",
    "-s h --qps_min 5",
    "-s h --qps_m 5",
    "-s h --qps_interval 1 --scan 1:2:1",
    "-s h --qps_interval 1 --search 95:1000",
    "-s h --qps_interval 0",
    "-s h --qps_interval nan",
    "-s h --qps_interval 1e-9",
    "-s h --qps_interval 1 --qps_min 20000",
    "-s h --qps_interval 1 --qps_min -1",
    "-s h --qps_interval 1 --qps_max 2000000000",
    "-s h --qps_interval 1 --qps_target 5,-1",
    "-s h --qps_target 5,x -t y",
    "-s h --qps_target 5,x",
    "-s h --qp 5",
];

#[test]
fn the_dynamic_mcperfs_options() {
    list(Face::McperfDynamic, "mcperf-dynamic.txt", &[COMMON, MCPERFS, DYNAMICS, WRONG].concat());
}

#[test]
fn pages_are_shown_when_their_option_is_reached() {
    for (face, file) in [
        (Face::Mutilate, "help-mutilate.txt"),
        (Face::Mcperf, "help-mcperf.txt"),
        (Face::McperfDynamic, "help-mcperf-dynamic.txt"),
    ] {
        let page = read(face, "-q 5 -h -x").unwrap_err();
        assert_eq!((page.stderr.as_str(), page.code), ("", 0));
        assert!(page.stdout.lines().all(|line| line.len() <= 80), "{}", page.stdout);
        check_listing(file, &page.stdout);
        assert_eq!(read(face, "--he").unwrap_err(), page);
        let version = if face.is_mutilate() { "mutilate 0.1\n" } else { "mcperf 0.3\n" };
        let stop = read(face, "--version -q x").unwrap_err();
        assert_eq!(stop, Stop { stdout: version.to_owned(), stderr: String::new(), code: 0 });
        assert_eq!(read(face, "-x -h").unwrap_err().code, 1, "what is wrong before it wins");
    }
}

#[test]
fn complaints_bear_the_name_that_the_program_was_called_by() {
    let stop = parse(Face::Mcperf, "./bin/mcperf", &words("-q 10k")).unwrap_err();
    assert_eq!(stop, Stop::complaint("./bin/mcperf: invalid numeric value: 10k", 1));
    let stop = parse(Face::Mcperf, "./bin/mcperf", &words("--what")).unwrap_err();
    assert_eq!(stop, Stop::complaint("./bin/mcperf: unrecognized option '--what'", 1));
}

#[test]
fn a_dynamic_option_chooses_the_dynamic_fork() {
    let face = |line: &str| face_for(Face::Mcperf, &words(line));
    assert_eq!(face("-s h --qps_interval 10"), Face::McperfDynamic);
    assert_eq!(face("stray --qps_target=5"), Face::McperfDynamic);
    assert_eq!(face("-s h --qps_s 5"), Face::McperfDynamic);
    assert_eq!(face("-s h -q 5 -M -M 5"), Face::Mcperf);
    assert_eq!(face("-s h -- --qps_interval 10"), Face::Mcperf);
    assert_eq!(face("-s --qps_interval 10"), Face::Mcperf);
    assert_eq!(face_for(Face::Mutilate, &words("--qps_interval 1")), Face::Mutilate);
}

#[test]
fn each_port_of_a_range_is_a_server() {
    let ports = read(Face::Mcperf, "-s h:1-4 -q 1000 -T 2 -c 3").unwrap();
    let expected = Connections { servers: 4, threads: 2, each: 3, is_roundrobin: false };
    assert_eq!((ports.connections, ports.mode), (expected, Mode::Once));
    assert_eq!(ports.load.records_each, 10_000, "ports do not divide the records");
    assert!(matches!(ports.load.keys, Keys::Cached { law: None, capacity: 10_000, .. }));
}

#[test]
fn faces_have_names() {
    let faces = [Face::Mutilate, Face::Mcperf, Face::McperfDynamic];
    assert_eq!(["mutilate", "mcperf", "mcperf-dynamic"].map(Face::named), faces.map(Some));
    assert_eq!(Face::named("mutilate3"), None);
}

/// Every command line ends in a message or a decision, and decided values are within their bounds.
#[test]
fn random_command_lines_end_in_a_decision() {
    // The seed is fixed, and every error shows the whole command line.
    let mut random = 0x5eed_u64;
    let mut below = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % limit
    };
    let arguments = [
        "0",
        "1",
        "-1",
        "7",
        "0x10",
        "2147483647",
        "-2147483648",
        "0.5",
        "1e300",
        "nan",
        "inf",
        "",
        "a",
        "h:1-3",
        "[::1]",
        "1,2",
        "95:1000",
        "avg:1",
        "1:2:0",
        "none",
        "pareto:1,2,3",
        "fb_ia",
    ];
    let mut decided = 0;
    for _ in 0..30_000 {
        let face = [Face::Mutilate, Face::Mcperf, Face::McperfDynamic][below(3)];
        let mut argv = words("-s h");
        for _ in 0..below(6) {
            let row = ROWS[below(ROWS.len())];
            argv.push(format!("--{}", row.long));
            if below(8) > 0 && row.takes != Takes::Nothing {
                argv.push(arguments[below(arguments.len())].to_owned());
            }
        }
        match parse(face, "p", &argv) {
            Ok(Command::Agent(agent)) => assert!(agent.shares > 0, "{argv:?}"),
            Err(stop) => {
                assert!(matches!(stop.code, 0 | 1 | 255), "{argv:?}");
                assert_ne!(stop.stdout.is_empty(), stop.stderr.is_empty(), "{argv:?}");
            }
            Ok(Command::Load(options)) => {
                decided += 1;
                assert!(!options.target.servers.is_empty(), "{argv:?}");
                let all = options.connections.total();
                assert!(all > 0 || options.agents.is_some(), "{argv:?}");
                assert!(options.load.records_each > 0, "{argv:?}");
                assert!(!options.paced.time.is_zero() && options.paced.depth > 0, "{argv:?}");
                if let Keys::Cached { capacity, stride_max, .. } = options.load.keys {
                    assert!((1..=options.load.records_each).contains(&capacity), "{argv:?}");
                    assert!((1..=capacity).contains(&stride_max), "{argv:?}");
                }
                if let Mode::Dynamic(dynamic) = &options.mode {
                    assert_eq!(dynamic.targets(1).len(), dynamic.intervals as usize, "{argv:?}");
                }
                assert!(options.notes.iter().all(|note| note.ends_with('.')), "{argv:?}");
            }
        }
    }
    assert!(decided > 1000, "{decided} lines were decided");
}
