//! The text keeps the rules of OpenMetrics: families in one piece, escapes, and the end.

use super::*;

fn run() -> Record {
    let mut record = Record { measured_s: 2.5, ..Record::default() };
    record.totals.answered = 25_000;
    record.tags.insert("why-not".to_owned(), "a \"b\"\\".to_owned());
    record.rate.answered_per_s = Some(9_999.5);
    let mut times = Distribution { count: 2_000, ..Distribution::default() };
    times.set_percentile(Percentile::P50, Ok(88_000));
    record.response.insert(Kind::All, times);
    record
}

fn text(metrics: &OpenMetrics) -> String {
    String::from_utf8(metrics.text()).unwrap()
}

#[test]
fn a_run_is_gauges_with_its_tags() {
    let text = String::from_utf8(OpenMetrics::of_run(&run())).unwrap();
    let tag = r#"tag_why_not="a \"b\"\\""#;
    for line in [
        "# TYPE memtide_answered gauge".to_owned(),
        format!("memtide_measured_seconds{{{tag}}} 2.5"),
        format!("memtide_answered{{{tag}}} 25000"),
        format!("memtide_answered_per_second{{{tag}}} 9999.5"),
        format!("memtide_response_seconds{{{tag},op=\"all\",quantile=\"0.5\"}} 0.000088"),
    ] {
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    }
    assert!(!text.contains("keys_per_second"), "what is not known has no line: {text}");
    assert!(text.ends_with("\n# EOF\n"), "{text}");
}

#[test]
fn each_family_is_in_one_piece() {
    let mut metrics = OpenMetrics::default();
    let own = Record { measured_s: 2.0, ..Record::default() };
    metrics.add(&Record { own: Some(Box::new(own)), ..run() }, Some(("step", "1".to_owned())));
    metrics.add(&run(), Some(("step", "2".to_owned())));
    let text = text(&metrics);
    let mut families: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        let name = line.split(['{', ' ']).next().unwrap();
        if families.last() != Some(&name) {
            assert!(!families.contains(&name), "{name} comes twice: {text}");
            families.push(name);
        }
    }
    let loads: Vec<_> = text.lines().filter(|it| it.starts_with("memtide_measured_")).collect();
    assert_eq!(loads.len(), 3);
    assert!(loads[0].ends_with(",step=\"1\",load=\"agents\"} 2.5"), "{}", loads[0]);
    assert!(loads[1].ends_with(",step=\"1\",load=\"master\"} 2"), "{}", loads[1]);
    assert!(loads[2].ends_with(",step=\"2\"} 2.5"), "{}", loads[2]);
}
