//! A master that measures beside its agents.

use super::*;

#[test]
fn a_master_that_measures_goes_beside_what_the_agents_make() {
    let mut settings = Settings::default();
    settings.scenario.rate = Some(1e5);
    settings.scenario.connections = Some(10);
    settings.scenario.goals = vec!["all.p99<1ms".parse().unwrap()];
    let alone = Division::of(&settings, vec![1, 2]);
    assert_eq!((alone.agents, alone.shares), (settings.scenario.clone(), vec![1, 2]));
    assert!(alone.own.is_none());
    settings.placement.agents.master_rate = Some(500.0);
    let beside = Division::of(&settings, vec![1, 2]);
    let OwnPart { scenario: own, rates } = beside.own.unwrap();
    assert_eq!(rates(Some(7.0)), (Some(7.0), Some(500.0)));
    assert_eq!((beside.agents.rate, beside.agents.goals), (Some(1e5), Vec::new()));
    assert_eq!((own.rate, own.connections, own.threads), (Some(500.0), Some(5), Some(1)));
    assert_eq!((own.load, own.goals), (Load::Never, settings.scenario.goals));
}
