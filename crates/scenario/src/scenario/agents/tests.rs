//! Words for agents.

use super::*;

#[test]
fn numbers_and_lists_are_told_apart() {
    let word = |text: &str| text.parse::<AgentsWord>();
    assert_eq!(word("3"), Ok(AgentsWord::Count(3)));
    let listed =
        |all: &[&str]| Ok(AgentsWord::Listed(all.iter().map(|one| (*one).to_owned()).collect()));
    assert_eq!(word("lab1,10.0.0.2:99"), listed(&["lab1:11299", "10.0.0.2:99"]));
    assert_eq!(word("[::1]"), listed(&["[::1]:11299"]));
    assert_eq!(word("[::1]:7").map(|it| it.to_string()), Ok("[::1]:7".to_owned()));
    for wrong in ["", "0", "99999", "a,,b", "a:b", "a:99999", "::1", "[::1", "a,a", "a b"] {
        let message = word(wrong).unwrap_err();
        assert!(message.contains("agents") || message.contains("twice"), "{wrong}: {message}");
    }
}
