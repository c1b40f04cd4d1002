//! Messages about faults, with remedies and field names as values. The front that prints a message
//! puts them into words, because it alone knows which flags it has.

pub mod printable;

use std::fmt;

/// A remedy that the user can apply. A front words it together with the punctuation in front of it;
/// a front without the flag for it prints nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remedy {
    /// Check the timeout for opening a connection.
    SeeTimeout,
    /// Raise the timeout for replies.
    AllowTime,
    /// Use fewer connections; follows another remedy.
    OrFewerConnections,
    /// Use fewer connections, or raise the timeout for opening them.
    FewerConnectionsOrTime,
    /// Use fewer connections, more source addresses, or more local ports.
    MorePorts,
    /// Use an address of this machine as the source address.
    LocalSource,
    /// Check the credentials.
    CheckCredentials,
    /// Remove the credentials, or make the server require them.
    LeaveCredentials,
    /// Provide credentials.
    GiveCredentials,
    /// Use the text protocol.
    SpeakText,
    /// Use the binary protocol.
    SpeakBinary,
    /// Use TLS.
    SpeakTls,
    /// Use TLS if the server speaks it; follows a question.
    PerhapsTls,
    /// Use no TLS; follows a question or another remedy.
    LeaveTls,
    /// Trust the server's CA.
    TrustCa,
    /// Trust the server's certificate itself.
    TrustCertificate,
    /// Say which name the server's certificate has.
    NameServer,
    /// Do not check the server's certificate; follows another remedy.
    OrUnchecked,
    /// Resume no sessions of TLS; follows another remedy.
    NoResumption,
    /// Allow an older version of TLS.
    LowerTls,
    /// Provide a client certificate.
    GiveCertificate,
    /// Check the client certificate.
    CheckCertificate,
    /// Use fewer threads.
    FewerThreads,
    /// Read the server's log.
    ReadLog,
    /// Check the port, and connect without a proxy.
    CheckPort,
    /// Check that the machine runs and can be reached.
    CheckMachine,
    /// Check that the server answers others, or wait longer.
    CheckAnswers,
    /// Find out what the number of a system's error means.
    LookUpError,
    /// Use another way of waiting for sockets.
    OtherIo,
    /// Measure another server, or let the agent's operator allow this one.
    AllowTarget,
    /// Match replies by their order, or find what changes them.
    MatchOrder,
    /// Give the measured window fixed limits; follows another remedy.
    FixedWindow,
    /// Request statistics.
    AskStats,
    /// Lower the highest rate, or relax the condition that ended the run.
    RelaxCondition,
    /// Let the run go on until it measures.
    WaitForWindow,
    /// Name the setting that forbids reconnection; follows what happened.
    Reconnect,
    /// Use smaller windows, or accept that they are not full.
    SmallerWindows,
    /// Accept that not all keys were stored.
    AcceptPartial,
    /// Choose whether items of other clients may be evicted.
    ChooseLoad,
    /// Fill the server, set the value lengths that it was filled with, or accept the difference.
    RefillOrAccept,
    /// Use fewer or smaller keys, or accept that some are missing.
    FewerKeys,
}

/// A front's wording of remedies and field names.
pub trait Words {
    /// The remedy with the punctuation in front of it; empty if the front has no flag for it.
    fn remedy(&self, remedy: Remedy) -> &'static str;

    /// The user's name for the scenario field `name`.
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
    /// Starts a sentence with `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self::default().text(text)
    }

    /// Appends `text`.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Text(text.into()));
        self
    }

    /// Appends a remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: Remedy) -> Self {
        self.parts.push(Part::Remedy(remedy));
        self
    }

    /// Appends the name of a field.
    #[must_use]
    pub fn field(mut self, name: &'static str) -> Self {
        self.parts.push(Part::Field(name));
        self
    }

    /// Appends another sentence.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.parts.extend_from_slice(&other.parts);
        self
    }

    /// Renders the sentence in the words of a front.
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

/// Renders the sentence without its remedies.
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

/// The error for a word that cannot be parsed: its fault, and every form that is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordError {
    /// The word.
    pub given: String,
    /// Expected value, with its article.
    pub what: &'static str,
    /// Its fault.
    pub reason: String,
    /// Every allowed form.
    pub forms: &'static str,
}

impl fmt::Display for WordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { given, what, reason, forms } = self;
        write!(f, "'{given}' is not {what}: {reason}; write {forms}")
    }
}

impl std::error::Error for WordError {}

#[cfg(test)]
mod tests;
