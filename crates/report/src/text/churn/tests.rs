//! The report of a run with connection churn, compared with files.

use crate::fixture;
use crate::fixture::expect;

#[test]
fn connections_as_the_load_are_reported_with_their_failures() {
    expect("churn.txt", &fixture::text(&fixture::churn()));
    expect("churn_plan.txt", &crate::plan_text(&fixture::churn().plan, None));
}
