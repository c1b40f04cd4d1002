//! What our clients are called with, and what is read of their answers.

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
    let source = include_str!("../clients.rs");
    let readers = source.split("fn read_memtide").skip(1).collect::<String>();
    let strings = readers.split('"').skip(1).step_by(2);
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
fn each_client_has_the_words_of_its_load() {
    let words = |client: Own, shape: &Shape| {
        client.words(shape, SocketAddr::from(([127, 0, 0, 1], 1)), 3).join(" ")
    };
    let (keys, server) = ("--key-size fixed:30 --value-size fixed:200 --keys 1000", "127.0.0.1:1");
    let deep = crate::bench::shape("deep", (16, 4, 1), crate::bench::Which::Null);
    let line = format!(
        "run --quiet --server {server} --connections 16 --rate 0 --multiget 1 --mix get=9,set=1 \
         --depth 4 --threads 1 {keys} --duration 3s --json - --io epoll --wait sleep --refill whole"
    );
    assert_eq!(words(DEEP_CLIENTS[5], &deep), line);
    let line = "--depth 4 --multiget 1 --set-every 10 --keys 1000 --seconds 3 --whole-batches";
    assert_eq!(words(DEEP_CLIENTS[2], &deep), format!("--server {server} --connections 16 {line}"));
    let churn = crate::bench::churn("churn", 10, crate::bench::Which::Null);
    let line = format!(
        "run --quiet --server {server} --connections 16 --calls 10 --linger 0 --mix get=1 \
         --depth 10 --threads 1 {keys} --duration 3s --json - --io uring"
    );
    assert_eq!(words(CHURN_CLIENTS[2], &churn), line);
    let paced = crate::bench::paced("paced", 1_000, false);
    let line = "--rate 1000 --keys 1000 --seconds 3 --wait spin";
    assert_eq!(
        words(PACED_CLIENTS[1], &paced),
        format!("--server {server} --connections 16 {line}")
    );
    assert!(words(PACED_CLIENTS[2], &paced).contains("--rate 1000 --multiget 1 --mix get=1"));
}
