//! Messages about faults, with remedies and field names as values.

use super::*;

struct Loud;

impl Words for Loud {
    fn remedy(&self, remedy: Remedy) -> &'static str {
        if remedy == Remedy::SeeTimeout { " (WAIT)" } else { "" }
    }

    fn field(&self, name: &str) -> String {
        name.to_uppercase()
    }
}

#[test]
fn remedies_and_fields_are_worded_by_the_front() {
    let inner = Sentence::new("late").remedy(Remedy::SeeTimeout);
    let all = Sentence::new("it was ").and(&inner).text(" by ").field("timeout");
    assert_eq!(all.in_words(&Loud), "it was late (WAIT) by TIMEOUT");
    assert_eq!(all.clone().remedy(Remedy::FewerKeys).in_words(&Loud), all.in_words(&Loud));
    assert_eq!(all.to_string(), "it was late by timeout");
}
