//! The scenario fields that a master may decide for its agents.
//!
//! Every field of the table is listed here once. A field that is not listed is refused, so a new
//! field reaches no agent before someone has decided that it may.

use memtide_schema::{FIELDS, Settings};

/// Fields that describe the load and its judgement, and nothing of the agent's machine.
const ALLOWED: &[&str] = &[
    "server", // Each is checked against the targets.
    "protocol",
    "transport",
    "bind",
    "before",
    "after",
    "nagle",
    "send-buffer",
    "receive-buffer",
    "busy-poll",
    "trailing-space",
    "connections",
    "depth",
    "refill",
    "clients",
    "connections-per-client",
    "connection-turn",
    "reconnect",
    "writers",
    "replicate",
    "rate",
    "duration",
    "warmup",
    "ops-max",
    "timeout",
    "cooldown",
    "wave",
    "arrival",
    "schedule",
    "on-full",
    "pause-after-reply",
    "rate-unit",
    "keys",
    "key-size",
    "key-form",
    "key-prefix",
    "key-first",
    "value-size",
    "value-draws",
    "value-fill",
    "value-max",
    "mix",
    "mix-order",
    "popularity",
    "window",
    "overwrite",
    "window-pick",
    "multiget",
    "multiget-share",
    "delta",
    "numeric-keys",
    "cas-unique",
    "expiry",
    "expiry-share",
    "flags",
    "noreply",
    "load",
    "load-partial",
    "goal",
    "abort-on",
    "errors-max",
    "strict",
    "no-stats",
    "interval",
    "interval-times",
    "message-sizes",
    "seed",
    "verify",
    "verify-keys",
    "verify-expiry",
    "tag",
    "quiet",
    "calls",
    "connection-rate",
    "connection-arrival",
    "call-rate",
    "gap-draws",
    "linger",
    "connections-total",
    "threads",
    "pin",
    "wait",
    "io",
];

/// The reason why a field is not the master's to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// It names a file or a stream that the agent would write.
    Output,
    /// It is a credential for a server.
    Credential,
    /// It lets the parts of a run find each other, which master and agents do by themselves.
    Meeting,
}

impl Why {
    /// The end of a sentence that begins with the field's name.
    const fn sentence(self) -> &'static str {
        match self {
            Self::Output => {
                "is an output, and only the master writes outputs; remove it from the agents' \
                 scenario"
            }
            Self::Credential => {
                "is not accepted from a master, because each agent has its own credentials; remove \
                 it from the scenario, and set it where the agent is started"
            }
            Self::Meeting => {
                "is not accepted in a scenario for agents, because the master assigns shares and \
                 start times; remove it from the scenario"
            }
        }
    }
}

/// Fields that a scenario for agents must not set.
const REFUSED: &[(&str, Why)] = &[
    ("user", Why::Credential),
    ("password", Why::Credential),
    ("json", Why::Output),
    ("plot", Why::Output),
    ("out", Why::Output),
    ("spool", Why::Output),
    ("samples", Why::Output),
    ("verify-details", Why::Output),
    ("plan", Why::Output),
    ("shard", Why::Meeting),
    ("start-at", Why::Meeting),
    ("barrier", Why::Meeting),
    ("barrier-timeout", Why::Meeting),
    ("agents", Why::Meeting),
    ("key", Why::Meeting),
    ("expect", Why::Meeting),
    ("master-share", Why::Meeting),
    ("master-rate", Why::Meeting),
    ("allow-lost", Why::Meeting),
];

/// Checks that only fields are set that a master may decide, and that a server is named, because
/// without one the agent would start a server itself.
pub(super) fn check(settings: &Settings) -> Result<(), String> {
    let usual = Settings::default();
    for field in FIELDS {
        let is_given = field.show(settings) != field.show(&usual);
        if is_given && !ALLOWED.contains(&field.name) {
            let why = REFUSED.iter().find(|(name, _)| *name == field.name);
            let why = why.map_or(Why::Meeting, |(_, why)| *why);
            return Err(format!("{} {}", field.name, why.sentence()));
        }
    }
    if settings.scenario.servers.is_empty() {
        return Err(
            "the scenario names no server, and agents start no embedded server; add server, \
                    such as server 10.1.0.5:11211"
                .to_owned(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtide_schema::scenario::Target;

    fn of_server() -> Settings {
        let mut settings = Settings::default();
        settings.scenario.servers = Target::parse_list("10.1.0.5").unwrap();
        settings
    }

    #[test]
    fn every_field_of_the_table_is_decided_once() {
        for field in FIELDS {
            let allowed = ALLOWED.iter().filter(|name| **name == field.name).count();
            let refused = REFUSED.iter().filter(|(name, _)| *name == field.name).count();
            assert_eq!(
                allowed + refused,
                1,
                "decide in crates/cluster/src/law/fields.rs whether a master may set {} on its \
                 agents: not if it names a file, a program, an output or a secret",
                field.name
            );
        }
    }

    #[test]
    fn whatever_is_not_the_masters_is_refused_by_its_name() {
        let words = [
            ("user", "tim"),
            ("password", "tell-no-one"),
            ("json", "/etc/cron.d/x"),
            ("plot", "out.svg"),
            ("samples", "s.csv"),
            ("verify-details", "-"),
            ("plan", "true"),
            ("shard", "0/4"),
            ("start-at", "@9"),
            ("barrier", "dir:/shared"),
            ("barrier-timeout", "9s"),
        ];
        for field in FIELDS.iter().filter(|field| !ALLOWED.contains(&field.name)) {
            let Some((_, word)) = words.iter().find(|(name, _)| *name == field.name) else {
                continue; // A field of the master itself has words of its own.
            };
            let mut settings = of_server();
            field.set(&mut settings, word).unwrap();
            let error = check(&settings).unwrap_err();
            assert!(error.starts_with(&format!("{} is", field.name)), "{error}");
            assert!(!error.contains(word) || *word == "-", "{error}");
        }
    }

    #[test]
    fn a_load_alone_is_allowed_and_a_server_of_its_own_is_not() {
        assert_eq!(check(&of_server()), Ok(()));
        let error = check(&Settings::default()).unwrap_err();
        assert!(error.starts_with("the scenario names no server"), "{error}");
    }
}
