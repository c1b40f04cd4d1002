//! Outputs and tags as words, and contradictions among them.

use super::*;
use crate::table::assert_refused;

const WORDS: &str = include_str!("../tests/words.txt");

#[test]
fn outputs_must_not_get_into_each_others_way() {
    let problems = |outputs: Outputs| {
        let problems = Settings { outputs, ..Settings::default() }.check();
        problems.iter().for_each(|problem| {
            assert!(problem.message.contains(&problem.field), "{}", problem.message);
        });
        problems.into_iter().map(|problem| problem.field).collect::<Vec<_>>()
    };
    let stdout = || Some("-".to_owned());
    let both = Outputs { json: stdout(), samples: stdout(), ..Outputs::default() };
    assert_eq!(problems(both), ["samples"]);
    let alone = Outputs { verify_details: stdout(), ..Outputs::default() };
    assert_eq!(problems(alone.clone()), ["verify-details"]);
    let verified = Scenario { verify: 1.0, ..Scenario::default() };
    assert_eq!(Settings { scenario: verified, outputs: alone, ..Settings::default() }.check(), []);
}

#[test]
fn an_output_is_a_kind_and_a_place_that_fits_it() {
    let outputs = parse_outputs("json=r.json, plot=a=b.svg,md=-,samples=/dev/fd/3").unwrap();
    let words: Vec<String> = outputs.iter().map(Output::to_string).collect();
    assert_eq!(words, ["json=r.json", "plot=a=b.svg", "md=-", "samples=/dev/fd/3"]);
    assert_refused(WORDS, "outputs that are none", parse_outputs);
}

#[test]
fn outputs_of_both_forms_keep_to_the_same_rules() {
    let with = |list: &str, json: Option<&str>| {
        let json = json.map(str::to_owned);
        let outputs = Outputs { json, out: parse_outputs(list).unwrap(), ..Outputs::default() };
        let problems = Settings { outputs, ..Settings::default() }.check();
        problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>()
    };
    assert_eq!(with("json=b.json,md=-", Some("a.json")), [""; 0]);
    let both = "out md and json cannot both go to stdout: name a file for one";
    assert_eq!(with("md=-", Some("-")), [both]);
    let twice = "--out samples=b.csv and --out samples=a.csv both write samples";
    let found = with("samples=a.csv,samples=b.csv", None);
    assert!(found.len() == 1 && found[0].starts_with(twice), "{found:?}");
}

#[test]
fn tags_are_few_plain_and_each_there_once() {
    let tags = parse_tags("build=42, note=a b=c").unwrap();
    let pairs: Vec<(&str, &str)> = tags.iter().map(|(k, v)| (&**k, &**v)).collect();
    assert_eq!(pairs, [("build", "42"), ("note", "a b=c")]);
    assert_refused(WORDS, "tags that are none", parse_tags);
    let many: Vec<String> = (0..=TAGS_MAX).map(|n| format!("t{n}=x")).collect();
    assert!(parse_tags(&many.join(",")).unwrap_err().starts_with("33 tags are too many"));
}

/// The table of kinds lacked one. The help names them, too.
#[test]
fn the_page_of_outputs_has_a_row_for_each_kind() {
    let page = include_str!("../../../../../docs/outputs.md");
    let table = page.split("\n\n").find(|part| part.starts_with("| kind |")).unwrap();
    let rows: Vec<&str> = table.lines().skip(2).filter_map(|row| row.split('`').nth(1)).collect();
    assert_eq!(rows, OutputKind::ALL.map(OutputKind::name), "docs/outputs.md");
    let help = crate::field::find("out").unwrap().long;
    let missing = rows.iter().find(|kind| !help.contains(&format!("`{kind}`")));
    assert_eq!(missing, None, "the help of --out");
}
