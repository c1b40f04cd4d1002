//! Messages of small sources, with their causes and remedies.

use super::*;

/// Cause, message and remedy of each message of `text`.
fn rows(text: &str) -> Vec<[String; 3]> {
    let words = Source::new("words.rs", "f(match r { Remedy::Wait => \"; wait (or not)\" });");
    let entries = entries(&Source::new("a.rs", text), &remedies(&words), |_, _| true);
    let errors = entries.into_iter().filter(|entry| entry.is_error);
    errors.map(|Entry { cause, message, remedy, .. }| [cause, message, remedy]).collect()
}

#[test]
fn a_variant_has_its_docstring_as_cause_and_one_row_for_its_parts() {
    let text = r#"
enum Fault {
    /// It rains.
    Rain { where_to: Sentence },
    /// It snows.
    ///
    /// To do: Take a sledge.
    #[other]
    Snow(u32),
}

impl Fault {
    fn sentence(&self) -> Sentence {
        match self {
            Self::Rain { where_to } => Sentence::new(format!("rain \
                at {here}, ")).and(where_to).text(" in ").field("depth").remedy(Remedy::Wait),
            Self::Snow(deep) => Sentence::new(format!("{deep} of snow")),
        }
    }
}
"#;
    let rain = ["It rains.", "rain at {here}, {where_to} in --depth", "wait (or not)"];
    let snow = ["It snows.", "{deep} of snow", "Take a sledge."];
    assert_eq!(rows(text), [rain, snow]);
}

#[test]
fn a_function_says_the_cause_of_the_errors_that_it_returns() {
    let text = r#"
/// Opens the door.
///
/// Cause: It is locked.
///
/// To do: Ask for the key.
fn open(Door { lock, .. }: Door) -> Result<(), String> {
    let note = "the door is green";
    match lock {
        0 => Err("no way in".to_owned()),
        _ => Err(format!("{lock} locks: use the window")),
    }
}
"#;
    let [cause, key, window] = ["It is locked.", "Ask for the key.", "use the window"];
    assert_eq!(rows(text), [[cause, "no way in", key], [cause, "{lock} locks", window]]);
}
