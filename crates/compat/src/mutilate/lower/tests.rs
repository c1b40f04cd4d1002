//! Every option's scenario.

use super::*;
use crate::mutilate::{Face, parse};
use memtide_schema::scenario::Reconnect;

fn scenario(face: Face, line: &str) -> Scenario {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let options = parse(face, "mcperf", &words).expect("the command line is allowed");
    lower(&options, &[]).expect("it can be run")
}

#[test]
fn a_lost_connection_ends_every_run() {
    for face in [Face::Mutilate, Face::Mcperf, Face::McperfDynamic] {
        assert_eq!(scenario(face, "-s h").reconnect, Reconnect::Never);
    }
}

#[test]
fn nagles_algorithm_stays_on_if_asked_for() {
    assert!(!scenario(Face::Mutilate, "-s h").habits.nagle);
    assert!(scenario(Face::Mutilate, "-s h --no_nodelay").habits.nagle);
}

#[test]
fn servers_are_told_when_to_trace() {
    let told = |line| {
        let scenario = scenario(Face::Mcperf, line);
        (scenario.before, scenario.after)
    };
    assert_eq!(told("-s h"), (None, None));
    for line in ["-s h -e", "-s h -e --binary", "-s h -e -U u -P p"] {
        assert_eq!(told(line), (Some("start_trace".to_owned()), Some("stop_trace".to_owned())));
    }
    for line in ["-s h -e --scan 1:2:1", "-s h -e --search 95:1", "-s h -e --binary -U u -P p"] {
        assert_eq!(told(line), (None, None), "{line}");
    }
}
