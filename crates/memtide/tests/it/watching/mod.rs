//! A run that is watched: lines on stderr, the screen of a terminal, a page for browsers. What
//! needs a feature is tested where the feature is.

#[cfg(feature = "ui")]
mod screen;
#[cfg(feature = "web")]
mod web;
#[cfg(feature = "web")]
mod browser;

use crate::prelude::*;

#[test]
fn what_was_not_built_is_named_with_its_feature() {
    for (flag, feature, is_built) in
        [("--ui", "ui", cfg!(feature = "ui")), ("--web", "web", cfg!(feature = "web"))]
    {
        if !is_built {
            let line = format!("run --ops-max 10 --keys 10 --rate 0 {flag}");
            let feature = format!("--features {feature}");
            memtide(&line).complains(2, &[flag, "built without the feature", &feature]);
        }
    }
}

#[test]
fn progress_in_a_pipe_is_a_line_now_and_then_or_none() {
    let _turn = shared();
    let lines = |more: &str| {
        let line = format!("run --rate 200 --duration 11s --warmup 0 --keys 50 {more}");
        let mut child = program();
        let child = child.args(line.split_whitespace()).output().unwrap();
        let text = String::from_utf8(child.stderr).unwrap();
        text.lines().filter(|line| line.starts_with("measure ")).count()
    };
    let both = thread::scope(|scope| {
        let (shown, hidden) = (scope.spawn(|| lines("")), scope.spawn(|| lines("--progress off")));
        (shown.join().unwrap(), hidden.join().unwrap())
    });
    assert_eq!(both, (1, 0));
}

#[test]
fn each_second_of_a_record_has_its_machine() {
    let folder = crate::outputs::room("host-seconds");
    run_in(&folder, "run --rate 1k --duration 3s --warmup 0 --keys 50 --json a.json").exits(0);
    let text = fs::read_to_string(folder.join("a.json")).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    let hosts: Vec<&Value> = record["seconds"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|second| second.get("host"))
        .collect();
    assert!(hosts.len() >= 2, "{text}");
    // Every second of the window but the last, which ends with it.
    let workers =
        record["seconds"].as_array().unwrap().iter().flat_map(|it| it["workers"].as_array());
    let kept: Vec<f64> = workers.flatten().filter_map(|worker| worker["kept"].as_f64()).collect();
    assert!(kept.len() >= 2 && kept.iter().all(|part| (0.0..=1.0).contains(part)), "{text}");
    for host in hosts {
        let busy = host["cpu_busy"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&busy) && host["cpus"].as_array().is_some(), "{host}");
        assert!(host["available_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{host}");
        // The load itself goes over loopback.
        assert!(host["sent_bytes"].as_u64().is_some_and(|bytes| bytes > 10_000), "{host}");
    }
}
