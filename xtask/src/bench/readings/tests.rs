//! Records and the outputs of other load generators.

use super::*;
use serde_json::json;

#[test]
fn figures_are_found_or_missed_by_name() {
    let record = json!({"client": {"cpu_user_s": 1.5, "cpu_system_s": 2}});
    assert_eq!(cpu_s(&record, "/client"), Ok(3.5));
    assert!(number(&record, "/totals/answered").is_err_and(|e| e.contains("/totals/answered")));
}

/// The parser of connection churn once used the names of an earlier version, and found no
/// figures.
#[test]
fn a_record_has_every_figure_that_is_read_from_it() {
    let schema = include_str!("../../../../docs/record.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let source = include_str!("../readings.rs");
    let reader = source.split("fn read_memtide").nth(1).and_then(|it| it.split("\n}").next());
    let strings = reader.unwrap().split('"').skip(1).step_by(2);
    let pointers: Vec<&str> = strings.filter(|word| word.starts_with('/')).collect();
    assert!(pointers.len() > 8, "{pointers:?}");
    for pointer in pointers {
        let mut names = pointer.split('/').skip(1);
        let found = names.try_fold(&schema, |at, name| member(&schema, at, name));
        assert!(found.is_some(), "{pointer}");
    }
}

/// The schema of member `name` of the object that `at` describes.
fn member<'a>(root: &'a Value, at: &'a Value, name: &str) -> Option<&'a Value> {
    if let Some(reference) = at["$ref"].as_str() {
        return member(root, root.pointer(reference.trim_start_matches('#'))?, name);
    }
    if let Some(choices) = at["anyOf"].as_array() {
        return choices.iter().find_map(|choice| member(root, choice, name));
    }
    at["properties"].get(name).or_else(|| at.get("additionalProperties"))
}

#[test]
fn what_peers_say_is_read() {
    let none = Path::new("");
    let table = "#type avg std min p50 p99\nread 1.0 2.0 3.0 14.5 30.5\n";
    assert_eq!(of_table(table, none), Some((14.5, 30.5)));
    assert_eq!(of_table("nothing", none), None);
    let file = json!({"ALL STATS": {
        "Totals": {"Percentile Latencies": {"p50.00": 0.125, "p99.00": 0.25}},
    }});
    assert_eq!(of_memtier_file(&file.to_string()), Some((125.0, 250.0)));
    let lines = "a word\n{\"throughput\": 1, \"get\": {\"p50_us\": 1, \"p99_us\": 2.5}}\n";
    assert_eq!(of_cannon(lines, none), Some((1.0, 2.5)));
}
