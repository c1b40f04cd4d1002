//! Searches whose runner loses an agent.

use super::*;
use memtide_base::Instant;
use memtide_record::{MachineCpu, MachineRecord, MissingRecord, RateRecord};
use memtide_scenario::RateUnit;
use memtide_workload::Arrival;

/// Two agents with a lane each, one of which is lost in step `lost_in`. The others achieve
/// what is asked of them, up to `limit_per_s` of all together.
struct Pair {
    lost_in: u32,
    limit_per_s: f64,
    lost: Vec<LostAgent>,
}

impl Pair {
    fn new(lost_in: u32, limit_per_s: f64) -> Self {
        Self { lost_in, limit_per_s, lost: Vec::new() }
    }
}

impl Runner for Pair {
    fn carry_out(
        &mut self,
        task: RunTask,
        _observer: &mut impl Observer,
    ) -> Result<RunOutcome, Failure> {
        let RunTask::Step(RestedStep { task, .. }) = task else { panic!("a search has steps") };
        let asked = task.rate_per_s.expect("every step has a rate");
        let is_whole = task.number < self.lost_in;
        if task.number == self.lost_in {
            self.lost.push(LostAgent {
                step: 0,
                agent: "a1 (10.0.0.7)".to_owned(),
                why: "its connection was closed".to_owned(),
                left: 1,
                of: 2,
            });
        }
        let made = if is_whole { asked } else { asked / 2.0 };
        let gone = || MissingRecord {
            shares: vec![1],
            lanes: vec![[1, 1]],
            lanes_total: 2,
            unreported: None,
        };
        let achieved_per_s = made.min(self.limit_per_s);
        let record = Record {
            measured_s: 100.0,
            rate: RateRecord { target_per_s: Some(made), achieved_per_s, ..RateRecord::default() },
            missing: (!is_whole).then(gone),
            ..Record::default()
        };
        Ok(RunOutcome { record, failure: None, wrong_values: Default::default() })
    }

    fn lost(&self) -> Vec<LostAgent> {
        self.lost.clone()
    }
}

/// Remembers whether each step was behind.
#[derive(Default)]
struct Behind(Vec<bool>);

impl Observer for Behind {
    fn on(&mut self, event: &Event) {
        if let Event::StepDone(step) = event {
            self.0.push(step.behind);
        }
    }

    fn tick(&mut self, _at: Instant) {}

    fn machine_cpu(&self) -> Option<MachineCpu> {
        None
    }

    fn rss_max_bytes(&self) -> Option<u64> {
        None
    }

    fn machine(&self) -> MachineRecord {
        MachineRecord::default()
    }
}

fn plan(scenario: &Scenario) -> StepsPlan<'_> {
    StepsPlan {
        scenario,
        aim: Aim::Goals,
        data: Data::Kept,
        steps_max: None,
        counts_own: false,
        command: "memtide scan".to_owned(),
    }
}

fn scanned(rates: &str, mut runner: Pair) -> (Vec<bool>, Conclusion) {
    let scenario = Scenario::default();
    let plan = plan(&scenario);
    let mut seen = Behind::default();
    let mut scan = Scan::new(rates.parse().unwrap(), RateUnit::Operations);
    let outcome = steps(&mut runner, &plan, &mut scan, &mut seen);
    (seen.0, outcome.conclusion)
}

/// Every step after the loss of an agent was compared with the rate of all agents, called behind,
/// and the search found nothing but the rates before the loss; nothing said that one was lost.
#[test]
fn steps_are_judged_by_what_was_asked_of_the_agents_that_are_left() {
    let (behind, conclusion) = scanned("300,600,900,1200", Pair::new(3, 500.0));
    // Both reach 500/s together; the agent that is left is asked for 450/s, then for 600/s.
    assert_eq!(behind, [false, true, false, true]);
    assert_eq!((conclusion.exit, conclusion.lost.len()), (3, 1));
    assert_eq!(
        conclusion.lost[0].sentence(),
        "agent a1 (10.0.0.7) was lost in step 3: its connection was closed; 1 of 2 agents went on"
    );
    let (behind, conclusion) = scanned("300,400", Pair::new(9, 500.0));
    assert_eq!((behind, conclusion.exit), (vec![false, false], 0));
    assert!(conclusion.lost.is_empty());
}

/// The master's own load keeps its rate whatever happens to the agents.
#[test]
fn only_the_agents_part_of_a_rate_is_missing_with_them() {
    let gone =
        MissingRecord { shares: vec![0], lanes: vec![[0, 0]], lanes_total: 4, unreported: None };
    let whole = Record::default();
    let partial = Record { missing: Some(gone), ..Record::default() };
    let per_s = |per_s| Rate::new(per_s, RateUnit::Operations);
    let asked = |rate, own, record| asked(per_s(rate), per_s(own), record);
    assert_eq!(asked(1_000.0, 200.0, &whole), per_s(1_000.0));
    assert_eq!(asked(1_000.0, 200.0, &partial), per_s(800.0));
    assert_eq!(asked(1_000.0, 0.0, &partial), per_s(750.0));
}

/// What chance explains followed from Poisson arrivals, whatever the scenario's were.
#[test]
fn a_step_is_behind_by_more_than_its_arrivals_explain() {
    let is_behind = |arrival: &str, achieved_per_s| {
        let arrival: Arrival = arrival.parse().unwrap();
        let scenario = Scenario { arrival, ..Scenario::default() };
        let rate = Rate::new(100.0, RateUnit::Operations);
        let trial = Trial { rate, role: StepRole::Scan, longer: 1 };
        let of_record = RateRecord { achieved_per_s, ..RateRecord::default() };
        let record = Record { measured_s: 1.0, rate: of_record, ..Record::default() };
        result(trial, Confidence::P98, &plan(&scenario), &record).behind
    };
    // 4 σ of 100 operations are 40 with Poisson arrivals, 23 with uniform and 0 with fixed gaps.
    for (arrival, least) in [("poisson", 60.0), ("uniform", 77.0), ("fixed", 95.0)] {
        let behind = [least - 1.0, least + 1.0].map(|achieved| is_behind(arrival, achieved));
        assert_eq!(behind, [true, false], "{arrival}");
    }
}
