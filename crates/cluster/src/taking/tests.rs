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
        part.record(record.to_json().as_bytes(), &(1..2), ("0b", "a1", Some(77)), false)
            .unwrap_err()
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
        (number, format!("a{number}"), Lost { exit: 3, why: why.to_owned() })
    };
    let mut all: Vec<_> = (0..6).map(|number| lost(number, "it was silent")).collect();
    all.push(lost(6, "its disk is full"));
    let sentences = lost_sentences(&all);
    assert_eq!(
        sentences,
        ["agents a0, a1, a2, a3 and 2 more: it was silent", "agent a6: its disk is full"]
    );
}
