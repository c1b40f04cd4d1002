//! Rows of one table: equal columns, and no false zero.

use super::*;
use std::collections::BTreeMap;

fn second() -> Interval {
    let mut times = Histogram::new();
    (1..=10).for_each(|n| times.record(n * 1_000));
    let counts = SettledCounts { settled: 12, answered: 10, lost: 2, ..Default::default() };
    Interval {
        start: Span::from_s(2),
        length: Span::from_s(1),
        counts,
        response: [(Kind::All, times.clone()), (Kind::Set, times.clone())].into(),
        lag: [(Kind::All, times)].into(),
        unanswered: [(Kind::All, 2), (Kind::Set, 1), (Kind::Get, 1)].into(),
        under_way: UnderWay { in_flight: Some(3), ..UnderWay::default() },
        ..Interval::default()
    }
}

#[test]
fn a_second_is_a_row_per_kind_and_all_have_the_same_columns() {
    let rows = IntervalRow::of_interval(&second(), Some(4));
    let kinds: Vec<&str> = rows.iter().filter_map(|row| row.0["kind"].as_str()).collect();
    assert_eq!(kinds, ["all", "get", "set"]);
    let header = rows[0].csv_header();
    assert!(header.starts_with("step,start_s,length_s,kind,settled,"), "{header}");
    let order = ",response_max_ns,response_mean_at_least_ns,response_max_at_least_ns,service_mean";
    assert!(header.contains(order), "{header}");
    for row in &rows {
        assert_eq!(row.csv_header(), header);
        assert_eq!(row.to_csv().split(',').count(), header.split(',').count());
    }
    let [all, get, set] = &rows[..] else { panic!("{rows:?}") };
    assert!(all.to_csv().starts_with("4,2.0,1.0,all,12,"), "{}", all.to_csv());
    assert_eq!((all.0["lost"].as_u64(), all.0["in_flight"].as_u64()), (Some(2), Some(3)));
    assert!(set.0["lost"].is_null() && set.0["in_flight"].is_null());
    assert_eq!(get.0["measured_answered"], 0);
    assert!(get.0["response_mean_ns"].is_null() && get.0["response_p50_ns"].is_null());
    assert_eq!(set.0["measured_unanswered"], 1);
    let back: Value = serde_json::from_str(&all.to_json()).unwrap();
    assert_eq!((&back["lag_mean_ns"], &back["lag_max_ns"]), (&5_500.0.into(), &10_000.into()));
}

/// Issue 58, point 1: mean and maximum of a second were those of the answered operations, and so
/// were all figures of its service times.
#[test]
fn a_second_with_unanswered_operations_has_lower_bounds() {
    let times = |of: &Interval| {
        let mut of = of.clone();
        of.service = of.response.clone();
        IntervalRow::of_interval(&of, None).remove(0)
    };
    let row = times(&second());
    for part in ["response", "service"] {
        let cell = |figure: &str| row.0[&format!("{part}_{figure}_ns")].clone();
        assert!(cell("mean").is_null() && cell("max").is_null(), "{part}");
        assert_eq!((cell("mean_at_least"), cell("max_at_least")), (5_500.0.into(), 10_000.into()));
        assert_eq!(cell("min"), 1_000);
    }
    // Ten were answered: the fifth is the median, or the sixth if both others were sent.
    assert!(row.0["service_p50_ns"].is_null() && row.0["response_p50_ns"].as_u64() > Some(5_900));
    let row = times(&Interval { unanswered: BTreeMap::new(), ..second() });
    for part in ["response", "service"] {
        let cell = |figure: &str| row.0[&format!("{part}_{figure}_ns")].clone();
        assert_eq!((cell("mean"), cell("max")), (5_500.0.into(), 10_000.into()));
        assert!(cell("mean_at_least").is_null() && cell("max_at_least").is_null(), "{part}");
    }
    assert!(row.0["service_p50_ns"].as_u64() < Some(5_100));
}

#[test]
fn cells_are_what_their_columns_hold() {
    let columns = IntervalRow::columns();
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    let mut rows = IntervalRow::of_interval(&second(), Some(4));
    rows.extend(IntervalRow::of_interval(&Interval::default(), None));
    assert_eq!(names.join(","), rows[0].csv_header());
    for row in &rows {
        for (column, (name, cell)) in columns.iter().zip(row.cells()) {
            let fits = match column.cell {
                CellForm::Whole => cell.is_u64(),
                CellForm::Fraction => cell.is_f64(),
                CellForm::Word | CellForm::Bytes => cell.is_string(),
            };
            assert!(fits || (column.is_optional && cell.is_null()), "{name}: {cell}");
        }
    }
    let unit = |name: &str| columns.iter().find(|column| column.name == name).unwrap().unit;
    assert_eq!((unit("start_s"), unit("response_mean_ns")), (Some("s"), Some("ns")));
    assert_eq!((unit("server_cpu_user_us"), unit("bytes_sent")), (Some("us"), Some("bytes")));
    assert_eq!((unit("backlog"), unit("server_items"), unit("misses")), (None, None, None));
}

#[test]
fn a_second_of_a_record_has_the_same_columns_and_no_false_zero() {
    let kept = SecondRecord { response_p50_ns: Some(7), ..SecondRecord::default() };
    let row = IntervalRow::of_second(&kept, false);
    let live = IntervalRow::of_interval(&second(), None);
    assert_eq!(row.csv_header(), live[0].csv_header());
    assert_eq!(row.0["response_p50_ns"], 7);
    assert!(row.0["measured_answered"].is_null() && row.0["step"].is_null());
}

/// The rows of a run by agents whose master has a load of its own, and of one that lost an agent.
#[test]
fn rows_say_whose_load_they_hold_and_what_the_record_lacks() {
    let of_agents = Interval { is_of_agents: true, ..second() };
    for (interval, load) in [(&of_agents, Some("agents")), (&second(), None)] {
        let rows = IntervalRow::of_interval(interval, None);
        assert!(rows.iter().all(|row| row.0["load"].as_str() == load), "{rows:?}");
    }
    let seconds = vec![SecondRecord::default()];
    let own = Some(Box::new(Record::default()));
    let record = Record { own, seconds, ..Record::default() };
    assert_eq!(IntervalRow::of_record(&record)[0].0["load"], "agents");
    assert_eq!(IntervalRow::surplus(&record, None, Span::from_s(3)), None);
    let lost = Record { rows_without_record: Some(4_100), own: None, ..record };
    let row = IntervalRow::surplus(&lost, Some(2), Span::from_s(3)).unwrap();
    assert!(row.to_csv().starts_with("2,3.0,0.0,surplus,4100,,"), "{}", row.to_csv());
    assert_eq!(row.0.values().filter(|value| !value.is_null()).count(), 5);
    assert_eq!(row.csv_header(), IntervalRow::of_interval(&of_agents, None)[0].csv_header());
}

/// One of two servers is stopped for a second: what both hold is unknown then.
#[test]
fn a_sum_over_all_servers_needs_all_of_them() {
    let told = |items| ServerReport { answers: 1, items: Some(items), ..ServerReport::default() };
    let row = |other: ServerReport| {
        let reports = [("a".to_owned(), told(203_000)), ("b".to_owned(), other)];
        let second = Interval { reports: reports.into(), ..second() };
        IntervalRow::of_interval(&second, None).remove(0)
    };
    let both = row(told(204_000));
    assert_eq!(
        (&both.0["servers_answered"], &both.0["server_items"]),
        (&2.into(), &407_000.into())
    );
    assert_eq!(both.0["server_restarts"], 0);
    assert!(both.0["server_gets"].is_null(), "neither tells of its gets");
    let one = row(ServerReport::none());
    assert_eq!(one.0["servers_answered"], 1);
    assert!(one.0["server_items"].is_null() && one.0["server_restarts"].is_null());
    let none = IntervalRow::of_interval(&second(), None).remove(0);
    assert!(none.0["servers_answered"].is_null() && none.0["server_items"].is_null());
}
