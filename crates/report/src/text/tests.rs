//! Whole reports compared with files, and properties of all reports.

use super::*;
use crate::answer::next;
use crate::fixture;
use crate::fixture::{expect, text, text_at};
use memtide_metrics::Histogram;
use memtide_record::{
    Believable, CheckKind, Distribution, Reason, ServerLoad, ServerReport, Totals,
};
use memtide_scenario::Kind;

#[test]
fn an_open_loop_on_a_quiet_machine() {
    expect("open.txt", &text(&fixture::open()));
}

#[test]
fn what_is_unusual_about_a_load_stands_at_the_top() {
    let text = text(&fixture::unusual());
    let top: Vec<&str> = text.lines().take(22).collect();
    expect("unusual.txt", &format!("{}\n", top.join("\n")));
}

#[test]
fn a_closed_loop_says_what_its_times_are() {
    let mut record = fixture::closed();
    let heading =
        "\nclosed loop: throughput is the result; response times are those at saturation\n";
    let limited = text(&record);
    assert!(limited.contains(heading), "{limited}");
    assert!(limited.contains("\nnext: memtide run --rate 86k # below memtide's limit\n"));
    expect("closed.txt", &limited);
    record.believable = Believable::from_checks(Vec::new());
    assert!(text(&record).contains("\nnext: memtide run --rate 86k # below saturation\n"));
}

/// The advice was refused: it named the rate of operations, or left what sets it.
#[test]
fn the_rate_that_is_advised_is_the_one_that_the_run_may_have() {
    let mut churn = fixture::churn();
    churn.loop_kind = fixture::closed().loop_kind;
    churn.believable = Believable::from_checks(Vec::new());
    let (lower, _) = next(&churn).unwrap();
    assert!(lower.contains(" --connection-rate ") && !lower.contains(" --rate "), "{lower}");
    let mut waves = fixture::closed();
    waves.scenario.insert("wave".to_owned(), "sine:1k,500,10s".into());
    let (lower, _) = next(&waves).unwrap();
    assert!(lower.contains(" --rate ") && !lower.contains("--wave"), "{lower}");
}

#[test]
fn a_bad_day_is_marked_and_explained() {
    let text = text(&fixture::bad_day());
    assert!(text.contains("> 5 s"));
    expect("bad_day.txt", &text);
}

/// Issue 58, point 7: "70 % hits" and "server found 100 % of the keys" stood in one report.
#[test]
fn what_a_server_found_says_that_items_without_a_value_are_among_it() {
    let mut record = fixture::open();
    let report = ServerReport { hits: Some(900), misses: Some(0), ..ServerReport::default() };
    let load = ServerLoad { report, ..ServerLoad::default() };
    record.server.during.insert("localhost:11211".to_owned(), load);
    let said = "server found 100 % of the keys";
    assert!(text(&record).contains(said) && !text(&record).contains("without a value"));
    record.phases.measure.ops.insert(Kind::Recache, 7);
    assert!(text(&record).contains(&format!("{said}, items without a value included")));
}

#[test]
fn what_the_end_of_the_window_cut_off_has_bounds_of_its_own() {
    let (mut times, mut bounds) = (Histogram::<u64>::new(), Histogram::<u64>::new());
    (0..4_000).for_each(|nth| times.record(1_000_000 + nth * 100));
    (0..6_000).for_each(|nth| bounds.record(nth * 1_000_000));
    let mut record = fixture::open();
    let all = Distribution::cut_off(&times, 6_000, Span::from_s(60), &bounds);
    record.response = [(Kind::All, all)].into();
    let totals = Totals {
        intended: 10_000,
        sent: 4_000,
        answered: 4_000,
        dropped: 6_000,
        dropped_at_end: 5_000,
        ..Totals::default()
    };
    record.totals = totals;
    let text = text(&record);
    let said = "4 000 answered, 6 000 dropped (5 000 of them not sent before the window ended)";
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(said), "{text}");
    let row = text.lines().find(|line| line.starts_with("all ")).unwrap();
    // All percentiles but p99.99, which needs more operations; the longest took at least 6 s. The
    // mean is at least that of the answered times and the bounds.
    assert_eq!((row.matches("> ").count(), row.contains("≥ 6 s")), (4, true), "{text}");
    assert!(row.contains("≥ 1.80 s"), "{text}");
    assert!(
        text.contains("\n>          falls among 6 000 operations that were not answered"),
        "{text}"
    );
}

#[test]
fn rows_of_nothing_are_left_out_and_cause_no_footnote() {
    let text = text(&fixture::reads());
    assert!(!text.contains("\nget_miss") && !text.contains("\nset "), "{text}");
    assert!(text.contains("\nget_hit") && !text.contains("p50 needs"), "{text}");
}

#[test]
fn a_window_that_a_count_ended_says_so() {
    let of = |record, ended_by| {
        let text = text(&Record { ended_by, ..record });
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(!of(fixture::open(), EndedBy::Duration).contains("ended by"));
    let operations = of(fixture::open(), EndedBy::Operations);
    assert!(operations.contains(" s measured, ended by its operation limit"), "{operations}");
    let churn = of(fixture::churn(), EndedBy::Operations);
    assert!(churn.contains(" s measured, ended by its connection limit"), "{churn}");
}

#[test]
fn what_a_simulation_cost_is_not_said() {
    let mut record = fixture::open();
    record.client.cpu_user_s = None;
    record.client.rss_max_bytes = None;
    record.machine_cpu = None;
    let text = text(&record);
    assert!(!text.contains("\nclient     ") && !text.contains("\nmachine "), "{text}");
    assert!(!text.contains("of CPU") && !text.contains("of memory"), "{text}");
}

#[test]
fn a_run_that_measured_nothing_shows_no_figures() {
    expect("nothing.txt", &text(&fixture::nothing()));
}

#[test]
fn a_skipped_check_is_noted_unless_a_warning_says_it() {
    let mut record = fixture::bad_day();
    assert!(text(&record).contains("\nnote: the servers' counters were not checked: "));
    let why = "a server went away".to_owned();
    let server = "10.0.0.2:11211".to_owned();
    record.warnings.push((&memtide_record::Warning::StatsUnavailable { server, why }).into());
    assert!(!text(&record).contains("\nnote: "));
}

#[test]
fn long_names_of_servers_keep_their_ends() {
    let mut record = fixture::bad_day();
    record.servers[0].name = "cache-017.very-far-away.example.org:11211".to_owned();
    assert!(text(&record).contains("\n…-away.example.org:11211 "), "{}", text(&record));
}

#[test]
fn no_line_is_too_wide_and_the_last_one_is_the_verdict() {
    for record in [
        fixture::open(),
        fixture::closed(),
        fixture::bad_day(),
        fixture::nothing(),
        Record::default(),
    ] {
        let text = text(&record);
        let (last, others) = text
            .lines()
            .rev()
            .collect::<Vec<_>>()
            .split_first()
            .map_or_else(|| ("", Vec::new()), |(last, others)| (*last, others.to_vec()));
        assert!(last.starts_with("believable: "), "{last}");
        for line in others {
            assert!(line.chars().count() <= 120, "{line}");
            assert_eq!(line, line.trim_end());
        }
    }
}

#[test]
fn on_a_terminal_every_line_fits_and_in_a_pipe_nothing_changes() {
    let records = [
        fixture::open(),
        fixture::unusual(),
        fixture::closed(),
        fixture::bad_day(),
        fixture::reads(),
    ];
    for record in records.into_iter().chain([fixture::churn(), fixture::nothing()]) {
        let whole = text(&record);
        for columns in [80, 100, 120, 200] {
            let narrow = text_at(&record, Some(columns));
            let long = narrow.lines().find(|line| line.chars().count() > columns);
            assert_eq!(long, None, "wider than {columns}:\n{narrow}");
            assert!(narrow.contains("\nbelievable: "), "{narrow}");
            for column in ["p50", "p99", "max"] {
                assert_eq!(narrow.contains(column), whole.contains(column), "{narrow}");
            }
        }
    }
    let at_80 = text_at(&fixture::open(), Some(80));
    let heading = at_80.lines().find(|line| line.starts_with("response ")).unwrap();
    assert!(heading.contains("p99.9") && !heading.contains("p99.99"), "{at_80}");
}

#[test]
fn the_last_line_of_a_short_report_has_two_reasons_and_a_whole_one_has_all() {
    let mut record = fixture::spoiled();
    let reason = record.believable.reasons[0].clone();
    let named = |name: &str| Reason { message: name.to_owned(), ..reason.clone() };
    record.believable.reasons = ["a", "b", "c", "d"].map(named).to_vec();
    assert!(!record.believable.reasons[0].code.is_of_figures());
    let last = |text: String| text.lines().last().map(str::to_owned);
    let whole = last(text(&record));
    assert_eq!(whole.as_deref(), Some("believable: no — a; b; c; d"));
    let brief = last(short(&record));
    assert_eq!(brief.as_deref(), Some("believable: no — a; b; 2 more reasons: see --full"));
    // What only widens a figure comes last.
    record.believable.reasons[0].code = CheckKind::GeneratorP50;
    let brief = last(short(&record));
    assert_eq!(brief.as_deref(), Some("believable: no — b; c; 2 more reasons: see --full"));
}

/// The answer alone, without a terminal.
fn short(record: &Record) -> String {
    text_for(record, &TextOptions::default())
}

#[test]
fn the_answer_of_a_good_a_mixed_and_a_spoiled_run() {
    expect("answer_yes.txt", &short(&fixture::sound()));
    expect("answer_mixed.txt", &short(&fixture::mixed()));
    expect("answer_no.txt", &short(&fixture::spoiled()));
}

#[test]
fn the_answer_fits_a_screen_of_80_columns_and_24_lines() {
    let records = [
        fixture::sound(),
        fixture::mixed(),
        fixture::spoiled(),
        fixture::open(),
        fixture::unusual(),
        fixture::closed(),
        fixture::bad_day(),
        fixture::reads(),
        fixture::churn(),
        fixture::nothing(),
    ];
    for record in records {
        let options = TextOptions { columns: Some(80), ..TextOptions::default() };
        let text = text_for(&record, &options);
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("\nbelievable: "), "{text}");
        let piped = short(&record);
        let sought =
            |line: &&str| line.starts_with("believable: ") || line.starts_with("partial: ");
        let mut wide = piped.lines().filter(|line| line.chars().count() > 80);
        assert_eq!(wide.find(|line| !sought(line)), None, "{piped}");
        // The whole report begins with the answer, and ends with the same verdict.
        let whole = fixture::text(&record);
        assert_eq!(whole.lines().next(), piped.lines().next());
        assert_eq!(whole.lines().last(), piped.lines().last());
    }
}

#[test]
fn an_explanation_shows_how_a_figure_came_about() {
    let explained = |record: &Record, figure: &str| {
        let explain = Some(figure.parse().unwrap());
        let text = text_for(record, &TextOptions { explain, ..TextOptions::default() });
        let from = text.find("explain ").unwrap();
        text[from..].split("\n\n").next().unwrap().to_owned() + "\n"
    };
    let mixed = fixture::mixed();
    let each = ["p99", "p99.9", "set.mean", "rate"].map(|figure| explained(&mixed, figure));
    expect("explained.txt", &each.join("\n"));
    let old = explained(&fixture::open(), "p99");
    assert!(old.contains("interval   none: kept no slices"), "{old}");
    assert!(explained(&mixed, "cas.p50").contains("no such operation was measured"));
}

fn fact(about: &str, spoils: bool, to_do: Option<&str>) -> Fact {
    let (found, to_do) = ("as it was found".to_owned(), to_do.map(str::to_owned));
    Fact { about: about.to_owned(), found, spoils, to_do, warning: None }
}

#[test]
fn what_spoils_is_said_with_its_remedy_and_again_at_the_end() {
    let facts = [fact("CPUs", false, None), fact("steal", true, Some("move"))];
    let text = facts_text(&facts, None);
    assert_eq!(
        text,
        "CPUs         as it was found\nsteal        as it was found\n             spoils runs: \
         move\n\nnot fit to measure: steal\n"
    );
    let text = facts_text(&[fact("CPUs", false, Some("use two"))], None);
    assert!(text.contains("better: use two\n\nfit to measure"), "{text}");
}

fn measuring() -> Progress {
    Progress {
        phase: Phase::Measure,
        elapsed_s: 3.24,
        length_s: Some(10.0),
        done: 64_800,
        rate_per_s: Some(20_012.0),
        response_p99_ns: Some(412_000),
        ..Progress::default()
    }
}

#[test]
fn a_line_says_where_how_fast_and_how_slow() {
    assert_eq!(progress_line(&measuring()), "measure 3.2 of 10 s  20 012/s  p99 412 µs");
    let bad = Progress { response_p99_ns: None, unanswered: 1200, ..measuring() };
    let line = progress_line(&bad);
    assert_eq!(line, "measure 3.2 of 10 s  20 012/s  p99 —  1 200 not answered");
    let first = Progress { rate_per_s: None, response_p99_ns: None, ..measuring() };
    assert_eq!(progress_line(&first), "measure 3.2 of 10 s  —/s  p99 —");
}

#[test]
fn a_stall_shows_as_the_age_of_the_backlog() {
    let stalled = Progress { oldest_due: Some(Span::from_ms(1_500)), ..measuring() };
    let line = progress_line(&stalled);
    assert_eq!(line, "measure 3.2 of 10 s  20 012/s  p99 412 µs  backlog 1.50 s");
    let calm = Progress { oldest_due: Some(Span::from_us(40)), ..measuring() };
    assert_eq!(progress_line(&calm), progress_line(&measuring()));
}

#[test]
fn where_connections_are_the_load_their_number_is_told() {
    let churn = Progress { total: Some(2_000), done: 640, living: Some(12), ..measuring() };
    assert_eq!(
        progress_line(&churn),
        "measure 3.2 s, 32 % of 2 000  20 012/s  p99 412 µs  12 open"
    );
}

#[test]
fn a_phase_of_counted_operations_says_which_part_is_done() {
    let load = Progress {
        phase: Phase::Load,
        done: 99_999,
        total: Some(100_000),
        length_s: None,
        ..measuring()
    };
    assert_eq!(progress_line(&load), "load 3.2 s, 99 % of 100 000  20 012/s");
    let cooldown = Progress { phase: Phase::Cooldown, length_s: None, ..measuring() };
    assert_eq!(progress_line(&cooldown), "cooldown 3.2 s  20 012/s  p99 412 µs");
}
