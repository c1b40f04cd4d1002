//! Destination of points in InfluxDB: a URL, and the names of measurements and tags.
//!
//! Parsing only; it connects to nothing, and holds no secret.

use super::Tags;

/// Versions of InfluxDB's write interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InfluxVersion {
    /// `/write?db=NAME`.
    V1,
    /// `/api/v2/write?org=NAME&bucket=NAME`.
    V2,
    /// `/api/v3/write_lp?db=NAME`.
    V3,
}

/// Destination of points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InfluxPlace {
    /// The URL of the write endpoint, with nanosecond precision.
    pub url: String,
    /// Version of the interface.
    pub version: InfluxVersion,
    /// Names of measurements and tags.
    pub names: InfluxNames,
}

/// Names of measurements and tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InfluxNames {
    /// Name of the measurement for single operations.
    pub operations: String,
    /// Name of the measurement for seconds.
    pub intervals: String,
    /// Name of the tag for the kind of operation.
    pub kind: String,
    /// Name of the tag for the outcome of an operation.
    pub outcome: String,
    /// Name of the tag for the server.
    pub server: String,
    /// Name of the tag for the run.
    pub run: String,
    /// Name of the tag for the share of a run.
    pub share: String,
    /// Name of the tag for the step of a search or scan.
    pub step: String,
}

impl Default for InfluxNames {
    fn default() -> Self {
        let name = str::to_owned;
        Self {
            operations: name("memtide_operation"),
            intervals: name("memtide_interval"),
            kind: name("kind"),
            outcome: name("outcome"),
            server: name("server"),
            run: name("run"),
            share: name("share"),
            step: name("step"),
        }
    }
}

impl InfluxNames {
    fn slot(&mut self, name: &str) -> Option<&mut String> {
        Some(match name {
            "operations" => &mut self.operations,
            "intervals" => &mut self.intervals,
            "kind" => &mut self.kind,
            "outcome" => &mut self.outcome,
            "server" => &mut self.server,
            "run" => &mut self.run,
            "share" => &mut self.share,
            "step" => &mut self.step,
            _ => return None,
        })
    }

    /// The tags of points, each as the fragment of a URL calls it, and with its name.
    fn tags(&self) -> [(&'static str, &str); 6] {
        [
            ("kind", &self.kind),
            ("outcome", &self.outcome),
            ("server", &self.server),
            (RUN_TAG, &self.run),
            ("share", &self.share),
            ("step", &self.step),
        ]
    }

    /// Checks that points can have the user's `tags` beside their own. The user's tag `run` sets
    /// the value of the points' tag for the run, whatever its name is.
    ///
    /// # Errors
    /// A sentence that names the first tag that points cannot have.
    pub fn check(&self, tags: &Tags) -> Result<(), String> {
        for tag in tags.keys().filter(|tag| *tag != RUN_TAG) {
            if RESERVED.contains(&tag.as_str()) {
                return Err(format!("tag {tag}: InfluxDB reserves this name; use another name"));
            }
            match self.tags().into_iter().find(|(_, name)| name == tag) {
                None => {}
                Some((RUN_TAG, _)) => {
                    return Err(format!(
                        "tag {tag}: points have the tag {tag} for the run; set its value with \
                         --tag run=WORD"
                    ));
                }
                Some((own, _)) => {
                    return Err(format!(
                        "tag {tag}: points already have a tag of that name; use another name, or \
                         rename theirs with --out 'influx=URL#{own}=other'"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The user's tag that sets the value of the points' tag for the run.
pub const RUN_TAG: &str = "run";
/// Names that InfluxDB does not allow for tags (InfluxDB OSS documentation, "Line protocol":
/// naming restrictions, and "time" of version 1).
const RESERVED: [&str; 3] = ["time", "_field", "_measurement"];

/// The names that a URL's fragment may change.
const NAMES: &str = "operations, intervals, kind, outcome, server, run, share, step";
/// Example of a destination.
const EXAMPLE: &str = "http://HOST:8086/write?db=NAME";

impl InfluxPlace {
    /// Parses `URL` or `URL#name=word&name=word`.
    ///
    /// # Errors
    /// A sentence that says what is wrong and what is allowed. It never contains a password.
    pub fn parse(word: &str) -> Result<Self, String> {
        let (url, names) = word.split_once('#').unwrap_or((word, ""));
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let rest = rest.ok_or_else(|| format!("influx needs a URL such as {EXAMPLE}"))?;
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, path) = path.split_at(path.find('/').unwrap_or(path.len()));
        if host.contains('@') {
            return Err(
                "influx: the URL must not contain a password; set MEMTIDE_INFLUX_USER and \
                        MEMTIDE_INFLUX_PASSWORD, or MEMTIDE_INFLUX_TOKEN"
                    .to_owned(),
            );
        }
        if host.is_empty() || url.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(format!("influx: the URL has no host; write {EXAMPLE}"));
        }
        let (version, needs, precision): (_, &[&str], _) = match path {
            "/write" => (InfluxVersion::V1, &["db"], "ns"),
            "/api/v2/write" => (InfluxVersion::V2, &["bucket"], "ns"),
            "/api/v3/write_lp" => (InfluxVersion::V3, &["db"], "nanosecond"),
            _ => {
                return Err(format!(
                    "influx: '{path}' does not accept points; use /write?db=NAME, \
                     /api/v2/write?org=NAME&bucket=NAME or /api/v3/write_lp?db=NAME"
                ));
            }
        };
        if let Some(missing) = needs.iter().find(|name| given(query, name).is_none()) {
            return Err(format!("influx: {missing}=NAME is missing behind {path}? in the URL"));
        }
        for secret in ["p", "token", "password"] {
            if given(query, secret).is_some() {
                return Err(format!(
                    "influx: '{secret}=' would show a secret in the process list; set \
                     MEMTIDE_INFLUX_TOKEN, or MEMTIDE_INFLUX_USER and MEMTIDE_INFLUX_PASSWORD"
                ));
            }
        }
        let url = match given(query, "precision") {
            None => format!("{url}&precision={precision}"),
            Some(word) if word == precision => url.to_owned(),
            Some(word) => {
                return Err(format!("influx: precision={word} must be precision={precision}"));
            }
        };
        Ok(Self { url, version, names: names_of(names)? })
    }
}

/// The value of a name in the query of a URL.
fn given<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, value)| *key == name && !value.is_empty()).map(|(_, value)| value)
}

fn names_of(words: &str) -> Result<InfluxNames, String> {
    let mut names = InfluxNames::default();
    for pair in words.split('&').filter(|pair| !pair.is_empty()) {
        let (name, word) = pair.split_once('=').unwrap_or((pair, ""));
        let slot = names.slot(name);
        let slot = slot.ok_or_else(|| format!("influx: '#{name}' is none of {NAMES}"))?;
        let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        if word.is_empty() || !is_plain {
            return Err(format!("influx: '#{pair}' needs a name of A-Z a-z 0-9 _ . -"));
        }
        word.clone_into(slot);
    }
    let tags = names.tags();
    for (number, (own, name)) in tags.iter().enumerate() {
        if RESERVED.contains(name) {
            return Err(format!("influx: '#{own}={name}' is a name that InfluxDB reserves"));
        }
        if let Some((other, _)) = tags[..number].iter().find(|(_, there)| there == name) {
            return Err(format!(
                "influx: the tags {other} and {own} of a point cannot both be named '{name}'; \
                 rename one, such as '#{own}={own}_tag'"
            ));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
