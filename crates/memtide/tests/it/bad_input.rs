//! Invalid input: one clear sentence that names the field, nothing on stdout, exit 2, and no server
//! is contacted.

use crate::child::{memtide, memtide_with, scratch};

/// Runs a scenario file of this text.
fn run_file(name: &str, text: &str, words: &[&str]) {
    let path = scratch(name);
    std::fs::write(&path, text).unwrap();
    memtide(&format!("run {} --quiet", path.display())).complains(2, words);
}

#[test]
fn an_unknown_field_is_named_with_the_nearest_known_one() {
    run_file("field.toml", "rate = 5\nkey-sice = 40\n", &["key-sice", "key-size", "line 2"]);
    memtide("run --durration 1s").complains(2, &["--durration", "--duration"]);
    let run = memtide_with("MEMTIDE_RAET", "5", "run --quiet");
    run.complains(2, &["MEMTIDE_RAET", "MEMTIDE_RATE"]);
}

#[test]
fn words_that_are_not_of_the_field_are_refused_with_what_is_allowed() {
    for (flag, words) in [
        ("--duration 5parsecs", &["--duration", "5parsecs", "10s"][..]),
        ("--duration 5", &["--duration", "unit"]),
        ("--rate fast", &["--rate", "fast", "20k"]),
        ("--arrival sometimes", &["--arrival", "sometimes", "poisson"]),
        ("--wave tsunami", &["--wave", "tsunami", "ramp"]),
        ("--schedule mine", &["--schedule", "shared", "connection"]),
        ("--on-full panic", &["--on-full", "queue", "drop"]),
        ("--wait forever", &["--wait", "sleep", "hybrid", "spin"]),
        ("--load maybe", &["--load", "auto", "always", "never"]),
        ("--cooldown nap", &["--cooldown", "load", "drain", "stop"]),
        ("--mix fetch=1", &["--mix", "fetch", "incr"]),
        ("--key-size long", &["--key-size", "long", "fixed:"]),
        ("--goal get.p99<1parsec", &["--goal", "1parsec"]),
        ("--flags 4294967296", &["--flags", "4294967295"]),
    ] {
        memtide(&format!("run --quiet {flag}")).complains(2, words);
    }
}

#[test]
fn values_out_of_bounds_are_refused_with_their_bounds() {
    for (flag, words) in [
        ("--depth 0", &["depth 0", "1 to 65536"][..]),
        ("--depth 65537", &["depth", "65536"]),
        ("--rate 0 --refill whole", &["refill", "depth above 1"]),
        ("--refill half", &["refill", "each", "whole"]),
        ("--connections 0", &["connections 0"]),
        ("--threads 0", &["threads 0", "1024"]),
        ("--threads 1025", &["threads", "1024"]),
        ("--keys 0", &["keys 0"]),
        ("--ops-max 0", &["ops-max 0"]),
        ("--duration 0s", &["duration 0"]),
        ("--timeout 0s", &["timeout"]),
        ("--timeout 2h", &["timeout", "1h"]),
        ("--multiget 0", &["multiget 0"]),
        ("--rate 2G", &["rate", "1G"]),
        ("--keys 100k --key-size 2", &["key-size", "at least 4"]),
        ("--key-size 251", &["key-size", "250"]),
        ("--value-size fixed:2MiB", &["value-size", "value-max", "1MiB"]),
        ("--value-max 2GiB", &["value-max", "1GiB"]),
    ] {
        memtide(&format!("run --quiet {flag}")).complains(2, words);
    }
}

#[test]
fn fields_that_contradict_each_other_are_refused_by_name() {
    for (flags, words) in [
        ("--rate 0 --on-full drop", &["on-full", "closed loop"][..]),
        ("--rate 5 --wave ramp:1,2", &["rate", "wave"]),
        ("--threads 8 --connections 4", &["threads 8", "connection"]),
        ("--mix set=1 --multiget 5", &["multiget 5", "mix"]),
        ("--mix get=1 --noreply", &["noreply", "mix"]),
        ("--mix get=1 --goal set.p99<1s", &["goal", "set"]),
        (
            "-s h --protocol binary --user u --password p --before start_trace",
            &["before", "protocol binary"],
        ),
        ("--json - --samples -", &["json", "samples", "stdout"]),
    ] {
        memtide(&format!("run --quiet {flags}")).complains(2, words);
    }
}

#[test]
fn files_that_cannot_be_used_are_named() {
    memtide("run no-such-file.toml").complains(2, &["no-such-file.toml", "cannot be read"]);
    run_file("broken.toml", "rate = = 5\n", &["broken.toml", "line 1"]);
    run_file("type.toml", "quiet = \"perhaps\"\n", &["quiet", "type.toml"]);
    run_file("unit.toml", "\n\nduration = 5\n", &["duration", "unit.toml line 3"]);
    for flag in ["--json", "--samples"] {
        let line = format!("run --quiet --ops-max 5 --keys 10 {flag} /no-such-folder/file");
        memtide(&line).complains(2, &[flag, "/no-such-folder/file"]);
    }
}

#[test]
fn a_program_without_a_command_shows_its_commands() {
    let run = memtide("").exits(2);
    assert_eq!(run.out, "");
    for command in ["run", "load", "serve", "completions", "man"] {
        assert!(run.err.contains(command), "{run}");
    }
    memtide("fly").complains(2, &["fly"]);
    memtide("load").complains(2, &["--server"]);
}
