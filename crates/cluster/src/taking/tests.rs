//! Records that belong to no share of the run, and sentences about lost agents.

use super::*;
use memtide_record::{AgentRecord, ShareRecord};

/// A record of another run, agent or length is not that of the share, whatever its figures are.
#[test]
fn a_record_is_bound_to_its_run_and_agent() {
    let load = RoundLoad {
        scenario: String::new(),
        digest: "digest".to_owned(),
        step: None,
        members: vec![(0, 1), (1, 1)],
    };
    let refused = |change: fn(&mut Record)| {
        let armed_ns = Some(Wide(77));
        let agent =
            AgentRecord { name: "a1".into(), run: "0b".into(), armed_ns, began_late_ns: None };
        let (scenario_digest, agent) = ("digest".to_owned(), Some(agent));
        let share =
            ShareRecord { number: 1, of: 2, scenario_digest, agent, ..ShareRecord::default() };
        let mut record = Record { share: Some(share), measured_s: 10.0, ..Record::default() };
        change(&mut record);
        let mut part = Part::new(&load, Some(Span::from_s(12)));
        let expected = Expected {
            run: "0b",
            name: "a1",
            range: 1..2,
            armed_ns: Some(77),
            told: [false; 2],
            is_stopping: false,
        };
        part.record(record.to_json().as_bytes(), &expected).unwrap_err()
    };
    fn agent(record: &mut Record) -> &mut AgentRecord {
        record.share.as_mut().unwrap().agent.as_mut().unwrap()
    }
    let earlier = refused(|record| agent(record).run = "0a".into());
    assert!(earlier.contains("of another run"), "{earlier}");
    let other = refused(|record| agent(record).name = "a2".into());
    assert!(other.contains("of another agent, a2"), "{other}");
    let none = refused(|record| record.share.as_mut().unwrap().agent = None);
    assert!(none.contains("not that of an agent"), "{none}");
    for armed in [None, Some(Wide(76))] {
        let earlier = match armed {
            None => refused(|record| agent(record).armed_ns = None),
            Some(_) => refused(|record| agent(record).armed_ns = Some(Wide(76))),
        };
        assert!(earlier.contains("began at another instant"), "{earlier}");
    }
    let long = refused(|record| record.measured_s = 80_000.0);
    assert!(long.contains("measured 80000 s, and its load 12 s"), "{long}");
    // With all of this right, the figures themselves are looked at.
    let fits = refused(|_| {});
    assert!(fits.starts_with("its record"), "{fits}");
    assert!(!fits.contains("another") && !fits.contains("measured"), "{fits}");
}

#[test]
fn lost_agents_are_named_by_reason_and_not_all_of_many() {
    let lost = |number: u32, why: &str| {
        let lost = Lost { exit: 3, why: why.to_owned() };
        LostMember { number, label: format!("a{number}"), lost }
    };
    let mut all: Vec<_> = (0..6).map(|number| lost(number, "it was silent")).collect();
    all.push(lost(6, "its disk is full"));
    let sentences = lost_sentences(&all);
    assert_eq!(
        sentences,
        ["agents a0, a1, a2, a3 and 2 more: it was silent", "agent a6: its disk is full"]
    );
    let label = "the master's own load".to_owned();
    let own = lost_sentences(&[LostMember { label, ..lost(0, "it stood still") }]);
    assert_eq!(
        own,
        ["the master's own load: it stood still"],
        "it is no agent that the user named"
    );
}

#[test]
fn what_is_left_of_a_run_counts_the_named_agents_that_made_load() {
    let part = |ran: &[u32], recorded: &[u32]| {
        let members = recorded.iter().map(|number| (*number, 1)).collect();
        let (scenario, digest) = Default::default();
        let part = Part::new(&RoundLoad { scenario, digest, step: None, members }, None);
        Part { ran: ran.to_vec(), recorded: recorded.to_vec(), ..part }
    };
    let why = |ran: &[u32], names: &[&str]| {
        let lost = Lost { exit: 3, why: "it was silent".to_owned() };
        let lost = LostMember { number: 0, label: "a0".to_owned(), lost };
        let end = RoundEnd { lost: vec![lost], alone: vec![], has_failed: true };
        let own = names.iter().position(|name| *name == "own").map(|at| at as u32);
        let taking = Taking {
            parts: vec![part(ran, &[0, 1, 2])],
            run: String::new(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            own,
            seconds: Seconds::default(),
            so_far: LoadSoFar::new(Span::ZERO, None, None),
            abort_on: Vec::new(),
            timeout: Span::ZERO,
            told: [None; 2],
        };
        taking.failure(&end).why
    };
    // One agent was named, and only the master's own load has a record.
    assert_eq!(why(&[1], &["a0", "own"]), "agent a0: it was silent; there is no result");
    // Records of shares that never began are no result.
    assert_eq!(why(&[], &["a0", "a1", "a2"]), "agent a0: it was silent; there is no result");
    let two = why(&[1, 3], &["a0", "a1", "a2", "own"]);
    assert_eq!(two, "agent a0: it was silent; the result is partial: 1 of 3 agents");
}
