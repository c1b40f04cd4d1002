//! Pages: their content, that they load nothing, and that hostile names remain text.

use super::*;
use crate::fixture::{self, step};
use memtide_base::units::format_rate;
use memtide_base::{Random, Span};
use memtide_metrics::Histogram;
use memtide_record::compare::compare;
use memtide_record::steps::{Conclusion, CourseKind, Step, StepRole};
use memtide_record::{
    IntervalRecord, SecondRecord, ServerRecord, ServerReport, SliceRecord, UnderWay, WarningRecord,
};
use memtide_scenario::Kind;

/// A run with a histogram and everything over time.
fn run() -> Record {
    run_of(100, 10, 12)
}

/// A run with this many rows, slices and seconds.
fn run_of(rows: u32, slices: u32, seconds: u32) -> Record {
    let mut record = fixture::open();
    let mut times = Histogram::<u64>::new();
    (1..=20_000u64).for_each(|n| times.record(50_000 + n * n / 40));
    let of = memtide_record::Distribution::of(&times, 0, Span::ZERO);
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

/// A server's report on the second that ended after `end_s`.
fn report(end_s: u64) -> ServerReport {
    ServerReport {
        answers: 1,
        length_ns: 1_000_000_000,
        operations: Some(20_100 + end_s),
        gets: Some(18_000),
        hits: Some(17_000),
        misses: Some(1_000),
        sets: Some(2_100),
        evictions: Some(end_s % 3),
        cpu_user_us: Some(61_000 + end_s),
        cpu_system_us: Some(140_000),
        items: Some(1_000_000 + end_s),
        item_bytes: Some(123_456_789 + end_s),
        connections: Some(67),
        ..ServerReport::default()
    }
}

/// This record with reports of these servers in each second, as `of` makes them.
fn watched(mut record: Record, names: &[&str], of: impl Fn(&str, u64) -> ServerReport) -> Record {
    record.plan.servers = vec![record.plan.servers[0].clone(); names.len()];
    for (second, end_s) in record.seconds.iter_mut().zip(1..) {
        let reports = names.iter().map(|name| ((*name).to_owned(), of(name, end_s)));
        second.reports = reports.collect();
        (second.counts.answered, second.counts.hits, second.counts.misses) =
            (20_000, 17_000, 1_000);
        for (name, report) in &second.reports {
            let load = record.server.during.entry(name.clone()).or_default();
            load.report = load.report.then(report);
        }
    }
    record
}

/// A record with `word` in every place that holds foreign text.
fn said(word: &str) -> Record {
    let mut record = run();
    record.plan.servers[0].name = word.to_owned();
    record = watched(record, &[word], |_, end_s| ServerReport {
        restarts: u64::from(end_s == 3),
        ..report(end_s)
    });
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
    steps.step(&step(1, record.clone()));
    let failure = Some(word.to_owned());
    let conclusion = Conclusion { failure, ..Conclusion::default() };
    let records = [(word.to_owned(), run()), ("b".to_owned(), record.clone())];
    let comparison = compare(&records, &["all.mean>+5%".parse().unwrap()]);
    [page(&record), steps.text(&conclusion), comparison_page(&comparison, &records)]
}

/// The tags of a page without their attributes' values, outside style and script, and the names of
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

/// Position of a tag's end, which is not inside a quoted attribute.
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
        // The table of all times, not that of the answer.
        let below = page.split("id=\"times\"").nth(1).unwrap();
        let row = below.split(&row).nth(1).unwrap().split("</tr>").next().unwrap();
        assert!(row.contains(&format!("<data value=\"{}\">", times.count)), "{kind}: {row}");
        for ns in [times.p50_ns, times.p99_ns, times.max_ns].into_iter().flatten() {
            assert!(row.contains(&format!("<data value=\"{ns}\">")), "{kind}: {row}");
        }
    }
    for title in ["Percentile spectrum", "Response over time", "Target and achieved rate"] {
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
    let second = memtide_record::ServerSecond::default();
    record.seconds.iter_mut().for_each(|it| it.servers = vec![second; 16]);
    let names: Vec<String> = (0..8).map(|n| format!("cache{n}.example.com:11211")).collect();
    for count in [1, 8] {
        let names: Vec<&str> = names.iter().take(count).map(String::as_str).collect();
        let mut record = watched(record.clone(), &names, |_, end_s| report(end_s));
        record.plan.servers = vec![record.plan.servers[0].clone(); 16];
        let bytes = page(&record).len();
        assert!(bytes < 2_000_000, "{bytes} bytes");
    }
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

/// The chart with this title, from its caption to its last value.
fn chart<'a>(page: &'a str, title: &str) -> &'a str {
    // A folded chart also has its title in the summary.
    let part = page.split(&format!("<figcaption><strong>{title}</strong>")).nth(1).expect(title);
    part.split("</figure>").next().unwrap()
}

/// The values of a chart's line, as the page's script shows them.
fn values(chart: &str, name: &str) -> Vec<String> {
    let line = chart.split(&format!("data-name=\"{name}\"")).nth(1).expect(name);
    let values = line.split("data-v=\"").nth(1).unwrap().split('"').next().unwrap();
    values.split('|').map(str::to_owned).collect()
}

#[test]
fn a_server_tells_of_itself_and_of_its_restart() {
    let restarted = |_: &str, end_s| {
        let restarts = u64::from(end_s == 4);
        ServerReport { restarts, resets: u64::from(end_s == 11), ..report(end_s) }
    };
    let page = page(&watched(run(), &["a:11211"], restarted));
    let rate = chart(&page, "Rate at the servers");
    assert_eq!(values(rate, "a:11211")[0], "20 101/s");
    assert_eq!(values(rate, "answered, counted by memtide"), vec!["20 000/s"; 12]);
    assert_eq!(values(chart(&page, "Hit ratio"), "a:11211"), vec!["94.4 %"; 12]);
    assert_eq!(values(chart(&page, "CPU of the servers"), "a:11211")[0], "20.1 %");
    // A process that starts uses CPU time without operations.
    let cpu = values(chart(&page, "CPU per million operations"), "a:11211");
    assert_eq!((cpu.len(), cpu[0].as_str()), (11, "10 s"));
    assert_eq!(values(chart(&page, "Items"), "a:11211")[11], "1 000 012");
    assert_eq!(values(chart(&page, "Memory of items"), "a:11211")[11], "123.5 MB");
    assert_eq!(values(chart(&page, "Evictions"), "a:11211")[..3], ["1.00/s", "2.00/s", "0.00/s"]);
    assert_eq!(values(chart(&page, "Connections at the servers"), "a:11211"), vec!["67"; 12]);
    // Each of the eight charts has the mark: a line across, a name at it and a word below it.
    assert_eq!(
        page.matches("<span class=\"mark\" style=\"left:33.33%\">restart</span>").count(),
        8
    );
    assert_eq!(page.matches("style=\"right:8.33%\">stats reset</span>").count(), 8);
    assert!(rate.contains("<path class=\"limit\" d=\"M333.3 0V400\">"), "{rate}");
    assert!(
        page.contains("was restarted once, had its counters reset once; restarts seen at 4\u{a0}s")
    );
}

#[test]
fn a_silent_server_leaves_a_gap_in_its_line_and_in_the_sum() {
    let silent = |name: &str, end_s| match (name, end_s) {
        ("b:11211", 5 | 6) => ServerReport::none(),
        // The next reply covers the whole time since the reply before.
        ("b:11211", 7) => {
            ServerReport { length_ns: 3_000_000_000, operations: Some(60_000), ..report(end_s) }
        }
        _ => report(end_s),
    };
    let mut record = watched(run(), &["a:11211", "b:11211"], silent);
    record.server.during.get_mut("b:11211").unwrap().why_unanswered = Some("too late".to_owned());
    let page = page(&record);
    let rate = chart(&page, "Rate at the servers");
    assert_eq!(values(rate, "a:11211").len(), 12);
    let (b, all) = (values(rate, "b:11211"), values(rate, "all servers"));
    assert_eq!((b.len(), b[4].as_str()), (10, "20 000/s"));
    assert_eq!((all.len(), all[0].as_str(), all[4].as_str()), (10, "40 202/s", "40 107/s"));
    assert_eq!(values(chart(&page, "Items"), "all servers").len(), 10);
    assert!(page.contains("2 of 12 stats requests failed; reason: too late"));
}

#[test]
fn what_is_not_known_has_no_chart_and_many_servers_have_only_their_sum() {
    let without_cpu = |_: &str, end_s| ServerReport { cpu_user_us: None, ..report(end_s) };
    let page = page(&watched(run(), &["a:11211"], without_cpu));
    assert!(!page.contains("CPU of the servers") && page.contains("Memory of items"));
    assert!(!super::page(&run()).contains("The servers' answers to stats"));
    let names: Vec<String> = (0..9).map(|n| format!("{n}:11211")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let many = super::page(&watched(run(), &names, |_, end_s| report(end_s)));
    let items = chart(&many, "Items");
    assert_eq!(values(items, "all servers")[0], "9 000 009");
    assert_eq!(items.matches("data-name").count(), 1);
}

#[test]
fn what_is_left_after_the_last_second_is_part_of_it() {
    let mut record = watched(run(), &["a:11211"], |_, end_s| report(end_s));
    let last = record.seconds.last_mut().unwrap();
    (last.length_s, last.counts.answered) = (0.05, 1_000);
    let rest = ServerReport {
        length_ns: 50_000_000,
        operations: Some(10),
        cpu_user_us: Some(0),
        cpu_system_us: Some(900),
        ..report(12)
    };
    last.reports.insert("a:11211".to_owned(), rest);
    let page = page(&record);
    let cpu = values(chart(&page, "CPU per million operations"), "a:11211");
    assert_eq!((cpu.len(), cpu[10].as_str()), (11, "10.03 s"));
}

#[test]
fn lines_break_over_time_in_which_nothing_ran() {
    let mut record = run();
    record.intervals[50..].iter_mut().for_each(|row| row.start_s += 11.0);
    record.seconds[6..].iter_mut().for_each(|second| second.start_s += 11.0);
    let page = page(&record);
    let lines = [
        ("Response over time", "p50"),
        ("Target and achieved rate", "due"),
        ("In flight and backlog", "in flight"),
    ];
    for (title, name) in lines {
        let line = chart(&page, title).split(&format!("data-name=\"{name}\"")).nth(1).unwrap();
        let path =
            line.split("<path class=\"line\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(path.matches('M').count(), 2, "{title}: {path}");
    }
}

/// The page of a simulation gave the command of a run.
#[test]
fn a_simulation_is_repeated_by_a_simulation() {
    assert!(page(&run()).contains("<code>memtide run scenario.toml</code>."));
    let mut record = run();
    record.plan.io = "simulated".to_owned();
    let again = "<code>memtide sim scenario.toml</code>, with the options of the simulation.";
    assert!(page(&record).contains(again));
}

#[test]
fn the_verdict_stands_before_the_contents_and_these_before_the_figures_and_their_counts() {
    let page = page(&run());
    let order = [
        "<h1>",
        "believable: ",
        "95 % interval</th>",
        "<nav",
        "id=\"times\"",
        "id=\"over-time\"",
        "id=\"lag\"",
    ];
    let order = order.into_iter().chain(["id=\"checks\"", "id=\"counts\"", "id=\"what-was-run\""]);
    let places: Vec<usize> = order.map(|sign| page.find(sign).expect(sign)).collect();
    assert!(places.is_sorted(), "{places:?}");
    let heading = |name: &str| page.find(&format!("scope=\"col\">{name}</th>")).expect(name);
    assert!(heading("p99.99") < heading("mean") && heading("max") < heading("count"));
    let links = page.split("<nav").nth(1).unwrap().split("</nav>").next().unwrap();
    let sections = page.matches("<h2 id=\"").count();
    assert_eq!((links.matches("<a href=\"#").count(), sections), (sections, sections));
}

#[test]
fn a_chart_that_never_changes_is_folded_and_says_its_value() {
    let steady = page(&run());
    assert!(steady.contains(
        "<summary><strong>Backlog age</strong> did not change: oldest unsent operation \
         1.00\u{a0}ms</summary>"
    ));
    let mut record = run();
    record.seconds[7].under_way.oldest_due_s = Some(0.5);
    assert!(!page(&record).contains("<strong>Backlog age</strong> did not change"));
    // A gap is a change.
    record.seconds[7].under_way.oldest_due_s = None;
    assert!(!page(&record).contains("<strong>Backlog age</strong> did not change"));
}

#[test]
fn operations_without_an_answer_show_above_the_heat_map() {
    assert!(!page(&run()).contains("not answered</span>"));
    let mut record = run();
    record.slices[4].unanswered = record.slices[4].answered;
    let page = page(&record);
    let chart = chart(&page, "Response over time");
    assert!(chart.contains("</i>not answered</span>"), "{chart}");
    assert_eq!(chart.matches("class=\"u5\" d=\"M400.0 -14.0h100.0v14.0").count(), 1, "{chart}");
}

#[test]
fn intervals_are_bands_and_goals_are_lines() {
    let mut record = run();
    let all = record.response.get_mut(&Kind::All).unwrap();
    (all.p50_ci_low_ns, all.p50_ci_high_ns) = (Some(2_500_000), Some(2_600_000));
    (all.p99_ci_low_ns, all.p99_ci_high_ns) = (Some(9_000_000), Some(11_000_000));
    record.goals = ["all.p99<8ms", "all.p99<1h", "errors<1%"]
        .map(|goal| memtide_record::GoalRecord {
            goal: goal.to_owned(),
            result: memtide_record::GoalResult::Missed,
            measured: None,
            why: String::new(),
        })
        .to_vec();
    let page = page(&record);
    let (spectrum, time) =
        (chart(&page, "Percentile spectrum"), chart(&page, "Response over time"));
    assert_eq!([spectrum, time].map(|it| it.matches("class=\"band\"").count()), [1, 2]);
    for chart in [spectrum, time] {
        assert!(chart.contains("</i>all.p99&lt;8ms</span>"), "{chart}");
        assert_eq!(chart.matches("path class=\"limit\"").count(), 1, "one is too far: {chart}");
    }
}

#[test]
fn no_line_of_a_page_ends_in_a_number() {
    let cases = [
        ("20 003/s of 20 000/s, 1 234 567 keys", "20_003/s of 20_000/s, 1_234_567 keys"),
        ("p99 is 310 µs (± 5.8 %); > 5 s", "p99 is 310_µs (±_5.8_%); >_5_s"),
        ("3 runs of 100 operations, 99.9 % hits", "3 runs of 100 operations, 99.9_% hits"),
        ("step 4 500 ms later", "step 4_500_ms later"),
    ];
    for (text, unbroken) in cases {
        assert_eq!(figures::unbroken(text), unbroken.replace('_', "\u{a0}"));
    }
}

#[test]
fn rates_over_decades_have_a_log_axis_and_the_peak_stands_apart() {
    let at = |number: u32, per_s: f64| {
        let mut record = run();
        let all = record.response.get_mut(&Kind::All).unwrap();
        (all.p99_ci_low_ns, all.p99_ci_high_ns) = (Some(9_000_000), Some(11_000_000));
        Step { rate_per_s: Some(per_s), achieved_per_s: per_s, ..step(number, record) }
    };
    let page_of = |all: Vec<Step>| {
        let mut steps = StepsPage::new(CourseKind::Scan, &[]);
        all.iter().for_each(|it| steps.step(it));
        steps.text(&Conclusion::default())
    };
    let tick = format_rate(1e3);
    let wide = page_of(vec![at(1, 100.0), at(2, 1e5)]);
    assert!(wide.contains(&tick) && wide.contains("class=\"band\""), "{wide}");
    let close = page_of(vec![at(1, 6e4), at(2, 1e5)]);
    assert!(!close.contains(&tick), "{close}");
    let peak = Step { rate_per_s: None, role: StepRole::Peak, ..at(3, 5e5) };
    let page = page_of(vec![at(1, 6e4), at(2, 1e5), peak]);
    assert!(page.contains(&format!("peak {}", format_rate(5e5))), "{page}");
    // Its times are no points of the lines, so the axis of times has room for the others'.
    assert_eq!(page.matches("class=\"band\"").count(), close.matches("class=\"band\"").count());
}

#[test]
fn a_scan_has_a_verdict_and_a_doubtful_step_looks_so() {
    let mut steps = StepsPage::new(CourseKind::Scan, &[]);
    steps.step(&step(1, run()));
    assert!(steps.text(&Conclusion::default()).contains("</strong>all 1 step"));
    steps.step(&step(2, fixture::bad_day()));
    let page = steps.text(&Conclusion::default());
    assert!(
        page.contains("<p class=\"verdict within\"><strong>believable: </strong>1 of 2 steps; ")
    );
    assert!(page.contains("<tr class=\"doubtful\"><th scope=\"row\">2</th>"), "{page}");
    assert!(page.contains("<span class=\"bad\">not believable</span>"), "{page}");
    // All but p99, which falls among unanswered operations.
    assert_eq!(page.matches("<path class=\"hollow\"").count(), 4);
}
