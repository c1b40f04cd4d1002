//! The output of every format as files of bytes, and the properties of single figures.

use super::*;
use memtide_base::{Instant, Span};
use memtide_metrics::histogram::Histogram;
use memtide_record::sample::{Sample, SampleOutcome};
use memtide_record::{Counts, Distribution, MachineCpu, PlanRecord, Record, Totals, Wide};
use memtide_scenario::Kind;

/// Asserts that `text` equals the content of the file `name` of `format`.
fn expect(format: Format, name: &str, text: &str) {
    crate::tests::expect(&format!("mutilate/expect/{}/{name}", format.name()), text);
}

/// `count` times that grow from `least` to `most` ns, denser at the lower end.
fn times(count: u64, least: u64, most: u64) -> Histogram<u64> {
    let mut times = Histogram::new();
    for i in 0..count {
        let share = i as f64 / count as f64;
        times.record(least + ((most - least) as f64 * share.powi(8)) as u64);
    }
    times
}

/// A run with nine reads for each store.
fn material() -> Material {
    let mut outstanding = Histogram::new();
    (0..100_000u64).for_each(|i| outstanding.record(1 + i % 4));
    Material {
        reads: ScaledHistogram::times(times(90_000, 41_250, 1_812_000)),
        updates: ScaledHistogram::times(times(10_000, 43_120, 2_406_000)),
        outstanding: ScaledHistogram::counts(outstanding),
        gets: 90_000,
        sets: 10_000,
        misses: 1_234,
        skipped: 7,
        bytes_received: 22_672_000,
        bytes_sent: 5_990_000,
        measured_s: 5.004_321,
        connections: 8,
        started_unix_ms: 1_621_795_001_868,
        ended_unix_ms: 1_621_795_006_911,
        cpu: Some(Cpu { mean: 31.854, min: 30.306, max: 96.77 }),
        segments: Vec::new(),
    }
}

#[test]
fn the_report_of_a_run() {
    for format in Format::ALL {
        let formatter = Formatter { format, save: Some("samples.txt".to_owned()) };
        expect(format, "run.txt", &formatter.run(&material()));
    }
}

#[test]
fn the_report_of_a_run_without_operations() {
    for format in Format::ALL {
        expect(format, "empty.txt", &Formatter::new(format).run(&Material::default()));
    }
}

#[test]
fn totals_beyond_what_the_originals_could_hold() {
    let material = Material {
        gets: 5_000_000_001,
        sets: 1,
        bytes_received: 1_235_000_000_247,
        measured_s: 3600.0,
        ..material()
    };
    for format in Format::ALL {
        let text = Formatter::new(format).run(&material);
        assert!(text.contains("Total QPS = 1388888.9 (5000000002 / 3600.0s)"), "{text}");
        assert!(text.contains("RX 1235000000247 bytes :  327.2 MB/s\n"), "{text}");
    }
}

#[test]
fn a_scan() {
    for format in Format::ALL {
        let formatter = Formatter::new(format);
        let mut text = formatter.scan_header();
        for (target, s) in [(1000, 100.02), (20_000, 5.0), (110_000, 0.95)] {
            text += &formatter.scan_row(&Material { measured_s: s, ..material() }, target);
        }
        text += &formatter.scan_row(&Material::default(), 200_000);
        text += &formatter.scan_end(material().cpu.as_ref());
        expect(format, "scan.txt", &text);
    }
}

#[test]
fn a_search() {
    for format in Format::ALL {
        let lines = |order: &str| {
            let goal = SearchGoal { order: order.to_owned(), limit_us: 1000 };
            let trial = Trial {
                target_per_s: 35_582,
                rate_per_s: 35_570.812_345,
                measured_us: 312.402_311,
                low_per_s: 1,
                high_per_s: 71_164,
            };
            let peak = SearchStep::Peak { rate_per_s: 71_164.9, measured_us: 1210.44 };
            let steps =
                [SearchStep::Begin, peak, SearchStep::Bisected(trial), SearchStep::Lowered(trial)];
            steps.map(|step| search_line(format, &goal, &step)).concat()
        };
        expect(format, "search.stderr.txt", &(lines("95") + &lines("999") + &lines("avg")));
        expect(format, "search.txt", &Formatter::new(format).search(&material(), 71_164.92));
    }
}

#[test]
fn a_waveform() {
    let segment = |target_per_s, ops| Segment {
        reads: ScaledHistogram::times(times(ops, 41_250, 1_812_000)),
        ops,
        length_s: 10.0,
        target_per_s,
    };
    let material = Material {
        segments: vec![segment(5031, 50_205), segment(54_838, 549_068), segment(1000, 0)],
        ..material()
    };
    let waveform = Waveform { given: false, seeded: true, targets_per_s: vec![5031, 54_838, 1000] };
    for format in Format::ALL {
        let formatter = Formatter::new(format);
        let text = formatter.waveform_header(&waveform) + &formatter.waveform(&material);
        expect(format, "waveform.txt", &text);
    }
    let formatter = Formatter::new(Format::McperfDynamic);
    for (given, seeded, line) in [
        (true, false, "Supplied waveform"),
        (true, true, "Supplied waveform"),
        (false, false, "Random waveform, random seed"),
    ] {
        let text = formatter.waveform_header(&Waveform { given, seeded, targets_per_s: vec![] });
        let rest = "Total number of intervals = 0 ()\nAverage QPS expected = 0\n";
        assert_eq!(text, format!("{line}\n{rest}"));
    }
}

#[test]
fn figures_are_exact_where_they_can_be() {
    let mut values = Histogram::new();
    // Far from zero and close together: the squares of rounded numbers would cancel.
    [3_600_000_000_001u64, 3_600_000_000_003].iter().for_each(|&ns| values.record(ns));
    let figures = ScaledHistogram::times(values);
    assert_eq!(figures.deviation(), 0.001);
    assert_eq!(figures.minimum(), 3_600_000_000.001);
    assert_eq!(figures.mean(), 3_600_000_000.002);
    let mut one = Histogram::new();
    one.record(54_321);
    let figures = ScaledHistogram::times(one);
    for percent in [1.0, 50.0, 99.99] {
        assert_eq!(figures.percentile(percent), 54.321, "one sample is every percentile");
    }
    assert_eq!(figures.deviation(), 0.0);
}

#[test]
fn a_record_is_read_by_kind() {
    let distribution =
        |times: &Histogram<u64>, unanswered| Distribution::of(times, unanswered, Span::from_s(1));
    let mut outstanding = Histogram::new();
    outstanding.record(3);
    let mut record = Record {
        measured_s: 1.5,
        answered_until_s: Some(2.0),
        started_unix_ms: 5,
        ended_unix_ms: 9,
        plan: PlanRecord { connections: 12, ..PlanRecord::default() },
        totals: Totals { keys: 40, misses: 4, dropped: 2, ..Totals::default() },
        outstanding_at_send: Counts::of(&outstanding),
        machine_cpu: Some(MachineCpu {
            avg: 0.25,
            min: 0.0,
            max: 1.0,
            least_of_1s: Some(0.125),
            most_of_1s: Some(0.5),
            ..MachineCpu::default()
        }),
        ..Record::default()
    };
    for (kind, count) in
        [(Kind::Get, 30), (Kind::Gets, 10), (Kind::Set, 3), (Kind::Cas, 2), (Kind::Delete, 9)]
    {
        record.service.insert(kind, distribution(&times(count, 1000, 2000), 0));
        record.response.insert(kind, distribution(&times(count, 5000, 6000), 1));
    }
    record.response.insert(Kind::GetHit, distribution(&times(30, 5000, 6000), 0));
    for (times, least) in [(TimeBasis::Service, 1.0), (TimeBasis::Response, 5.0)] {
        let material = Material::of(&record, times, Whose::Process).unwrap();
        assert_eq!((material.reads.count(), material.updates.count()), (40, 5));
        assert_eq!((material.reads.minimum(), material.updates.minimum()), (least, least));
        assert_eq!((material.ops(), material.rate_per_s()), (45, 22.5));
        assert_eq!((material.misses, material.skipped, material.connections), (4, 2, 12));
        assert_eq!(material.outstanding.mean(), 3.0);
        assert_eq!(material.cpu, Some(Cpu { mean: 25.0, min: 12.5, max: 50.0 }));
        assert_eq!((material.started_unix_ms, material.ended_unix_ms), (5, 9));
    }
    // The load began with its warm-up, and ended with its last reply.
    record.window_start_unix_ns = Some(Wide(7_000_000_000));
    record.plan.warmup_s = 1.5;
    let loaded = Material::of(&record, TimeBasis::Service, Whose::Process).unwrap();
    assert_eq!((loaded.started_unix_ms, loaded.ended_unix_ms), (5_500, 9_000));
    let own = Record { answered_until_s: Some(3.0), ..record.clone() };
    let agents_clock_is_late = Some(Wide(107_000_000_000));
    let all = Record {
        own: Some(Box::new(own)),
        window_start_unix_ns: agents_clock_is_late,
        ..record.clone()
    };
    let both = Material::of(&all, TimeBasis::Service, Whose::Master).unwrap();
    assert_eq!(
        (both.started_unix_ms, both.ended_unix_ms),
        (5_500, 10_000),
        "by the master's clock"
    );
    record.answered_until_s = Some(0.5);
    assert_eq!(
        Material::of(&record, TimeBasis::Service, Whose::Process).unwrap().rate_per_s(),
        30.0
    );
    record.answered_until_s = None;
    assert_eq!(
        Material::of(&record, TimeBasis::Service, Whose::Process).unwrap().rate_per_s(),
        30.0
    );
    record.service.get_mut(&Kind::Get).unwrap().count += 1;
    let why = Material::of(&record, TimeBasis::Service, Whose::Process).unwrap_err();
    assert!(why.contains("of get "), "{why}");
}

#[test]
fn formats_have_words() {
    for format in Format::ALL {
        assert_eq!(format.name().parse(), Ok(format));
    }
    let why = "mcperf-0.3".parse::<Format>().unwrap_err();
    assert!(why.contains("mutilate, mutilate-2012, mcperf, mcperf-dynamic"), "{why}");
}

#[test]
fn samples_are_saved_in_columns() {
    let sample = Sample {
        begun: Instant::ZERO,
        index: 0,
        key: b"k".to_vec(),
        size: None,
        intended: Instant::from_ns(1),
        sent: Some(Instant::from_ns(12_345_678_901)),
        received: Some(Instant::from_ns(12_345_778_912)),
        kind: Kind::Get,
        outcome: SampleOutcome::Miss,
        bytes: 5,
        connection: Some(0),
    };
    let reads = |sample: &Sample| sample_line(sample, SavedOperations::Reads);
    let all = |sample: &Sample| sample_line(sample, SavedOperations::All);
    assert_eq!(reads(&sample).unwrap(), "12.345679 100.011000\n");
    assert_eq!(all(&sample).unwrap(), "12.345679 100.011000 get\n");
    let store = Sample { kind: Kind::Set, outcome: SampleOutcome::Answered, ..sample.clone() };
    assert_eq!(reads(&store), None);
    assert_eq!(all(&store).unwrap(), "12.345679 100.011000 set\n");
    let refused = Sample { outcome: SampleOutcome::Failed, ..store };
    assert_eq!(all(&refused), all(&Sample { outcome: SampleOutcome::Answered, ..refused.clone() }));
    for lost in [
        Sample { received: None, outcome: SampleOutcome::Failed, ..sample.clone() },
        Sample { received: None, outcome: SampleOutcome::TimedOut, ..sample.clone() },
        Sample { sent: None, received: None, outcome: SampleOutcome::Dropped, ..sample.clone() },
    ] {
        assert_eq!((reads(&lost), all(&lost)), (None, None));
    }
}

#[test]
fn a_histogram_is_written_as_gnuplot_users_had_it() {
    let mut times = Histogram::new();
    (0..1500).for_each(|_| times.record(1_050));
    times.record(1_300);
    assert_eq!(
        histogram_csv(&times, 12_345.678),
        "\
# Latency Histogram (Total=1K QPS=12.345678K)
1.000000000000000021e-03, 1.500000000000000000e+03
1.080000000000000014e-03, 0.000000000000000000e+00
1.166400000000000162e-03, 0.000000000000000000e+00
1.259712000000000071e-03, 1.000000000000000000e+00
1.360488960000000259e-03, 0.000000000000000000e+00
"
    );
    assert_eq!(
        histogram_csv(&Histogram::new(), 0.0),
        "# Latency Histogram (Total=0K QPS=0.000000K)\n"
    );
    assert_eq!(histogram_name("read", 7, "csv"), "histogram_read_07.csv");
    let mut longest = Histogram::new();
    [1u64, 3_600_000_000_000].iter().for_each(|&ns| longest.record(ns));
    let text = histogram_csv(&longest, 1.0);
    let last = text.lines().nth_back(1).unwrap();
    assert!(last.ends_with("e+06, 1.000000000000000000e+00"), "{last}");
    assert_eq!(text.lines().count() - 1, 287);
}
