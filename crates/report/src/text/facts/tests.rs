//! The report of a machine: what spoils measurements comes with its remedy.

use super::*;

fn fact(about: &str, spoils: bool, to_do: Option<&str>) -> Fact {
    let (found, to_do) = ("as it was found".to_owned(), to_do.map(str::to_owned));
    Fact { about: about.to_owned(), found, spoils, to_do, warning: None }
}

#[test]
fn what_spoils_is_said_with_its_remedy_and_again_at_the_end() {
    let facts = [fact("CPUs", false, None), fact("steal", true, Some("move"))];
    let text = facts_text(&facts, None);
    assert_eq!(
        text,
        "CPUs         as it was found\nsteal        as it was found\n             spoils runs: \
         move\n\nnot fit to measure: steal\n"
    );
    let text = facts_text(&[fact("CPUs", false, Some("use two"))], None);
    assert!(text.contains("better: use two\n\nfit to measure"), "{text}");
}
