//! Runs with errors, with misses, or with a server that restarts or is flushed: the verdict and the
//! warnings say so, and a condition ends them early.

use crate::prelude::*;

/// The message of the check of errors, if it failed.
fn doubt(run: &Finished) -> Option<String> {
    let believable = run.record().believable;
    let reason = believable.reasons.into_iter().find(|reason| reason.code == CheckKind::Errors);
    assert!(reason.is_none() || believable.verdict == Verdict::No);
    reason.map(|reason| reason.message)
}

/// The message of the warning with this code.
fn warning(run: &Finished, code: &str) -> Option<String> {
    let warnings = run.record().warnings;
    warnings.into_iter().find(|warning| warning.code == code).map(|warning| warning.message)
}

#[test]
fn a_server_of_errors_is_no_result_for_strict_and_gives_no_rate_to_advise() {
    let peer = Peer::embedded("--fault server-error:99%");
    let flags = "--load never --duration 500ms --keys 100";
    let strict = format!("run -s {} {flags} --rate 500 --strict", peer.name);
    let run = memtide(&strict).exits(4);
    let last = run.out.lines().last().unwrap_or_default();
    let why = "operations had errors (";
    assert!(last.starts_with("believable: no — ") && last.contains(why), "{run}");
    let run = memtide(&format!("run -s {} {flags}", peer.name)).exits(0);
    assert!(run.out.contains("\nclosed loop: "), "{run}");
    assert!(!run.out.contains(" --rate "), "a rate of errors is no advice: {run}");
    let run = memtide(&format!("run -s {} {flags} --errors-max 100% --json -", peer.name)).exits(0);
    assert_eq!(doubt(&run), None, "{run}");
    // The faces print what they always did.
    let face = format!("mutilate -s {} -t 1 --noload -r 100", peer.name);
    assert!(memtide(&face).out.starts_with("#type"), "{face}");
}

#[test]
fn errors_that_count_as_answers_have_times_and_stay_errors() {
    let flags = "--rate 1k --duration 4s --keys 50 --mix get=1,set=1 --seed 5 --json -";
    let line = format!("sim {flags} --fault server-error:30%@set --load-partial");
    let [failed, refused] = ["", " --count-refused"].map(|more| memtide(&format!("{line}{more}")));
    let (plain, counted) = (failed.record(), refused.record());
    let count = plain.totals.failed;
    assert!(count > 300 && plain.totals.refused == 0, "{failed}");
    assert_eq!((counted.totals.failed, counted.totals.refused), (0, count), "{refused}");
    assert_eq!(counted.totals.answered, plain.totals.answered + count, "{refused}");
    assert_eq!(counted.response[&Kind::All].count, counted.totals.answered, "{refused}");
    assert_eq!(counted.totals.tried(), plain.totals.tried(), "{refused}");
    assert_eq!(counted.refusal, plain.refusal, "{refused}");
    assert!(counted.refusal.is_some_and(|line| line.starts_with("SERVER_ERROR")), "{refused}");
    let share = |run: &Finished| doubt(run).map(|why| why[..why.find(':').unwrap()].to_owned());
    assert!(share(&failed).is_some() && share(&failed) == share(&refused), "{refused}");
}

/// A run of six seconds whose server is disturbed during the load.
fn disturbed(peer: Peer, disturb: impl FnOnce(Peer) -> Option<Peer>) -> Finished {
    let _turn = shared();
    let flags = "--keys 200 --mix get=1 --rate 1000 --connections 4 --duration 6s --json -";
    let run = Running::start(&format!("run -s {} {flags} --timeout 10s", peer.name));
    // Two probes of the fill read a thousand keys each.
    peer.await_figure("cmd_get", 2_500);
    let peer = disturb(peer);
    assert!(peer.is_some(), "the server is there again");
    run.finish()
}

#[test]
fn a_flush_by_another_client_is_warned_of_and_one_that_was_ordered_is_not() {
    let peer = Peer::memcached("");
    let run = disturbed(peer, |peer| {
        peer.ask("flush_all\r\nstats");
        Some(peer)
    });
    let run = run.exits(0);
    let said = warning(&run, "server_flushed").unwrap_or_else(|| panic!("not said: {run}"));
    assert!(said.contains("1 flush_all"), "{said}");
    let said = warning(&run, "hit_ratio").unwrap_or_else(|| panic!("not said: {run}"));
    assert!(said.contains("the servers held 100 %"), "{said}");
    let peer = Peer::memcached("");
    let flags = "--keys 200 --mix get=1 --rate 500 --duration 300ms --after flush_all --json -";
    let run = memtide(&format!("run -s {} {flags}", peer.name)).exits(0);
    assert_eq!(warning(&run, "server_flushed"), None, "{run}");
    assert_eq!(warning(&run, "hit_ratio"), None, "{run}");
    let flags = "--keys 200 --mix get=1 --rate 500 --duration 300ms --load never --json -";
    let run = memtide(&format!("run -s {} {flags}", peer.name)).exits(0);
    let said = warning(&run, "hit_ratio").unwrap_or_else(|| panic!("not said: {run}"));
    assert!(said.starts_with("0 of "), "{said}");
}

#[test]
fn a_restart_of_the_server_is_warned_of_with_when_it_was_gone() {
    let peer = Peer::memcached("");
    let (name, address) = (peer.name.clone(), peer.address());
    let run = disturbed(peer, |peer| {
        peer.kill();
        thread::sleep(Duration::from_millis(300));
        Peer::memcached_at(address, "")
    });
    let said = warning(&run, "server_restarted").unwrap_or_else(|| panic!("not said: {run}"));
    assert!(said.starts_with(&name), "{said}");
    let said = warning(&run, "server_gone").unwrap_or_else(|| panic!("not said: {run}"));
    assert!(said.starts_with(&format!("{name} was gone from ")), "{said}");
    assert!(!said.ends_with("to the end"), "{said}");
    assert!(warning(&run, "hit_ratio").is_some(), "{run}");
}

#[test]
fn a_condition_ends_a_run_early_with_its_record() {
    let peer = Peer::embedded("--fault server-error:99%");
    let flags = "--load never --duration 50s --keys 100 --rate 500 --abort-on errors>50%";
    let run = memtide(&format!("run -s {} {flags}", peer.name)).exits(1);
    let partial = run.out.lines().find(|line| line.starts_with("partial: "));
    let why = "partial: --abort-on errors>50% ended the run after ";
    assert!(partial.is_some_and(|line| line.starts_with(why)), "{run}");
    let run = memtide(&format!("run -s {} {flags} --json -", peer.name)).exits(1);
    let record = run.record();
    assert_eq!((record.ended_by, record.partial), (EndedBy::Aborted, true), "{run}");
    assert_eq!(record.aborted.map(|aborted| aborted.condition).as_deref(), Some("errors>50%"));
    memtide("run --abort-on errors").complains(2, &["abort-on", "'errors'"]);
    memtide("run --abort-on delete.p99>1s").complains(2, &["abort-on delete.p99>1s", "mix"]);
}
