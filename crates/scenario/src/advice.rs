//! Advice to change the settings of a run. It is made only if the scenario's own rules allow it, so
//! that no report advises what the next run refuses.

use crate::field::{Layer, Origin, find, given_fields};
use crate::scenario::Settings;

/// Fields as words, by name: the scenario of a record.
type Words = serde_json::Map<String, serde_json::Value>;

/// A change to the settings of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    sets: Vec<(&'static str, String)>,
    leaves_out: Vec<&'static str>,
}

/// A change that the rules allow for one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    change: Change,
    /// The run's own fields that the change leaves as they are.
    kept: Vec<(String, String)>,
    /// The run's own fields that it leaves out.
    left_out: Vec<&'static str>,
}

impl Change {
    /// Sets a field.
    pub fn set(name: &'static str, word: impl Into<String>) -> Self {
        Self::default().and(name, word)
    }

    /// Also sets this field.
    #[must_use]
    pub fn and(mut self, name: &'static str, word: impl Into<String>) -> Self {
        self.sets.push((name, word.into()));
        self
    }

    /// Also leaves this field out, if the run has it.
    #[must_use]
    pub fn without(mut self, name: &'static str) -> Self {
        self.leaves_out.push(name);
        self
    }

    /// The advice to make this change to the run whose scenario has these `words`; none if a rule
    /// refuses the result that did not refuse the run.
    pub fn advised(self, words: &Words) -> Option<Advice> {
        let own = given_fields(words);
        let left_out = self.leaves_out.iter().copied();
        let left_out = left_out.filter(|name| own.iter().any(|(given, _)| given == name)).collect();
        let kept = own.iter().filter(|(name, _)| {
            !self.leaves_out.contains(name) && !self.sets.iter().any(|(set, _)| set == name)
        });
        let kept = kept.map(|(name, word)| ((*name).to_owned(), word.clone())).collect();
        let before = problems(own.iter().map(|(name, word)| (*name, word.as_str())))?;
        let advice = Advice { change: self, kept, left_out };
        let after = problems(advice.fields())?;
        after.iter().all(|problem| before.contains(problem)).then_some(advice)
    }
}

impl Advice {
    /// The fields that it sets.
    pub fn sets(&self) -> impl Iterator<Item = (&str, &str)> {
        self.change.sets.iter().map(|(name, word)| (*name, word.as_str()))
    }

    /// The fields of the run that it leaves out.
    pub fn left_out(&self) -> &[&'static str] {
        &self.left_out
    }

    /// The fields that the advised run sets: those of the run itself, then those that it sets.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let kept = self.kept.iter().map(|(name, word)| (name.as_str(), word.as_str()));
        kept.chain(self.sets())
    }
}

/// What the rules say of a run that sets these fields, as memtide would make it; none if a word is
/// not allowed. A field of another version of memtide is passed over.
fn problems<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Vec<String>> {
    let (mut layer, mut settings) = (Layer::new(), Settings::default());
    let known = fields.filter_map(|(name, word)| Some((find(name)?, word)));
    known.for_each(|(field, word)| layer.push(field, vec![word.to_owned()], Origin::Flag));
    settings.apply(&layer).ok()?;
    if !find("warmup").is_some_and(|warmup| layer.mentions(warmup)) {
        settings.scenario.warmup = settings.warmup_by_default();
    }
    settings.decide_first_length();
    Some(settings.check().into_iter().map(|problem| problem.message).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    fn words(fields: &[(&str, &str)]) -> Words {
        let mut settings = Settings::default();
        let mut layer = Layer::new();
        for (name, word) in fields {
            let field = find(name).unwrap_or_else(|| panic!("{name} is no field"));
            layer.push(field, vec![(*word).to_owned()], Origin::Flag);
        }
        settings.apply(&layer).unwrap();
        let Settings { scenario, .. } = settings;
        Scenario::words(&scenario)
    }

    #[test]
    fn what_the_rules_refuse_is_not_advised() {
        let refused: [(&[(&str, &str)], Change); 4] = [
            (&[("precision", "p99 5%")], Change::set("duration", "1m")),
            (&[("wave", "step:1,2@1s")], Change::set("rate", "1k")),
            (&[("calls", "10")], Change::set("rate", "1k")),
            (&[("clients", "8")], Change::set("connections", "9")),
        ];
        for (fields, change) in refused {
            assert_eq!(change.clone().advised(&words(fields)), None, "{fields:?} {change:?}");
        }
    }

    #[test]
    fn advice_keeps_the_runs_own_fields_and_names_what_it_leaves_out() {
        let run = words(&[("server", "h"), ("wave", "step:1,2@1s"), ("seed", "7")]);
        let lower = || Change::set("rate", "1k").without("wave");
        let advice = lower().advised(&run).expect("it is allowed");
        let fields: Vec<_> = advice.fields().collect();
        assert_eq!(fields, [("server", "h:11211"), ("seed", "7"), ("rate", "1k")]);
        assert_eq!(advice.left_out(), ["wave"]);
        // What the run does not have cannot be left out.
        let advice = lower().advised(&words(&[("server", "h")])).expect("it is allowed");
        assert!(advice.left_out().is_empty());
    }
}
