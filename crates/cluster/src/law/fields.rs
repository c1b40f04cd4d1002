//! The scenario fields that a master may decide for its agents, by the rule in each field's row.

use memtide_scenario::{AgentRule, FIELDS, Settings};

/// The end of a sentence that begins with a refused field's name; `None` if the master may decide.
const fn refusal(rule: AgentRule) -> Option<&'static str> {
    match rule {
        AgentRule::Allowed => None,
        AgentRule::Output => Some(
            "is an output, and only the master writes outputs; remove it from the agents' scenario",
        ),
        AgentRule::Credential => Some(
            "is not accepted from a master, because each agent has its own credentials; remove it \
             from the scenario, and set it where the agent is started",
        ),
        AgentRule::Meeting => Some(
            "is not accepted in a scenario for agents, because the master assigns shares and start \
             times; remove it from the scenario",
        ),
    }
}

/// Checks that only fields are set that a master may decide, and that a server is named, because
/// without one the agent would start a server itself.
pub(super) fn check(settings: &Settings) -> Result<(), String> {
    let usual = Settings::default();
    for field in FIELDS {
        let is_given = field.show(settings) != field.show(&usual);
        if let (true, Some(why)) = (is_given, refusal(field.agents)) {
            return Err(format!("{} {why}", field.name));
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
    use memtide_scenario::Target;

    fn of_server() -> Settings {
        let mut settings = Settings::default();
        settings.scenario.servers = Target::parse_list("10.1.0.5").unwrap();
        settings
    }

    #[test]
    fn a_field_that_names_a_file_or_a_secret_is_refused() {
        for field in FIELDS.iter().filter(|field| field.agents == AgentRule::Allowed) {
            let value = field.value.unwrap_or_default();
            let is_foreign =
                ["FILE", "DIR", "KIND", "WORD"].iter().any(|word| value.contains(word));
            assert!(!is_foreign, "{} {value}: state its rule for agents in its row", field.name);
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
        for field in FIELDS.iter().filter(|field| field.agents != AgentRule::Allowed) {
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
