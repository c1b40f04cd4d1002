//! Command lines and their results: the listings beside this file are the specification.

use super::*;
use crate::mutilate::rows::{ROWS, Takes};
use crate::mutilate::{Connections, Keys, Mode, face_for};
use crate::tests::{changes, expect, expect_listing, indented, values, words};

/// The folder of the listings.
const GOLDEN: &str = "mutilate/args/golden";

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

/// The values of the shortest command line, the changes of another one against them, or its end.
fn outcome(face: Face, line: &str) -> String {
    let least = values(&read(face, "-s h").unwrap(), false);
    match parse(face, name(face), &words(line)) {
        Ok(Command::Load(_)) if line == "-s h" => indented(least),
        Ok(Command::Load(options)) => changes(values(&options, false), least),
        Ok(Command::Agent(agent)) => format!("  {agent:?}\n"),
        Err(Stop { stdout, stderr, code }) => {
            assert!(stdout.is_empty(), "{line}: pages have listings of their own");
            format!("  exit {code}: {stderr}")
        }
    }
}

fn check_options(face: Face, file: &str) {
    let prompt = format!("$ {} ", name(face));
    expect_listing(&format!("{GOLDEN}/{file}"), &prompt, |line| outcome(face, line));
}

#[test]
fn mutilates_options() {
    check_options(Face::Mutilate, "mutilate.txt");
}

#[test]
fn mcperfs_options() {
    check_options(Face::Mcperf, "mcperf.txt");
}

#[test]
fn the_dynamic_mcperfs_options() {
    check_options(Face::McperfDynamic, "mcperf-dynamic.txt");
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
        expect(&format!("{GOLDEN}/{file}"), &page.stdout);
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

/// Every command line ends in a message or a decision, and decided values are within their bounds.
#[test]
fn random_command_lines_end_in_a_decision() {
    // The seed is fixed, and every error shows the whole command line.
    let mut random = 0x5eed_u64;
    let mut below = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % limit
    };
    let arguments = words(
        "0 1 -1 7 0x10 2147483647 -2147483648 0.5 1e300 nan inf '' a h:1-3 [::1] 1,2 95:1000 avg:1 \
         1:2:0 none pareto:1,2,3 fb_ia",
    );
    let mut decided = 0;
    for _ in 0..30_000 {
        let face = [Face::Mutilate, Face::Mcperf, Face::McperfDynamic][below(3)];
        let mut argv = words("-s h");
        for _ in 0..below(6) {
            let row = ROWS[below(ROWS.len())];
            argv.push(format!("--{}", row.long));
            if below(8) > 0 && row.takes != Takes::Nothing {
                argv.push(arguments[below(arguments.len())].clone());
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
