//! Progress lines of each phase.

use super::*;

fn measuring() -> Progress {
    Progress {
        phase: Phase::Measure,
        elapsed_s: 3.24,
        length_s: Some(10.0),
        done: 64_800,
        rate_per_s: Some(20_012.0),
        response_p99_ns: Some(412_000),
        ..Progress::default()
    }
}

#[test]
fn a_line_says_where_how_fast_and_how_slow() {
    assert_eq!(progress_line(&measuring()), "measure 3.2 of 10 s  20 012/s  p99 412 µs");
    let bad = Progress { response_p99_ns: None, unanswered: 1200, ..measuring() };
    let line = progress_line(&bad);
    assert_eq!(line, "measure 3.2 of 10 s  20 012/s  p99 —  1 200 not answered");
    let first = Progress { rate_per_s: None, response_p99_ns: None, ..measuring() };
    assert_eq!(progress_line(&first), "measure 3.2 of 10 s  —/s  p99 —");
}

#[test]
fn a_stall_shows_as_the_age_of_the_backlog() {
    let stalled = Progress { oldest_due: Some(Span::from_ms(1_500)), ..measuring() };
    let line = progress_line(&stalled);
    assert_eq!(line, "measure 3.2 of 10 s  20 012/s  p99 412 µs  backlog 1.50 s");
    let calm = Progress { oldest_due: Some(Span::from_us(40)), ..measuring() };
    assert_eq!(progress_line(&calm), progress_line(&measuring()));
}

#[test]
fn where_connections_are_the_load_their_number_is_told() {
    let churn = Progress { total: Some(2_000), done: 640, living: Some(12), ..measuring() };
    assert_eq!(
        progress_line(&churn),
        "measure 3.2 s, 32 % of 2 000  20 012/s  p99 412 µs  12 open"
    );
}

#[test]
fn a_phase_of_counted_operations_says_which_part_is_done() {
    let load = Progress {
        phase: Phase::Load,
        done: 99_999,
        total: Some(100_000),
        length_s: None,
        ..measuring()
    };
    assert_eq!(progress_line(&load), "load 3.2 s, 99 % of 100 000  20 012/s");
    let cooldown = Progress { phase: Phase::Cooldown, length_s: None, ..measuring() };
    assert_eq!(progress_line(&cooldown), "cooldown 3.2 s  20 012/s  p99 412 µs");
}
