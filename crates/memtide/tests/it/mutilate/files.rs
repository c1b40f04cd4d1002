//! Files that a face writes: samples, pictures, and links under the originals' names.

use super::parser::{self, Dialect};
use super::{Tally, cells, face, face_at, fresh, record_at};
use crate::child::{Running, fresh_folder, shared};
use crate::peer::Peer;
use memtide_record::steps::Steps;
use std::fs;
use std::process::{Command, Stdio};

#[test]
fn samples_are_saved_as_the_originals_save_them() {
    let peer = Peer::memcached("");
    let (reads, all, json) = (fresh("reads.txt"), fresh("all.txt"), fresh("samples.json"));
    let files = format!("--save {} --save_all {}", reads.display(), all.display());
    let line = format!("mutilate -s {} -t 1 -q 1000 -u 0.5 -c 3 {files}", peer.name);
    let line = format!("{line} --json {}", json.display());
    let ran = face(&line).exits(0);
    let report = parser::report(Dialect::Mutilate, &ran.out).unwrap();
    assert_eq!(report.saved.as_deref(), reads.to_str(), "{ran}");
    let (reads, all) = (fs::read_to_string(reads).unwrap(), fs::read_to_string(all).unwrap());
    let untold = Tally::untold(&record_at(&json));
    let gets = peer.figure("cmd_get") - untold.gets;
    assert_eq!(reads.lines().count() as u64, gets, "{ran}");
    assert_eq!(all.lines().count() as u64, report.total.ops, "{ran}");
    let mut sum_us = 0.0;
    for row in cells(&reads) {
        let numbers: Vec<f64> = row.iter().map(|word| word.parse().unwrap()).collect();
        let [sent_s, took_us] = numbers[..] else { panic!("{row:?} is no row of two") };
        assert!((0.0..30.0).contains(&sent_s) && took_us > 0.0, "{row:?}");
        assert!(row.iter().all(|word| word.split('.').nth(1).unwrap().len() == 6), "{row:?}");
        sum_us += took_us;
    }
    let mean = sum_us / gets as f64;
    assert!((mean - report.rows[0][0]).abs() < 0.06, "{mean} in {ran}");
    let of = |kind: &str| all.lines().filter(|line| line.ends_with(kind)).count() as u64;
    assert_eq!((of(" get"), of(" set")), (gets, report.total.ops - gets));
}

#[test]
fn of_several_steps_the_last_ones_samples_are_saved() {
    let peer = Peer::memcached("");
    let (reads, json) = (fresh("steps.txt"), fresh("steps.json"));
    let line =
        format!("mcperf -s {} -t 1 --scan 500:1500:500 --save {}", peer.name, reads.display());
    let ran = face(&format!("{line} --json {}", json.display())).exits(0);
    let saved = fs::read_to_string(reads).unwrap();
    let steps = Steps::from_json(&fs::read_to_string(json).unwrap()).unwrap().steps;
    assert_eq!(saved.lines().count() as u64, steps[2].record.totals.answered, "{ran}");
    // The saved operations were sent late, so none of an earlier step's are left.
    let sent_s = saved.split(' ').next().unwrap().parse::<f64>().unwrap();
    assert!(sent_s > 2.0, "{sent_s} in {ran}");
}

#[test]
fn histograms_are_drawn_and_written() {
    let peer = Peer::memcached("");
    let folder = fresh_folder("plots");
    let line = format!("mcperf -s {} -t 1 --scan 1000:2000:1000 -u 0.2 --plot_all", peer.name);
    let ran = face_at(&folder, &line).exits(0);
    for tag in ["read", "update"] {
        for number in ["00", "01"] {
            let file = |extension| folder.join(format!("histogram_{tag}_{number}.{extension}"));
            let picture = fs::read(file("png")).unwrap_or_else(|why| panic!("{why}: {ran}"));
            assert!(picture.starts_with(b"\x89PNG"), "{tag} {number}");
            let table = fs::read_to_string(file("csv")).unwrap();
            let (head, rows) = table.split_once('\n').unwrap();
            assert!(head.starts_with("# Latency Histogram (Total="), "{head}");
            let count = |line: &str| line.split_once(", ").unwrap().1.parse::<f64>().unwrap();
            assert!(rows.lines().map(count).sum::<f64>() > 0.0, "{table}");
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 8, "{ran}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn links_under_the_old_names_are_the_old_programs() {
    let peer = Peer::memcached("");
    let folder = fresh_folder("links").join("made");
    for _ in 0..2 {
        let made = face(&format!("install-faces {}", folder.display())).exits(0);
        assert_eq!(made.out.lines().count(), fs::read_dir(&folder).unwrap().count(), "{made}");
    }
    for (name, flags, dialect) in [
        ("mutilate", "", Dialect::Mutilate),
        ("mcperf", "", Dialect::Mcperf),
        ("mcperf-dynamic", "", Dialect::McperfDynamic),
        ("mcperf", "--format mutilate", Dialect::Mutilate),
    ] {
        let _turn = shared();
        let mut command = Command::new(folder.join(name));
        command.args(["-s", &peer.name, "-t", "1", "-q", "500"]).args(flags.split_whitespace());
        let ran = Running::of(command.stdin(Stdio::null())).finish().exits(0);
        parser::report(dialect, &ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
    }
    let address = peer.address();
    let at = format!("--server={} --port={}", address.ip(), address.port());
    for (name, line, said) in [
        ("twemperf", format!("{at} -n 2"), "Total: connections 2 "),
        ("mcperf", format!("{at} --num-conns=2"), "Total: connections 2 "),
        ("memaslap", format!("-s {} -x 500", peer.name), " Ops: 500 "),
        ("memcaslap", format!("-s {} -x 500", peer.name), " Ops: 500 "),
    ] {
        let _turn = shared();
        let mut command = Command::new(folder.join(name));
        let ran = Running::of(command.args(line.split(' '))).finish().exits(0);
        assert!(ran.out.contains(said) || ran.err.contains(said), "{ran}");
    }
    for (which, dialect) in [
        ("dynamic", Some(Dialect::McperfDynamic)),
        ("0.3", Some(Dialect::Mcperf)),
        ("twemperf", None),
    ] {
        face(&format!("install-faces --mcperf {which} {}", folder.display())).exits(0);
        let _turn = shared();
        let mut command = Command::new(folder.join("mcperf"));
        command.args(["-s", &peer.name, "-t", "1"]);
        if dialect.is_none() {
            command.args(["-s", &address.ip().to_string(), "-p", &address.port().to_string()]);
        }
        let ran = Running::of(command.stdin(Stdio::null())).finish().exits(0);
        match dialect {
            Some(dialect) => drop(parser::report(dialect, &ran.out).unwrap()),
            None => assert!(ran.err.contains("\nTotal: connections 1 "), "{ran}"),
        }
    }
    face(&format!("install-faces {}", folder.display())).exits(0);
    face(&format!("install-faces --mcperf perf {}", folder.display())).exits(2);
    let program = folder.join("mcperf");
    let ran = Running::of(Command::new(&program).args(["-q", "10k"])).finish().exits(1);
    assert_eq!(ran.err, format!("{}: invalid numeric value: 10k\n", program.display()));
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("mcperf"), "something else").unwrap();
    let refused = face(&format!("install-faces {}", folder.display())).exits(1);
    assert!(refused.err.contains("mcperf"), "{refused}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "it makes all or none: {refused}");
    fs::remove_dir_all(folder).unwrap();
}
