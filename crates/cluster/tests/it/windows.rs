//! The measured window of all agents: it opens and closes at one instant, and an agent that learns
//! of it too late is lost and named.

use crate::conductor::Conductor;
use crate::fleets::check;
use crate::network::{Fault, When, World};
use crate::node::{MS, S};
use memtide_base::Span;
use memtide_cluster::message::to_agent::What as ToWhat;
use memtide_cluster::message::{Look, Opens, ToAgent};

/// A world of agents whose warm-ups take about a second, and whose loads take ten.
fn world(seed: u64, agents: u32, allow_lost: u32) -> World {
    let mut conductor = Conductor::new(agents, allow_lost, (1, false), seed);
    conductor.opens_after = Some(Span::from_s(1));
    let mut world = World::new(seed, agents as usize, conductor);
    for node in &mut world.nodes {
        (node.warms, node.length) = (true, 9 * S);
    }
    world
}

#[test]
fn all_agents_open_and_close_at_one_instant() {
    for seed in 1..=40 {
        let agents = 2 + (seed % 11) as u32;
        let mut world = world(seed, agents, 0);
        world.run();
        check(&world);
        let found = &world.conductor.rounds[0];
        assert!(found.end.as_ref().expect("it ended").lost.is_empty(), "seed {seed}");
        let Some([open, 1, close]) = found.window else { panic!("it was directed: {found:?}") };
        assert_eq!(found.so_far.len(), agents as usize);
        for node in &world.nodes {
            let error = node.told.expect("clocks were compared").error_ns;
            for (own, all) in node.windows.iter().zip([open, close]) {
                // Clocks are compared while the load runs, so little drift is left.
                assert!(own.abs_diff(all) <= error + 3 * MS, "seed {seed}: {own} {all} {error}");
            }
            assert_eq!((node.windows.len(), node.late.len()), (2, 0), "seed {seed}");
        }
    }
}

/// The command does not reach one agent in time: its counts are of another window, so it is lost,
/// and the counts of the others are whole.
#[test]
fn an_agent_that_learns_of_the_window_too_late_is_lost_and_named() {
    for (seed, allow_lost) in [(1, 0), (2, 1), (3, 1)] {
        let mut world = world(seed, 3, allow_lost);
        // The cut begins when all loads run, and ends after the window has opened.
        let begins = 11 * S;
        world.nodes.iter_mut().for_each(|node| node.prepares = 5 * S);
        world.faults.push((When::At(begins), 0, Fault::Cut { to_master: 0, to_agent: 4 * S }));
        world.run();
        check(&world);
        let found = &world.conductor.rounds[0];
        let end = found.end.as_ref().expect("it ended");
        let [.., close] = found.window.expect("it was directed");
        if world.nodes[0].late.is_empty() {
            panic!("the cut did not delay the command: {found:?}, {:?}", world.nodes[0].windows);
        }
        assert_eq!((end.lost.len(), end.has_failed), (1, allow_lost == 0), "{end:?}");
        assert!(end.lost[0].lost.why.contains("before it knew"), "{end:?}");
        assert!(allow_lost == 0 || close > 0, "the others go on");
    }
}

#[test]
fn commands_without_a_load_and_records_without_a_question_are_refused() {
    let tampered = |what: ToWhat| {
        let mut world = world(5, 3, 3);
        world.tamper_to_agent = Some(Box::new(move |message| {
            let is_share = matches!(message.what, Some(ToWhat::Share(_)));
            is_share.then(|| vec![message.clone(), ToAgent { what: Some(what.clone()) }])
        }));
        world.run();
        check(&world);
        let end = world.conductor.rounds[0].end.clone().expect("it ended");
        end.lost.iter().any(|agent| agent.number == 0)
    };
    assert!(tampered(ToWhat::Opens(Opens { clock_ns: 1 })), "a window without a load");
    assert!(tampered(ToWhat::Look(Look {})), "a record without a load");
}
