//! What is said to a user about what went wrong, with remedies and names of fields as values: the
//! front that speaks puts them into words, as only it knows which flags it has.

use std::fmt;

/// What a user can do about it. A front words it together with the punctuation in front of
/// it; one that has no such flag says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remedy {
    /// Look at how long a connection may take to open.
    SeeTimeout,
    /// Allow an answer more time.
    AllowTime,
    /// Another remedy was named; or use fewer connections.
    OrFewerConnections,
    /// Use fewer connections, or allow more time for them to open.
    FewerConnectionsOrTime,
    /// Use fewer connections, more addresses to come from, or more local ports.
    MorePorts,
    /// Come from an address of this machine.
    LocalSource,
    /// Look at the credentials.
    CheckCredentials,
    /// Leave the credentials out, or let the server ask for them.
    LeaveCredentials,
    /// Give credentials.
    GiveCredentials,
    /// Speak the text protocol.
    SpeakText,
    /// Speak the binary protocol.
    SpeakBinary,
    /// Use fewer threads.
    FewerThreads,
    /// Why a lost connection is not opened again.
    Reconnect,
    /// Use smaller windows, or accept that they are not full.
    SmallerWindows,
    /// Accept that not all keys were stored.
    AcceptPartial,
    /// Say whether items of others may be evicted.
    ChooseLoad,
    /// Fill the server, say which lengths it was filled with, or accept them.
    RefillOrAccept,
    /// Use fewer or smaller keys, or accept that some are missing.
    FewerKeys,
}

/// The words of a front.
pub trait Words {
    /// A remedy, with the punctuation in front of it; nothing where there is no such flag.
    fn remedy(&self, remedy: Remedy) -> &'static str;

    /// The field of a scenario called `name`, as the user knows it.
    fn field(&self, name: &str) -> String;
}

/// A sentence, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Remedy(Remedy),
    Field(&'static str),
}

impl Sentence {
    /// Begins with `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self::default().text(text)
    }

    /// Goes on with `text`.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Text(text.into()));
        self
    }

    /// Goes on with a remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: Remedy) -> Self {
        self.parts.push(Part::Remedy(remedy));
        self
    }

    /// Goes on with the name of a field.
    #[must_use]
    pub fn field(mut self, name: &'static str) -> Self {
        self.parts.push(Part::Field(name));
        self
    }

    /// Goes on with another one.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.parts.extend_from_slice(&other.parts);
        self
    }

    /// The sentence in these words.
    pub fn in_words(&self, words: &dyn Words) -> String {
        let mut said = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => said += text,
                Part::Remedy(remedy) => said += words.remedy(*remedy),
                Part::Field(name) => said += &words.field(name),
            }
        }
        said
    }
}

/// What happened, without what to do about it.
impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Text(text) => f.write_str(text)?,
                Part::Remedy(_) => {}
                Part::Field(name) => f.write_str(name)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
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
}
