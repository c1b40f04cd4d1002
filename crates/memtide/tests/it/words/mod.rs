//! Words that a shell passes on by accident: bytes that are not UTF-8, empty values, switches that
//! are switched off again, and repeated flags.

use crate::prelude::*;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

fn bytes(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

#[test]
fn variables_that_are_no_text_concern_only_their_owners() {
    let _turn = shared();
    let line = "run --plan --server 127.0.0.1:1";
    let foreign = |command: &mut Command| {
        command.env("CAFE", bytes(b"caf\xe9")).env(bytes(b"\xff\xfe"), "x");
    };
    let mut command = program();
    foreign(command.args(line.split(' ')));
    Running::of(&mut command).finish().exits(0);
    let run = memtide_with("MEMTIDE_KEY_SIZE", bytes(b"4\xff"), line);
    run.complains(2, &["MEMTIDE_KEY_SIZE", "UTF-8", "4\\xFF"]);
    for face in ["mutilate", "memaslap", "twemperf"] {
        let mut command = program();
        foreign(command.args([face, "--help"]));
        let run = Running::of(&mut command).finish();
        assert!(!run.err.contains("panicked") && run.code.is_some(), "{run}");
    }
    let run = memtide_with("MEMCACHED_SERVERS", bytes(b"\xff:1"), "memaslap -t 1s");
    run.complains(1, &["MEMCACHED_SERVERS", "UTF-8"]);
}

#[test]
fn an_argument_that_is_no_text_is_named() {
    let _turn = shared();
    for (words, code) in [
        (&["run", "--rate"][..], 2),
        (&["run"], 2),
        (&["load", "-s"], 2),
        (&["scan", "--rates"], 2),
        (&["merge"], 2),
        (&["serve", "--behaviour"], 2),
        (&["sim", "--trace"], 2),
        (&["mutilate", "-s"], 255),
        (&["mcperf", "-s"], 255),
        (&["memaslap", "-s"], 1),
        (&["twemperf", "-s"], 1),
    ] {
        let mut command = program();
        command.args(words).arg(bytes(b"a\xff"));
        Running::of(&mut command).finish().complains(code, &["a\\xFF", "UTF-8"]);
    }
}

#[test]
fn an_empty_server_is_never_the_embedded_one() {
    memtide("run --server= --duration 100ms").complains(2, &["--server", "empty", "HOST"]);
    memtide("search --server= --goal errors<1%").complains(2, &["--server", "empty"]);
    memtide_with("MEMTIDE_SERVER", "", "run --plan").complains(2, &["MEMTIDE_SERVER", "empty"]);
    memtide_with("MEMTIDE_STRICT", "", "sim --plan").complains(2, &["MEMTIDE_STRICT", "empty"]);
    let path = scratch("empty.toml");
    fs::write(&path, "keys = 5\nserver = \"\"\n").unwrap();
    let run = memtide(&format!("run {}", path.display()));
    run.complains(2, &["server", "empty.toml line 2", "empty"]);
}

#[test]
fn a_switch_is_taken_back_and_the_last_of_two_flags_wins() {
    let path = scratch("switched.toml");
    fs::write(&path, "plan = true\nnoreply = true\nquiet = true\n").unwrap();
    let file = path.display();
    // The plan is only printed until the flag is switched off again; then the run fails to connect.
    memtide(&format!("run {file} -s 127.0.0.1:1")).exits(0);
    memtide(&format!("run {file} -s 127.0.0.1:1 --plan=false")).exits(3);
    memtide_with("MEMTIDE_PLAN", "true", "run -s 127.0.0.1:1 --plan=off --timeout 1s").exits(3);
    let twice = "--plan=false --plan --rate 111 --rate 222 --strict --strict=no";
    let run = memtide(&format!("run -s 127.0.0.1:1 -s 127.0.0.1:2 {twice}")).exits(0);
    assert!(run.out.contains("222/s") && !run.out.contains("111/s"), "{run}");
    assert!(run.out.contains("127.0.0.1:1") && run.out.contains("127.0.0.1:2"), "{run}");
    memtide("run --strict=perhaps").complains(2, &["--strict", "perhaps", "true"]);
    memtide("run --strict=").complains(2, &["--strict", "empty"]);
}

#[test]
fn help_is_a_command_too() {
    let run = memtide("help run").exits(0);
    assert!(run.out.contains("--rate") && run.out.contains("Exit codes"), "{run}");
    assert!(memtide("help").exits(0).out.contains("search"));
    let (by_help, by_flag) = (memtide("help mutilate"), memtide("mutilate --help"));
    assert_eq!((by_help.code, &by_help.out), (by_flag.code, &by_flag.out));
    memtide("help nothing").exits(2);
}

#[test]
fn a_scenario_may_come_from_stdin() {
    let _turn = shared();
    let path = scratch("stdin.toml");
    for (text, code, words) in [
        ("server = \"127.0.0.1:1\"\nrate = 444\nplan = true\n", 0, &["444/s"][..]),
        ("rate = 5\nkey-sice = 40\n", 2, &["stdin line 2", "key-size"]),
    ] {
        fs::write(&path, text).unwrap();
        let mut command = program();
        command.args(["run", "-"]).stdin(Stdio::from(File::open(&path).unwrap()));
        let run = Running::of(&mut command).finish().exits(code);
        let said = format!("{}{}", run.out, run.err);
        assert!(words.iter().all(|word| said.contains(word)), "{run}");
    }
    // An endless file that is no scenario is not read to its end.
    let zeros = Stdio::from(File::open("/dev/zero").unwrap());
    let run = Running::of(program().args(["run", "-"]).stdin(zeros)).finish().exits(2);
    assert!(run.err.contains("stdin") && run.err.contains("bytes"), "{run}");
}

#[test]
fn faults_of_datagrams_need_datagrams() {
    for line in [
        "serve --port 0 --fault udp-loss:1%",
        "serve --port 0 --fault reset:1%,udp-late:1%",
        "sim --fault udp-duplicate:1%",
    ] {
        memtide(line).complains(2, &["--fault udp-", "datagrams", "udp"]);
    }
    let line =
        "sim --transport udp --fault udp-duplicate:1% --connections 4 --ops-max 1k --keys 10";
    memtide(line).exits(0);
}
