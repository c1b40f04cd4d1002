//! Renames fields that had former names in records of old scenarios.
//!
//! It changes only names, and only those of fields.

use crate::field::FORMER_NAMES;
use crate::record::Record;
use std::collections::BTreeMap;

/// Renames the fields in `record` and its shards to their present names.
pub(crate) fn rename(record: &mut Record) {
    scenario(&mut record.scenario);
    decisions(&mut record.plan.decided);
    decisions(&mut record.plan.why);
    for shard in &mut record.shards {
        scenario(&mut shard.scenario);
        decisions(&mut shard.plan.decided);
        decisions(&mut shard.plan.why);
    }
}

fn scenario(words: &mut serde_json::Map<String, serde_json::Value>) {
    for (former, present) in FORMER_NAMES {
        if let Some(value) = words.shift_remove(former) {
            words.insert(present.to_owned(), value);
        }
    }
}

fn decisions(words: &mut BTreeMap<String, String>) {
    for (former, present) in FORMER_NAMES {
        if let Some(word) = words.remove(former) {
            words.insert(present.to_owned(), word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    #[test]
    fn an_old_record_is_read_by_the_present_names() {
        let mut record = Record { scenario: Scenario::default().words(), ..Record::default() };
        record.plan.decided = Scenario::default().spelled();
        let present = record.to_json();
        let old = FORMER_NAMES.iter().fold(present.clone(), |json, (former, present)| {
            json.replace(&format!("\"{present}\""), &format!("\"{former}\""))
        });
        assert_ne!(old, present);
        let read = Record::from_json(&old).unwrap();
        assert_eq!(read.plan, record.plan);
        for (former, present) in FORMER_NAMES {
            assert!(!read.scenario.contains_key(former), "{former}");
            assert_eq!(read.scenario.get(present), record.scenario.get(present));
        }
    }
}
