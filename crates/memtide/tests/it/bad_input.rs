//! Invalid input: one clear sentence that names the field, nothing on stdout, exit 2, and no server
//! is contacted.

use crate::child::refused;
use crate::prelude::*;

/// Runs a scenario file of this text.
fn run_file(name: &str, text: &str, words: &[&str]) {
    let path = scratch(name);
    fs::write(&path, text).unwrap();
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
    refused("words");
}

#[test]
fn values_out_of_bounds_are_refused_with_their_bounds() {
    refused("bounds");
}

#[test]
fn fields_that_contradict_each_other_are_refused_by_name() {
    refused("contradictions");
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
