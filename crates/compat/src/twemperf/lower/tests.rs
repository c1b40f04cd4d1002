//! Command lines as scenarios, in the words of a scenario file.

use super::*;
use crate::tests::words;
use memtide_scenario::field::find;
use memtide_scenario::{self as scenario, Scenario};

fn settings(line: &str) -> Settings {
    let options =
        super::super::parse(&words(line)).unwrap_or_else(|stop| panic!("{}", stop.stderr));
    lower(&options).unwrap_or_else(|stop| panic!("{line}: {}", stop.stderr))
}

fn lowered(line: &str) -> Scenario {
    settings(line).scenario
}

/// The word of `field` in the scenario of `line`.
fn says(line: &str, field: &str) -> String {
    let field = find(field).expect("a field");
    field.show(&settings(line)).join(",")
}

#[test]
fn a_plain_command_line_is_a_set_as_twemperf_writes_it() {
    for (field, word) in [
        ("server", "localhost:11211"),
        ("mix", "set=1"),
        ("key-form", "hex"),
        ("key-prefix", "mcp:"),
        ("key-first", "1"),
        ("key-size", "fixed:12"),
        ("keys", "4294967295"),
        ("popularity", "sequential"),
        ("value-size", "fixed:1"),
        ("value-fill", "0"),
        ("value-draws", "rand48:4660,22136,25923"),
        ("trailing-space", "true"),
        ("send-buffer", "4096"),
        ("receive-buffer", "16384"),
        ("nagle", "false"),
        ("timeout", "3600s"),
        ("load", "never"),
        ("threads", "1"),
        ("depth", "1"),
        ("calls", "1"),
        ("connections", "1"),
        ("connections-total", "1"),
        ("expiry", "0"),
        ("noreply", "false"),
        ("cas-unique", ""),
    ] {
        assert_eq!(says("", field), word, "{field}");
    }
}

#[test]
fn each_option_reaches_its_field() {
    for (line, field, word) in [
        ("-s 10.0.0.1 -p 7000", "server", "10.0.0.1:7000"),
        ("-s ::1", "server", "[::1]:11211"),
        ("-s /run/m.sock", "server", "unix:/run/m.sock"),
        ("-t 0.5", "timeout", "500ms"),
        ("-t 1e9", "timeout", "3600s"),
        ("-b 8192", "send-buffer", "8192"),
        ("-B 2147483647", "receive-buffer", "1073741824"),
        ("-D", "nagle", "true"),
        ("-e 2147483647", "expiry", "2147483647"),
        ("-q", "noreply", "true"),
        ("-q -m get", "noreply", "false"),
        ("-q -m cas", "noreply", "true"),
        ("-P 1234567890123456", "key-size", "fixed:24"),
        ("-c 3/8", "value-draws", "rand48:4663,21880,25920"),
        ("--own-keys -c 1/8", "key-first", "536870912"),
        ("-n 100 -r 10000 -R 1000 -N 70000", "depth", "65536"),
        ("-n 100 -r 10000 -R 1000 -N 10", "depth", "10"),
        ("-N 10", "depth", "1"),
        ("-N 10", "calls", "10"),
        ("-n 7", "connections-total", "7"),
        ("-n 7", "connections", "1"),
        ("-n 7 -r 5", "connections", "7"),
        ("-n 70000 -r 5", "connections", "65536"),
        ("-n 7", "connection-rate", ""),
        ("-r 1000", "connection-rate", "1000"),
        ("-r 1000", "connection-arrival", "fixed"),
        ("-r d0.5", "connection-rate", "2"),
        ("-r e0.25", "connection-rate", "4"),
        ("-r e0.25", "connection-arrival", "poisson"),
        ("-R u0.1,0.3", "call-rate", "5"),
        ("-R u0.1,0.3", "arrival", "uniform:0.5"),
        ("-l 0", "linger", "0s"),
        ("-l 2", "linger", "2s"),
        ("", "linger", ""),
        ("-z 100", "value-size", "fixed:0"),
        ("-z 0.01", "value-size", "fixed:100"),
        ("-z d2.5", "value-size", "fixed:2"),
        ("-z d3.5", "value-size", "fixed:4"),
        ("-z u1,16", "value-size", "uniform-real:1,16"),
        ("-z e40", "value-size", "exponential:40"),
        ("-z s5", "value-size", "ascending:5"),
        ("-m incr -z d5", "delta", "fixed:5"),
        ("-m decr -z u1,9", "delta", "uniform-real:1,9"),
        ("-m decr", "numeric-keys", "shared"),
        ("-m cas", "cas-unique", "1"),
        ("--threads=4 -n 8 -r 1", "threads", "4"),
        ("--time=2.5", "duration", "2500ms"),
    ] {
        assert_eq!(says(line, field), word, "{line}");
    }
}

#[test]
fn gaps_follow_their_law_and_the_draws_of_the_client() {
    for (line, field, word) in [
        ("-r s2", "connection-rate", "0.5"),
        ("-r s2", "connection-arrival", "ascending:0.5"),
        ("-R s0.5", "call-rate", "2"),
        ("-R s0.5", "arrival", "ascending:2"),
        ("-r s2 -R d1", "gap-draws", "seed"),
        ("-r e2", "gap-draws", "rand48:4660,22136,25923"),
        ("-R u1,3 -c 3/8", "gap-draws", "rand48:4663,21880,25920"),
    ] {
        assert_eq!(says(line, field), word, "{line}");
    }
}

#[test]
fn every_method_is_a_mix_of_its_own() {
    for method in super::super::Method::ALL {
        let name = method.name();
        assert_eq!(says(&format!("-m {name} -z d3"), "mix"), format!("{name}=1"));
    }
    assert_eq!(lowered("-m get -z d2000000").value_fill, scenario::ValueFill::Letter(b'0'));
}
