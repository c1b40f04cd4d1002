//! Command lines as scenarios, in the words of a scenario file.

use super::*;
use crate::tests::{rows, words};
use memtide_scenario::field::find;
use memtide_scenario::{self as scenario, Scenario};

fn settings(line: &str) -> Settings {
    let options =
        super::super::parse(&words(line)).unwrap_or_else(|stop| panic!("{}", stop.stderr));
    lower(&options).unwrap_or_else(|stop| panic!("{line}: {}", stop.stderr))
}

fn lowered(line: &str) -> Scenario {
    settings(line).scenario
}

/// The word of `field` in the scenario of `line`.
fn says(line: &str, field: &str) -> String {
    let field = find(field).expect("a field");
    field.show(&settings(line)).join(",")
}

#[test]
fn each_option_reaches_its_field() {
    for row in rows(include_str!("fields.txt")) {
        let (line, said) = row.split_once("=> ").expect("a field");
        let (field, word) = said.split_once(' ').unwrap_or((said, ""));
        assert_eq!(says(line, field), word, "{row}");
    }
}

#[test]
fn every_method_is_a_mix_of_its_own() {
    for method in super::super::Method::ALL {
        let name = method.name();
        assert_eq!(says(&format!("-m {name} -z d3"), "mix"), format!("{name}=1"));
    }
    assert_eq!(lowered("-m get -z d2000000").value_fill, scenario::ValueFill::Letter(b'0'));
}

/// The pages of the faces name fields and values that scenarios have, and the buffers of a plain
/// command line.
#[test]
fn pages_name_fields_as_scenarios_have_them() {
    let twemperf = include_str!("../../../../../docs/compat/twemperf.md");
    let mutilate = include_str!("../../../../../docs/compat/mutilate.md");
    let buffers = format!("`-b {} -B {}`", says("", "send-buffer"), says("", "receive-buffer"));
    assert!(twemperf.contains(&buffers), "{buffers}");
    let mut count = 0;
    for span in [twemperf, mutilate].iter().flat_map(|page| page.split('`')) {
        let Some((name, word)) = span.split_once('=') else { continue };
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') {
            continue;
        }
        if name.starts_with('-') {
            continue;
        }
        let field = find(name).unwrap_or_else(|| panic!("'{span}': there is no field {name}"));
        count += 1;
        if !word.contains('…') {
            let mut layer = scenario::Layer::new();
            layer.push(field, vec![word.to_owned()], scenario::Origin::Flag);
            Settings::default().apply(&layer).unwrap_or_else(|error| panic!("'{span}': {error}"));
        }
    }
    assert!(count > 10, "{count} fields are named: are the pages read rightly?");
}
