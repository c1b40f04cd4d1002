//! The outputs of `--out KIND=WHERE`: the content of each kind, and its valid destinations.
//!
//! Parsing only. Nothing is opened here, and formats are known only by their file extensions.

use super::influx::InfluxPlace;
use memtide_base::worded;
use std::fmt;
use std::str::FromStr;

/// Declares the kinds of outputs: the word before the `=` of `--out`, and the file extensions of
/// which a file must have one, if not any name is allowed.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $word:literal $([$($ending:expr),*])?;)*) => {
        worded! {
            /// Content of an output.
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum OutputKind {
                $($(#[$doc])* $kind = $word,)*
            }
            /// The word before the `=` of `--out`.
            pub const fn name;
            /// Every kind, in the order of help and messages.
            pub const ALL;
        }

        impl OutputKind {
            /// File extensions, of which a file must have one; empty if any name is allowed.
            const fn endings(self) -> &'static [&'static str] {
                match self {
                    $(Self::$kind => &[$($($ending),*)?],)*
                }
            }
        }
    };
}

kinds! {
    /// The record, or the steps of a search or scan, as JSON.
    Json "json";
    /// The result as Markdown.
    Md "md";
    /// The result as one self-contained HTML page.
    Html "html";
    /// A test case for each goal, the verdict and each class of errors, for continuous integration.
    Junit "junit";
    /// A chart.
    Plot "plot" [".svg", ".png"];
    /// A histogram for each second and kind of operation, as an HdrHistogram log.
    Hlog "hlog";
    /// The percentiles of response time, in the format that HdrHistogram prints.
    Hgrm "hgrm";
    /// A row for each second and kind of operation.
    Intervals "intervals" [CSV, JSON_LINES, PARQUET];
    /// A row per measured operation.
    Samples "samples" [CSV, JSON_LINES, PARQUET];
    /// A row with the totals of the run, or of each step, appended to those of earlier runs.
    Summary "summary" [CSV];
    /// The totals of the run, or of each step, as OpenMetrics text.
    OpenMetrics "openmetrics";
    /// Points in InfluxDB: one per measured operation, and one for each second and kind.
    Influx "influx";
}

impl OutputKind {
    /// True if a destination without an extension, such as a pipe or `-`, is allowed.
    const fn is_text(self) -> bool {
        !matches!(self, Self::Plot)
    }

    /// Checks the extension of a destination, whichever flag names it.
    ///
    /// # Errors
    /// A clause that begins with the destination, and says what is allowed.
    pub(crate) fn check_ending(self, place: &str) -> Result<(), String> {
        let name = place.rsplit_once('/').map_or(place, |(_, name)| name);
        let has_ending = name.trim_start_matches('.').contains('.');
        let endings = self.endings();
        let is_one = endings.iter().any(|ending| name.ends_with(ending));
        let is_plain = is_by_agents(self, place) || (self.is_text() && !has_ending);
        match endings.is_empty() || is_one || is_plain {
            true => Ok(()),
            false => Err(format!("'{place}' must end with {}", endings.join(" or "))),
        }
    }
}

impl fmt::Display for OutputKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for OutputKind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL.iter().copied().find(|kind| kind.name() == word).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
            format!("'{word}' is not a kind of output; use one of {}", names.join(", "))
        })
    }
}

/// True if agents write this output themselves, because it holds single operations.
fn is_by_agents(kind: OutputKind, place: &str) -> bool {
    matches!(kind, OutputKind::Samples | OutputKind::Influx) && place == "agents"
}

/// Names of stdout in the file system.
const STDOUT: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Returns `-` for every name of stdout, so that all are treated alike, and `place` for others.
pub(crate) fn plain_place(place: &str) -> &str {
    if STDOUT.contains(&place) { "-" } else { place }
}

/// File extension of comma-separated values.
const CSV: &str = ".csv";
/// File extension of JSON Lines.
const JSON_LINES: &str = ".jsonl";
/// File extension of Parquet.
const PARQUET: &str = ".parquet";

/// Format of a file of rows, chosen by its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowForm {
    /// Lines of text, readable while they are written.
    Text(RowText),
    /// Parquet, readable only when complete.
    Parquet,
}

/// Format of a row as a line of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowText {
    /// Comma-separated values with a heading.
    Csv,
    /// A JSON object.
    JsonLines,
}

/// An output that the user requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Content.
    pub kind: OutputKind,
    /// Destination: a path, or `-` for stdout.
    pub place: String,
    /// True if it was requested by its own flag, such as `--json`.
    is_short: bool,
}

impl Output {
    /// An output requested by the flag of its kind.
    pub(super) fn short(kind: OutputKind, place: &str) -> Self {
        Self { kind, place: place.to_owned(), is_short: true }
    }

    /// The flag: `--json` or `--out json`.
    pub fn flag(&self) -> String {
        match self.is_short {
            true => format!("--{}", self.kind),
            false => format!("--out {}", self.kind),
        }
    }

    /// Unique name in messages: `--json` or `--out json=r.json`.
    pub fn name(&self) -> String {
        match self.is_short {
            true => self.flag(),
            false => format!("--out {self}"),
        }
    }

    /// True if it was requested by `--out`.
    pub(super) const fn is_general(&self) -> bool {
        !self.is_short
    }

    /// Format of its rows, if it has rows. A destination without an extension takes CSV.
    pub fn row_form(&self) -> RowForm {
        match &self.place {
            place if place.ends_with(PARQUET) => RowForm::Parquet,
            place if place.ends_with(JSON_LINES) => RowForm::Text(RowText::JsonLines),
            _ => RowForm::Text(RowText::Csv),
        }
    }

    /// The endings of which the name of a regular file must have one, if it has none.
    pub fn missing_endings(&self) -> Option<String> {
        let name = self.place.rsplit_once('/').map_or(&*self.place, |(_, name)| name);
        let endings = self.kind.endings();
        let has_one = endings.iter().any(|ending| name.ends_with(ending));
        let is_free = self.is_stdout() || self.is_by_agents();
        (!is_free && !endings.is_empty() && !has_one).then(|| endings.join(" or "))
    }

    /// The destination in InfluxDB; `None` for any other kind of output.
    pub fn influx(&self) -> Option<InfluxPlace> {
        let is_influx = self.kind == OutputKind::Influx;
        is_influx.then(|| InfluxPlace::parse(&self.place).ok()).flatten()
    }

    /// True if each agent of the run writes its own part, to a destination that the agent's
    /// operator sets.
    pub fn is_by_agents(&self) -> bool {
        is_by_agents(self.kind, &self.place)
    }

    /// True if it goes to stdout.
    pub fn is_stdout(&self) -> bool {
        self.place == "-"
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.kind, self.place)
    }
}

impl FromStr for Output {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let Some((kind, place)) = word.split_once('=') else {
            let kind = OutputKind::from_str(word);
            return Err(match kind {
                Ok(kind) => format!("'{word}' names no file; write {kind}=FILE"),
                Err(_) => format!("'{word}' is not KIND=WHERE, such as json=run.json"),
            });
        };
        let kind: OutputKind = kind.trim().parse()?;
        let place = place.trim();
        if place.is_empty() || place.contains('\0') {
            return Err(format!("{kind} needs a file's path after the =, or - for stdout"));
        }
        if kind == OutputKind::Influx && !is_by_agents(kind, place) {
            InfluxPlace::parse(place)?;
        }
        kind.check_ending(place).map_err(|why| format!("{kind}={why}"))?;
        Ok(Self { kind, place: plain_place(place).to_owned(), is_short: false })
    }
}
