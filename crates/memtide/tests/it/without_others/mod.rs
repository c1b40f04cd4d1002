//! Tests of instants and lengths of time: each runs with nothing beside it. They are called from
//! here because tests run in the order of their modules, so the others wait for them once.

use crate::child::alone;
use crate::commands::{ab, floor};
use crate::mutilate::fleet::{log, sequences, twelve};
use crate::mutilate::{endings, rates};
use crate::{instants, pauses};

/// Declares tests that take their turn alone and call the function of their name in a module.
macro_rules! alone {
    ($(#[test] fn $name:ident: $module:ident;)*) => {
        $(
            #[test]
            fn $name() {
                let _turn = alone();
                $module::$name();
            }
        )*
    };
}

alone! {
    #[test] fn a_slower_server_is_worse: ab;
    #[test] fn figures_near_the_floor_are_named_and_floors_are_kept: floor;
    #[test] fn sends_to_a_real_server_follow_their_law: instants;
    #[test] fn responses_of_a_queue_are_what_lindleys_recursion_says: instants;
    #[test] fn a_fill_on_a_busy_machine_warns: endings;
    #[test] fn a_seed_makes_the_waveform_that_it_made_before: rates;
    #[test] fn a_masters_log_is_that_of_the_originals: log;
    #[test] fn an_agents_log_is_that_of_the_originals: log;
    #[test] fn printed_instants_are_those_at_which_the_server_is_loaded: sequences;
    #[test] fn callers_of_agents_find_instants_beside_the_logs_of_other_machines: twelve;
    #[test] fn a_stopped_server_leaves_its_whole_pause_in_the_response_times: pauses;
}
