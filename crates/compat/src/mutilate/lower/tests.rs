//! The scenario of every option.

mod golden;

use super::*;
use crate::mutilate::Face;
use crate::mutilate::args::tests::load as parse;
use crate::tests::words;
use memtide_scenario::{Reconnect, Scenario};

fn scenario(face: Face, line: &str) -> Scenario {
    let options = parse(face, "mcperf", &words(line)).expect("the command line is allowed");
    lower(&options, &[]).expect("it can be run").scenario
}

#[test]
fn a_lost_connection_ends_every_run() {
    for face in [Face::Mutilate, Face::Mcperf, Face::McperfDynamic] {
        assert_eq!(scenario(face, "-s h").reconnect, Reconnect::Never);
    }
}

#[test]
fn nagles_algorithm_stays_on_if_asked_for() {
    assert!(!scenario(Face::Mutilate, "-s h").sockets.nagle);
    assert!(scenario(Face::Mutilate, "-s h --no_nodelay").sockets.nagle);
}

#[test]
fn servers_are_told_when_to_trace() {
    let printed = |line| {
        let scenario = scenario(Face::Mcperf, line);
        (scenario.before, scenario.after)
    };
    assert_eq!(printed("-s h"), (None, None));
    for line in ["-s h -e", "-s h -e --binary", "-s h -e -U u -P p"] {
        assert_eq!(printed(line), (Some("start_trace".to_owned()), Some("stop_trace".to_owned())));
    }
    for line in ["-s h -e --scan 1:2:1", "-s h -e --search 95:1", "-s h -e --binary -U u -P p"] {
        assert_eq!(printed(line), (None, None), "{line}");
    }
}

#[test]
fn values_that_no_machine_can_do_are_told_in_the_faces_words() {
    for (line, said) in [
        ("-K normal:-5,1", "--keysize (-K) 'normal:-5,1' is not allowed; a distribution"),
        ("-K pareto:1,0,0.5", "--keysize (-K) 'pareto:1,0,0.5' is not allowed; a distribution"),
        ("-V 2000000", "--valuesize (-V) '2000000' is not allowed; "),
        ("-V gev:1,2,11", "--valuesize (-V) 'gev:1,2,11' is not allowed; "),
        ("-t 100000000", "--time (-t) '100000000' is not allowed; at most 31622400 s"),
        ("-w 100000000", "--warmup (-w) '100000000' is not allowed; at most 31622400 s"),
        ("-d 100000", "--depth (-d) '100000' is not allowed; 1 to 65536"),
        ("-T 2000", "--threads (-T) '2000' is not allowed; 1 to 1024"),
        ("--keyorder normal:-1,2", "--keyorder 'normal:-1,2' is not allowed; a distribution"),
    ] {
        let words = words(&format!("-s h {line}"));
        let options = parse(Face::Mcperf, "mcperf", &words).expect("the originals allow it");
        let stop = lower(&options, &[]).expect_err(line);
        assert_eq!(stop.code, 255);
        assert!(stop.stderr.starts_with(said), "{line}: {}", stop.stderr);
        for native in ["key-size", "value-size", "value-max", "duration", "popularity", "etc-"] {
            assert!(!stop.stderr.contains(native), "{line}: {}", stop.stderr);
        }
    }
}

#[test]
fn no_refusal_names_a_flag_of_memtide() {
    let options = parse(Face::Mcperf, "mcperf", &words("-s h")).unwrap();
    for field in memtide_scenario::FIELDS {
        // Words that are flags of both are written as the faces write them, with their letter.
        let flag = format!("--{}", field.name);
        let stop = refused(&options, field.name, &format!("{flag}: 0 is wrong; lower {flag}"));
        let own = |text: &str| text.starts_with(" (") || field.name == "interval";
        let names = |(at, _): (usize, &str)| {
            let rest = &stop.stderr[at + flag.len()..];
            !rest.starts_with(char::is_alphabetic) && !own(rest)
        };
        assert!(!stop.stderr.match_indices(&flag).any(names), "{}", stop.stderr);
    }
}
