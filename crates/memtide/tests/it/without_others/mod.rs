//! Tests of instants and lengths of time: each runs with nothing beside it. They are called from
//! here because tests run in the order of their modules, so the others wait for them once.

use crate::child::alone;
use crate::mutilate::fleet;
use crate::{commands, instants, mutilate, pauses};

#[test]
fn a_slower_server_is_worse() {
    let _turn = alone();
    commands::ab::a_slower_server_is_worse();
}

#[test]
fn figures_near_the_floor_are_named_and_floors_are_kept() {
    let _turn = alone();
    commands::floor::figures_near_the_floor_are_named_and_floors_are_kept();
}

#[test]
fn sends_to_a_real_server_follow_their_law() {
    let _turn = alone();
    instants::sends_to_a_real_server_follow_their_law();
}

#[test]
fn responses_of_a_queue_are_what_lindleys_recursion_says() {
    let _turn = alone();
    instants::responses_of_a_queue_are_what_lindleys_recursion_says();
}

#[test]
fn a_fill_on_a_busy_machine_warns() {
    let _turn = alone();
    mutilate::endings::a_fill_on_a_busy_machine_warns();
}

#[test]
fn a_seed_makes_the_waveform_that_it_made_before() {
    let _turn = alone();
    mutilate::rates::a_seed_makes_the_waveform_that_it_made_before();
}

#[test]
fn a_masters_log_is_that_of_the_originals() {
    let _turn = alone();
    fleet::log::a_masters_log_is_that_of_the_originals();
}

#[test]
fn an_agents_log_is_that_of_the_originals() {
    let _turn = alone();
    fleet::log::an_agents_log_is_that_of_the_originals();
}

#[test]
fn printed_instants_are_those_at_which_the_server_is_loaded() {
    let _turn = alone();
    fleet::sequences::printed_instants_are_those_at_which_the_server_is_loaded();
}

#[test]
fn callers_of_agents_find_instants_beside_the_logs_of_other_machines() {
    let _turn = alone();
    fleet::twelve::callers_of_agents_find_instants_beside_the_logs_of_other_machines();
}

#[test]
fn a_stopped_server_leaves_its_whole_pause_in_the_response_times() {
    let _turn = alone();
    pauses::a_stopped_server_leaves_its_whole_pause_in_the_response_times();
}
