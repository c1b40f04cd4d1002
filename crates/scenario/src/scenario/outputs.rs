//! Outputs: where results go, and their tags. They do not change what is measured; a record keeps
//! the scenario, and not these.

mod influx;
mod output;
mod watching;

pub use influx::{InfluxNames, InfluxPlace, InfluxVersion, RUN_TAG};
pub(crate) use output::plain_place;
pub use output::{Output, OutputKind, RowForm, RowText};
pub(crate) use watching::parse_web;
pub use watching::{ProgressForm, WebPlace};

use super::check::{Problem, Problems};
use super::goal::Explained;
use super::{Given, Placement, Scenario, Warmup, parse_list};
use memtide_base::Span;
use memtide_base::units::parse_size;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Tags of a run, by name: the user's own words to find it again.
pub type Tags = BTreeMap<String, String>;

/// What a first run measures until it is known: the times of most operations. A quiet machine takes
/// 5 s for it; one that changes its pace for seconds takes longer.
const FIRST_PRECISION: &str = "p50 10%,p90 10%";
/// The longest time that a first run measures: with its build, it takes less than 2 min 30 s.
const FIRST_AT_MOST: Span = Span::from_s(30);

/// Largest number of tags of a run.
const TAGS_MAX: usize = 32;
/// Longest name of a tag, in bytes.
const TAG_NAME_BYTES_MAX: usize = 64;
/// Longest value of a tag, in bytes.
const TAG_VALUE_BYTES_MAX: usize = 256;

/// Destinations of a run's results. Each member is a field with its own name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outputs {
    /// Destination of the record; `-` is stdout.
    pub json: Option<String>,
    /// Destination of the chart; its name ends in `.svg` or `.png`.
    pub plot: Option<String>,
    /// Destination of the samples; `-` is stdout.
    pub samples: Option<String>,
    /// The outputs of `--out`, in the order in which they were named.
    pub out: Vec<Output>,
    /// Folder for InfluxDB points that cannot be delivered; none to count them as lost.
    pub spool: Option<SpoolPlace>,
    /// Destination of the wrong values that `verify` found; `-` is stdout.
    pub verify_details: Option<String>,
    /// The user's tags, written to the record and every other output.
    pub tags: Tags,
    /// True to print the whole report, not only the answer.
    pub full: bool,
    /// The figure whose origin the report explains; none for no explanation.
    pub explain: Option<Explained>,
    /// True to print the plan and stop.
    pub plan: bool,
    /// True to show no progress.
    pub quiet: bool,
    /// How progress is shown.
    pub progress: ProgressForm,
    /// True to show the run on the whole screen of the terminal.
    pub ui: bool,
    /// Address at which the run can be watched in a browser; none for no page.
    pub web: Option<WebPlace>,
    /// Time for which the finished page stays available; none for 3 s.
    pub web_linger: Option<Span>,
}

impl Outputs {
    /// How progress is shown, by all that the user says about it.
    pub const fn shown(&self) -> ProgressForm {
        match self.progress {
            _ if self.quiet => ProgressForm::Off,
            _ if self.ui => ProgressForm::Ui,
            form => form,
        }
    }

    /// The outputs of one of several runs, whose results are written together: its progress, and
    /// tags in its record.
    #[must_use]
    pub fn of_one_of_several(&self) -> Self {
        let (quiet, progress, tags) = (self.quiet, self.progress, self.tags.clone());
        Self { quiet, progress, tags, ..Self::default() }
    }
}

/// A folder for points that cannot be delivered, and its size limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolPlace {
    /// The folder.
    pub folder: String,
    /// Largest size of the folder's files in bytes; above 0.
    pub bytes: u64,
}

impl FromStr for SpoolPlace {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let wrong = || format!("'{word}' is not DIR,SIZE, such as /var/tmp/points,1GB");
        let (folder, size) = word.rsplit_once(',').ok_or_else(wrong)?;
        let bytes = parse_size(size.trim()).map_err(|why| format!("{}: {why}", wrong()))?;
        if folder.is_empty() || folder.contains('\0') || bytes == 0 {
            return Err(wrong());
        }
        Ok(Self { folder: folder.to_owned(), bytes })
    }
}

impl fmt::Display for SpoolPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.folder, self.bytes)
    }
}

/// All settings of a user: the scenario, its outputs, and the share of this process.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The scenario.
    pub scenario: Scenario,
    /// The outputs.
    pub outputs: Outputs,
    /// The share of the run that this process carries out.
    pub placement: Placement,
    /// The fields that the user set.
    pub given: Given,
}

impl PartialEq for Settings {
    /// Settings are equal if all values are, whoever set them.
    fn eq(&self, other: &Self) -> bool {
        let Self { scenario, outputs, placement, given: _ } = self;
        *scenario == other.scenario && *outputs == other.outputs && *placement == other.placement
    }
}

impl Outputs {
    /// Every output with its kind: those with their own flags, then those of `--out`.
    pub fn files(&self) -> Vec<Output> {
        let short = [
            (OutputKind::Json, &self.json),
            (OutputKind::Plot, &self.plot),
            (OutputKind::Samples, &self.samples),
        ];
        let short = short.into_iter().filter_map(|(kind, place)| Some((kind, place.as_deref()?)));
        let short = short.map(|(kind, place)| Output::short(kind, place));
        short.chain(self.out.iter().cloned()).collect()
    }

    /// The first output of this kind.
    pub fn first(&self, kind: OutputKind) -> Option<Output> {
        self.files().into_iter().find(|output| output.kind == kind)
    }

    /// The InfluxDB output that this process writes itself.
    pub fn points(&self) -> Option<Output> {
        let mut all = self.out.iter().filter(|output| output.kind == OutputKind::Influx);
        all.find(|output| !output.is_by_agents()).cloned()
    }

    /// True if each agent is to write points of its operations to its own database.
    pub fn wants_agents_points(&self) -> bool {
        let mut all = self.out.iter().filter(|output| output.kind == OutputKind::Influx);
        all.any(Output::is_by_agents)
    }

    /// A copy of these outputs without samples.
    #[must_use]
    pub fn without_samples(&self) -> Self {
        let out = self.out.iter().filter(|output| output.kind != OutputKind::Samples);
        Self { samples: None, out: out.cloned().collect(), ..self.clone() }
    }

    /// The fields and names of the outputs that go to stdout.
    fn on_stdout(&self) -> Vec<(&'static str, String)> {
        let files = self.files().into_iter().filter(Output::is_stdout);
        let mut names: Vec<(&'static str, String)> = files
            .map(|output| match output.is_general() {
                true => ("out", format!("out {}", output.kind)),
                false => (output.kind.name(), output.kind.to_string()),
            })
            .collect();
        if self.verify_details.as_deref() == Some("-") {
            names.push(("verify-details", "verify-details".to_owned()));
        }
        names
    }

    /// True if an output goes to stdout, so that the report must not.
    pub fn is_on_stdout(&self) -> bool {
        !self.on_stdout().is_empty()
    }
}

impl Settings {
    /// The warm-up of a run whose user says nothing about it: it is found, unless that is
    /// impossible, or the run is so short that it would end at its longest.
    pub fn warmup_by_default(&self) -> Warmup {
        let by_agents = self.placement.agents.which.is_some();
        let is_brief = self.scenario.is_brief(by_agents);
        match self.placement.is_divided() || self.scenario.is_unsteady() || is_brief {
            true => Warmup::NONE,
            false => Warmup::Auto,
        }
    }

    /// Decides how long a first run measures, which is one without a server and without a length:
    /// until p50 and p90 are known within 10 %, for 30 s at most, or the user's longest time. Other
    /// runs stay as they are.
    pub fn decide_first_length(&mut self) {
        let Scenario { servers, duration, precision, at_most, .. } = &self.scenario;
        let has_length = duration.is_some() || !precision.is_empty();
        let at_most = at_most.unwrap_or(FIRST_AT_MOST);
        let is_alone = !self.placement.is_divided() && self.placement.agents.which.is_none();
        let has_own = servers.is_empty() && is_alone;
        if has_own && !has_length && self.scenario.can_end_when_known() {
            self.scenario.precision = parse_list(FIRST_PRECISION).expect("they are figures");
            self.scenario.at_most = Some(at_most);
        }
    }

    /// All problems that make the scenario impossible, and outputs that contradict it or each
    /// other; empty if there are none.
    pub fn check(&self) -> Vec<Problem> {
        let mut problems = self.scenario.problems(&self.given);
        self.placement.check(&mut problems);
        if self.placement.is_divided() && self.scenario.warmup == Warmup::Auto {
            problems.say(
                "warmup auto is not possible with shard, because each part of the run would find \
                 another one: use a time such as 5s, or agents, whose master finds one for all",
            );
        }
        if !self.scenario.precision.is_empty() {
            self.check_precision(&mut problems);
        }
        if let [(_, first), .., (field, last)] = &self.outputs.on_stdout()[..] {
            problems.add(
                field,
                format!("{last} and {first} cannot both go to stdout: name a file for one"),
            );
        }
        let mut samples = self.outputs.files();
        samples.retain(|output| output.kind == OutputKind::Samples);
        if let [first, second, ..] = &samples[..] {
            let (first, second) = (first.name(), second.name());
            problems.add(
                "out",
                format!(
                    "{second} and {first} both write samples, which go to one \
                                     place; remove one"
                ),
            );
        }
        self.check_points(&mut problems);
        let Scenario { verify, verify_expiry, .. } = self.scenario;
        if self.outputs.verify_details.is_some() && verify == 0.0 && !verify_expiry {
            problems.add(
                "verify-details",
                "verify-details needs verify: add a fraction such as verify 1, or remove it",
            );
        }
        problems.found
    }

    /// Checks that one process sees all figures that are to be narrow.
    ///
    /// The figures of several loads are to end one window.
    fn check_precision(&self, problems: &mut Problems) {
        if self.placement.is_divided() {
            problems.say(
                "precision is not possible with shard, because each part of the run would end at \
                 another time: use a duration such as 60s, or agents, whose master ends all",
            );
        }
        if self.placement.agents.master_rate.is_some() {
            problems.say(
                "precision is not possible with master-rate, because the master's load and that \
                 of its agents have figures of their own: use a duration such as 60s",
            );
        }
    }

    fn check_points(&self, problems: &mut Problems) {
        let mut influx = self.outputs.files();
        influx.retain(|output| output.kind == OutputKind::Influx);
        if influx.iter().filter(|output| !output.is_by_agents()).count() > 1 {
            problems.add(
                "out",
                "out influx is given twice, and points go to one database; remove \
                                 one",
            );
        }
        let place = self.outputs.points().and_then(|output| output.influx());
        if let Some(Err(why)) = place.map(|place| place.names.check(&self.outputs.tags)) {
            problems.add("tag", why);
        }
        if self.outputs.wants_agents_points() && self.placement.agents.which.is_none() {
            problems
                .add("out", "out influx=agents needs agents: add agents, or give a URL instead");
        }
        if self.outputs.spool.is_some() && self.outputs.points().is_none() {
            problems.add("spool", "spool needs out influx=URL: add it, or remove spool");
        }
    }
}

impl From<Scenario> for Settings {
    /// Settings with this scenario and no outputs; only the report shows the results.
    fn from(scenario: Scenario) -> Self {
        Self { scenario, ..Self::default() }
    }
}

/// Parses a comma list of `KIND=WHERE`.
///
/// # Errors
/// A sentence that says which output is wrong, and what is allowed.
pub(crate) fn parse_outputs(list: &str) -> Result<Vec<Output>, String> {
    let outputs: Vec<Output> = parse_list(list)?;
    for (number, output) in outputs.iter().enumerate() {
        if outputs[..number].contains(output) {
            return Err(format!("{output} is given twice; give each output once"));
        }
    }
    Ok(outputs)
}

/// Parses a comma list of `KEY=VALUE`.
///
/// # Errors
/// A sentence that says which tag is wrong, and what is allowed.
pub(crate) fn parse_tags(list: &str) -> Result<Tags, String> {
    let mut tags = Tags::new();
    for Tag { name, value } in parse_list(list)? {
        if let Some(other) = tags.insert(name.clone(), value) {
            return Err(format!("{name} is given twice, also as '{other}'; give each key once"));
        }
    }
    match tags.len() {
        0..=TAGS_MAX => Ok(tags),
        count => Err(format!("{count} tags are too many; give at most {TAGS_MAX}")),
    }
}

struct Tag {
    name: String,
    value: String,
}

impl FromStr for Tag {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!("'{word}' is not KEY=VALUE, such as build=42"));
        };
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        if !(1..=TAG_NAME_BYTES_MAX).contains(&name.len()) || !is_plain {
            return Err(format!(
                "'{name}' is not a valid tag key; use 1 to {TAG_NAME_BYTES_MAX} of the characters \
                 A-Z a-z 0-9 _ . -"
            ));
        }
        if !(1..=TAG_VALUE_BYTES_MAX).contains(&value.len()) || value.chars().any(char::is_control)
        {
            return Err(format!(
                "the value of {name} must have 1 to {TAG_VALUE_BYTES_MAX} bytes without control \
                 characters"
            ));
        }
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

#[cfg(test)]
mod tests;
