//! Pages: what is in them, that nothing is loaded, and that hostile names stay text.

use super::*;
use crate::fixture;
use memtide_base::{Random, Span};
use memtide_metrics::Histogram;
use memtide_schema::Kind;
use memtide_schema::compare::compare;
use memtide_schema::record::{
    IntervalRecord, SecondRecord, ServerRecord, SliceRecord, UnderWay, WarningRecord,
};
use memtide_schema::steps::{Conclusion, CourseKind, Step, StepRole};

/// A run with a histogram and everything over time.
fn run() -> Record {
    run_of(100, 10, 12)
}

/// A run with this many rows, slices and seconds.
fn run_of(rows: u32, slices: u32, seconds: u32) -> Record {
    let mut record = fixture::open();
    let mut times = Histogram::<u64>::new();
    (1..=20_000u64).for_each(|n| times.record(50_000 + n * n / 40));
    let of = memtide_schema::record::Distribution::of(&times, 0, Span::ZERO);
    record.response.insert(Kind::All, of.clone());
    record.lag_split.generator = of;
    let row = memtide_metrics::series::Row {
        answered: times.count(),
        response: times.recorded().collect(),
        ..Default::default()
    };
    record.slices = (0..slices)
        .map(|n| SliceRecord::of(&row, Span::from_s(n.into()), Span::from_s(1)))
        .collect();
    record.intervals = (0..rows)
        .map(|n| IntervalRecord {
            start_s: f64::from(n) / 10.0,
            length_s: 0.1,
            intended: 2_000,
            ops: 1_990,
            response_p50_ns: Some(90_000),
            response_p99_ns: (n % 7 > 0).then_some(300_000),
            ..IntervalRecord::default()
        })
        .collect();
    record.seconds = (0..seconds)
        .map(|n| SecondRecord {
            start_s: f64::from(n),
            length_s: 1.0,
            under_way: UnderWay {
                in_flight: Some(3),
                backlog: Some(1),
                oldest_due_s: Some(0.001),
                connections_open: Some(64),
            },
            ..SecondRecord::default()
        })
        .collect();
    record
}

/// A record with `word` wherever others have a say.
fn said(word: &str) -> Record {
    let mut record = run();
    record.plan.servers[0].name = word.to_owned();
    record.servers = [word, word]
        .map(|name| ServerRecord { name: name.to_owned(), ..ServerRecord::default() })
        .to_vec();
    record.tags = [("tag".to_owned(), word.to_owned())].into();
    record.machine.cpu_model = Some(word.to_owned());
    record.machine.memtide_version = word.to_owned();
    record.totals.errors = [(word.to_owned(), 1)].into();
    record.scenario = [(word.to_owned(), word.into())].into_iter().collect();
    record.warnings = vec![WarningRecord {
        code: word.to_owned(),
        message: word.to_owned(),
        remedy: word.to_owned(),
    }];
    record
}

fn pages(word: &str) -> [String; 3] {
    let record = said(word);
    let mut steps = StepsPage::new(CourseKind::Scan, &[word.to_owned()]);
    steps.step(&Step {
        number: 1,
        role: StepRole::Scan,
        rate_per_s: Some(1e3),
        achieved_per_s: 1e3,
        behind: false,
        goal: None,
        figure_ns: None,
        low_per_s: None,
        high_per_s: None,
        record: record.clone(),
    });
    let failure = Some(word.to_owned());
    let conclusion = Conclusion { failure, ..Conclusion::default() };
    let records = [(word.to_owned(), run()), ("b".to_owned(), record.clone())];
    let comparison = compare(&records, &["all.mean>+5%".parse().unwrap()]);
    [page(&record), steps.text(&conclusion), comparison_page(&comparison, &records)]
}

/// The tags of a page without their attributes, outside style and script, and the names of
/// attributes.
fn skeleton(page: &str) -> Vec<String> {
    let mut bones = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let end = end_of_tag(rest);
        let tag = &rest[..end];
        let name: String = tag.chars().take_while(|c| !c.is_whitespace() && *c != '>').collect();
        rest = &rest[end..];
        if name == "<style" || name == "<script" {
            rest = &rest[rest.find("</").unwrap()..];
        }
        bones.push(name);
    }
    bones
}

/// Where a tag ends, quoted attributes minded.
fn end_of_tag(text: &str) -> usize {
    let mut is_quoted = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '>' if !is_quoted => return at + 1,
            _ => {}
        }
    }
    panic!("a tag does not end: {}", &text[..text.len().min(80)]);
}

#[test]
fn a_page_shows_the_records_figures_exactly_and_loads_nothing() {
    let record = run();
    let page = page(&record);
    for (kind, times) in &record.response {
        let row = format!("data-figures=\"response.{kind}\"");
        let row = page.split(&row).nth(1).unwrap().split("</tr>").next().unwrap();
        assert!(row.contains(&format!("<data value=\"{}\">", times.count)), "{kind}: {row}");
        for ns in [times.p50_ns, times.p99_ns, times.max_ns].into_iter().flatten() {
            assert!(row.contains(&format!("<data value=\"{ns}\">")), "{kind}: {row}");
        }
    }
    for title in ["Percentile spectrum", "Response over time", "Asked and achieved rate"] {
        assert!(page.contains(title), "{title}");
    }
    for loads in ["http://", "https://", "src=", "url(", "@import", "fetch("] {
        assert!(!page.contains(loads), "{loads}");
    }
    assert!(page.contains("prefers-color-scheme: dark"));
    assert!(page.len() < 200_000, "{} bytes", page.len());
}

#[test]
fn the_page_of_a_long_run_is_below_two_megabytes() {
    let mut record = run_of(1_024, 64, 1_024);
    record.plan.servers = vec![record.plan.servers[0].clone(); 16];
    let second = memtide_schema::record::ServerSecond::default();
    record.seconds.iter_mut().for_each(|it| it.servers = vec![second; 16]);
    let bytes = page(&record).len();
    assert!(bytes < 2_000_000, "{bytes} bytes");
    let bytes = page(&run_of(16_384, 64, 1_024)).len();
    assert!(bytes < 2_000_000, "{bytes} bytes");
}

#[test]
fn a_run_without_anything_has_a_page_too() {
    for record in [fixture::nothing(), fixture::bad_day(), fixture::churn(), fixture::closed()] {
        assert!(page(&record).ends_with("</html>\n"));
    }
}

#[test]
fn hostile_names_change_no_tag_of_a_page() {
    let plain = pages("name").map(|page| skeleton(&page));
    let seed = 7;
    let mut random = Random::new(seed);
    let pieces = [
        "</script>",
        "<script>alert(1)</script>",
        "\"",
        "'",
        "<!--",
        "-->",
        "]]>",
        "&",
        "&lt;",
        "</pre>",
        "</style>",
        "<img src=x onerror=alert(1)>",
        "\" onload=\"x",
        "|",
        "\\u003c",
        "\0",
        "\u{2028}",
        "javascript:x",
        "`",
        "{{x}}",
        "</title>",
        "<svg/onload=x>",
    ];
    for _ in 0..40 {
        let count = 1 + random.below(4);
        let word: String =
            (0..count).map(|_| pieces[random.below(pieces.len() as u64) as usize]).collect();
        let hostile = pages(&word).map(|page| skeleton(&page));
        for (hostile, plain) in hostile.iter().zip(&plain) {
            assert_eq!(hostile, plain, "seed {seed}, {word:?}");
        }
    }
}
