//! The fields of `--a` or `--b`: from the user's words to a layer of settings, and to words that
//! show no password. The values of fields are not looked at here.

use memtide_scenario::{Field, Layer, Origin, Secret, field};
use memtide_session::exit::Stop;

/// The field whose value no output shows.
const PASSWORD: &str = "password";

/// The fields that a set-up has of its own, each with its values.
#[derive(Debug, Default)]
pub(super) struct ArmFields(Vec<(&'static Field, Vec<String>)>);

impl ArmFields {
    /// Reads the words of `flag`, which is `a` or `b`.
    pub(super) fn of<'a>(
        flag: &str,
        words: impl Iterator<Item = &'a String>,
    ) -> Result<Self, Stop> {
        let mut fields = Self::default();
        words.flat_map(|word| pieces(word)).try_for_each(|piece| fields.add(flag, piece))?;
        Ok(fields)
    }

    /// Adds NAME=VALUE: a further value of a list, or the value that counts, as that of a flag.
    fn add(&mut self, flag: &str, word: &str) -> Result<(), Stop> {
        // A password with a space in it, beside other fields: the piece may be its second half.
        if !names_field(word) && self.0.last().is_some_and(|(field, _)| field.name == PASSWORD) {
            return Err(Stop::usage(format!(
                "--{flag}: what follows {PASSWORD}= is not NAME=VALUE; a password with a space in \
                 it needs a --{flag} of its own"
            )));
        }
        let (name, value) = word.split_once('=').ok_or_else(|| {
            Stop::usage(format!("--{flag} '{word}' is not NAME=VALUE, such as server=cache1"))
        })?;
        let field = field::find(name).ok_or_else(|| {
            Stop::usage(format!(
                "--{flag} '{word}': there is no field {name}; memtide run --help-all names all"
            ))
        })?;
        let value = value.to_owned();
        match self.0.iter_mut().find(|(known, _)| *known == field) {
            Some((_, values)) if field.many => values.push(value),
            Some((_, values)) => *values = vec![value],
            None => self.0.push((field, vec![value])),
        }
        Ok(())
    }

    /// The fields as settings.
    pub(super) fn layer(&self) -> Layer {
        let mut layer = Layer::new();
        self.0.iter().cloned().for_each(|(field, values)| layer.push(field, values, Origin::Flag));
        layer
    }

    /// The fields as words; empty if there are none.
    pub(super) fn shown(&self) -> String {
        let words = self.0.iter().map(|(field, values)| {
            let value = values.join(",");
            match field.name {
                PASSWORD => format!("{PASSWORD}={}", Secret::new(&value)),
                name => format!("{name}={value}"),
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The fields in a word: one, whose value may have spaces, or several between spaces.
fn pieces(word: &str) -> Vec<&str> {
    let pieces: Vec<&str> = word.split_whitespace().collect();
    match pieces.iter().filter(|piece| names_field(piece)).count() {
        1 if names_field(pieces[0]) => vec![word.trim()],
        _ => pieces,
    }
}

/// True if a piece begins with the name of a field and `=`, also if the name is misspelt.
fn names_field(piece: &str) -> bool {
    piece.split_once('=').is_some_and(|(name, _)| field::nearest(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtide_scenario::Settings;

    fn fields(words: &[&str]) -> Result<ArmFields, Stop> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        ArmFields::of("a", words.iter())
    }

    fn settings(words: &[&str]) -> Settings {
        let mut settings = Settings::default();
        settings.apply(&fields(words).unwrap().layer()).unwrap();
        settings
    }

    #[test]
    fn no_word_of_an_arm_shows_its_password_and_the_settings_have_it() {
        let words = ["user=tim password=geheim", "server=h1"];
        let shown = fields(&words).unwrap().shown();
        assert_eq!(shown, "user=tim password=*** server=h1");
        assert_eq!(settings(&words).scenario.password, Some(Secret::new("geheim")));
    }

    #[test]
    fn no_error_shows_the_second_half_of_a_password() {
        for half in ["zwei", "zwei=3"] {
            let stop = fields(&[&format!("keys=10 password=eins {half}")]).unwrap_err();
            assert!(!stop.message.contains("zwei"), "{}", stop.message);
            assert!(stop.message.contains("password"), "{}", stop.message);
        }
    }

    #[test]
    fn a_list_takes_every_value_and_another_field_the_last_one() {
        let (one_word, two_words) = (["server=h1 server=h2"], ["server=h1", "server=h2"]);
        for words in [&one_word[..], &two_words, &["server=h1,h2"]] {
            assert_eq!(settings(words).scenario.servers.len(), 2, "{words:?}");
        }
        assert_eq!(settings(&["rate=1k rate=2k"]).scenario.rate, Some(2_000.0));
    }

    #[test]
    fn a_word_with_one_field_may_have_spaces_in_its_value() {
        let words = ["before=verbosity 1", "keys=10"];
        assert_eq!(settings(&words).scenario.before.as_deref(), Some("verbosity 1"));
        // With another field, also a misspelt one, each piece needs a name of its own.
        for (words, said) in [("keys=10 before=verbosity 1", "'1'"), ("before=a kyes=1", "kyes")] {
            let stop = fields(&[words]).unwrap_err();
            assert!(stop.message.contains(said), "{}", stop.message);
        }
    }
}
