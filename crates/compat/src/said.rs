//! A scenario in the making: fields of memtide's own command line, said one by one. Decides
//! nothing; what the fields allow, the scenario checks.

use memtide_schema::field::find;
use memtide_schema::{Layer, Origin, Scenario};

/// What is said so far.
pub(crate) struct Said(Layer);

impl Said {
    pub(crate) fn new() -> Self {
        Self(Layer::new())
    }

    pub(crate) fn say(&mut self, field: &str, word: impl ToString) {
        self.say_all(field, vec![word.to_string()]);
    }

    pub(crate) fn say_all(&mut self, field: &str, words: Vec<String>) {
        let field = find(field).expect("only fields of the table are said");
        self.0.push(field, words, Origin::Flag);
    }

    pub(crate) fn switch(&mut self, field: &str, on: bool) {
        if on {
            self.say(field, true);
        }
    }

    /// The scenario of all that was said. The error is a sentence that names a field which no
    /// machine could do.
    pub(crate) fn scenario(&self) -> Result<Scenario, String> {
        let mut scenario = Scenario::default();
        scenario.apply(&self.0).map_err(|error| error.to_string())?;
        match scenario.check().into_iter().next() {
            Some(problem) => Err(problem.to_string()),
            None => Ok(scenario),
        }
    }
}
