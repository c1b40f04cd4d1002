//! Every warning has its own code, its figures in its sentence, and a remedy.

use super::*;
use crate::pages::expect_document;
use crate::prose::flaw;
use crate::record::{CheckKind, LoopKind, Record};
use std::collections::BTreeSet;

#[expect(clippy::too_many_lines, reason = "a list")]
fn every_warning() -> Vec<Warning> {
    let server = || "10.0.0.1:11211".to_owned();
    vec![
        Warning::GeneratorLate {
            percentile: Percentile::P99,
            seen_ns: 596_000,
            ideal_ns: 273_000,
            cause: LateCause::Wake,
        },
        Warning::CpuTaken {
            worker: 2,
            share: 0.31,
            by: Some(ProgramCpu {
                name: "yes".to_owned(),
                id: 77,
                cpus: 0.98,
                ..ProgramCpu::default()
            }),
            by_server: false,
        },
        Warning::ServerCpuTaken {
            server: None,
            share: 0.42,
            by: ProgramCpu { name: "sh".to_owned(), id: 78, cpus: 0.97, ..ProgramCpu::default() },
        },
        Warning::CpuThrottled { share: 0.4 },
        Warning::ClientSaturated { worker: 1, busy: 0.87 },
        Warning::TooFewSamples {
            kind: Kind::Set,
            percentile: Percentile::P999,
            needed: 3688,
            has: 1010,
        },
        Warning::FileLimit { needed: 4100, allowed: 1024 },
        Warning::Evictions { server: server(), count: 77, own: None },
        Warning::FewConnections { connections: 64, server_threads: 4, rate_per_s: 2e5 },
        Warning::UnsteadyWarmup { length_s: 3.0 },
        Warning::Imprecise { asked: "p99 5%".to_owned(), half_width: Some(0.08), length_s: 300.0 },
        Warning::TooManyConnections { server: server(), refused: 3 },
        Warning::SampleOverflow { lost: 12 },
        Warning::OtherClients { server: server(), commands: 42 },
        Warning::StatsUnavailable { server: server(), why: "it did not answer".to_owned() },
        Warning::ConnectionsLost { server: server(), count: 16 },
        Warning::Upset(Upset::Gone {
            server: server(),
            when: vec![range(-0.5, Some(1.0)), range(3.0, None)],
            is_lost: true,
        }),
        Warning::Upset(Upset::Silent {
            server: server(),
            silent_s: 6.0,
            measured_s: 12.0,
            when: vec![range(3.0, Some(9.0))],
            rhythm: None,
        }),
        Warning::Upset(Upset::Restarted { server: server() }),
        Warning::Upset(Upset::Flushed { server: server(), count: 2 }),
        Warning::Upset(Upset::HitRatio { keys: 1000, hits: 400, held: Some(1.0), of_share: false }),
        Warning::DescriptorsExhausted { count: 5 },
        Warning::PortsExhausted { count: 9 },
        Warning::ConnectsFailed { count: 3, why: "refused 3".to_owned() },
        Warning::OutputFailed { output: "r.json".to_owned(), why: "the disk is full".to_owned() },
        Warning::HistogramSaturated { count: 2 },
        Warning::TlsUnchecked,
        Warning::Shortfall(Shortfall::LoadPartial { sampled: 1000, missing: 120 }),
        Warning::Shortfall(Shortfall::ValuesResized {
            server: server(),
            values: "fixed:2048".to_owned(),
            resized: 998,
            found: 999,
            mean: 200.0,
        }),
        Warning::LineRefused {
            server: server(),
            line: "start_trace".to_owned(),
            why: "answered 'ERROR'".to_owned(),
        },
        Warning::ServersDiffer { runs: 8, servers: 9 },
        Warning::RowsWithoutRecord { agents: "agent a2".to_owned(), operations: 4_100 },
        Warning::SharedCpu { cpus: 1.5 },
        Warning::CpuStolen { share: 0.27 },
    ]
}

#[test]
fn codes_are_unique_words() {
    let warnings = every_warning();
    let codes: BTreeSet<&str> = warnings.iter().map(Warning::code).collect();
    assert_eq!(codes.len(), warnings.len());
    assert!(codes.iter().all(|code| code.chars().all(|c| c.is_ascii_lowercase() || c == '_')));
}

/// `docs/warnings.md`, from the table of codes.
fn page_of_codes() -> String {
    let table = |is_check| {
        let rows = code_entries().into_iter().filter(|entry| entry.is_check == is_check);
        let rows = rows.map(|CodeEntry { code, meaning, remedy, .. }| {
            format!("| `{code}` | {meaning} | {remedy} |\n")
        });
        rows.collect::<String>()
    };
    include_str!("page.txt")
        .replace("{warnings}\n", &table(false))
        .replace("{checks}\n", &table(true))
}

#[test]
fn the_page_explains_every_code_of_warnings_and_checks() {
    expect_document("warnings.md", &page_of_codes());
}

#[test]
fn every_code_has_a_meaning_and_a_remedy() {
    let entries = code_entries();
    let codes: BTreeSet<&str> = entries.iter().map(|entry| entry.code).collect();
    assert_eq!(codes.len(), entries.len());
    for CodeEntry { code, meaning, remedy, .. } in entries {
        assert!(meaning.ends_with('.') && flaw(&format!("{remedy}.")).is_none(), "{code}");
        assert!(remedy.starts_with(|c: char| c.is_ascii_lowercase()), "{code}: {remedy}");
    }
    for kind in CheckKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.code());
    }
}

#[test]
fn sentences_join_their_remedies() {
    for warning in every_warning() {
        let record = WarningRecord::from(&warning);
        assert_eq!(flaw(&format!("{}; {}", record.message, record.remedy)), None);
        for part in [&record.message, &record.remedy] {
            assert!(!part.ends_with('.') && part.len() > 20, "{part}");
        }
        assert!(record.remedy.starts_with(|c: char| c.is_ascii_lowercase()), "{}", record.remedy);
    }
}

#[test]
fn figures_are_in_the_sentence() {
    let sentences: Vec<String> = every_warning().iter().map(Warning::message).collect();
    assert_eq!(
        sentences[0],
        "memtide itself sent late: p99 is 596 µs; without memtide's own delay it may have \
         been as little as 273 µs"
    );
    assert_eq!(
        sentences[2],
        "the embedded server waited 42 % of the time for a CPU that other threads used; the \
         busiest other program was 'sh' (process 78, 0.97 CPUs)"
    );
    assert_eq!(sentences[5], "too few operations for p99.9 of set: 3688 needed, 1010 measured");
    // An agent was lost while it filled its half: what the other one knows of is its own half.
    let half = Upset::HitRatio { keys: 400, hits: 202, held: Some(1.0), of_share: true };
    assert_eq!(
        Warning::Upset(half).message(),
        "202 of 400 keys were found (50.5 %), but the servers held 100 % of this share's own keys \
         when the load started"
    );
    let hits = Warning::Upset(Upset::HitRatio {
        keys: 1000,
        hits: 402,
        held: Some(0.9995),
        of_share: false,
    });
    assert_eq!(
        hits.message(),
        "402 of 1000 keys were found (40.2 %), but the servers held 99.95 % of the keys when the \
         load started"
    );
    let gone = Warning::Upset(Upset::Gone {
        server: "a:1".to_owned(),
        when: vec![
            range(-0.5, Some(1.0)),
            range(2.0, Some(2.25)),
            range(3.0, Some(4.0)),
            range(5.0, None),
        ],
        is_lost: false,
    });
    assert_eq!(
        gone.message(),
        "a:1 was gone from −500 ms to 1 s, from 2 s to 2.25 s, from 3 s to 4 s and 1 more"
    );
    assert!(sentences[8].starts_with("64 connections for 4 server threads at 200 000/s"));
}

/// A run with this field, what its remedies must not name, and what they must.
struct Fitting {
    field: [&'static str; 2],
    loop_kind: LoopKind,
    absent: &'static [&'static str],
    present: &'static str,
}

impl Fitting {
    const fn new(
        field: [&'static str; 2],
        loop_kind: LoopKind,
        absent: &'static [&'static str],
        present: &'static str,
    ) -> Self {
        Self { field, loop_kind, absent, present }
    }
}

/// A remedy named a flag that the run's own scenario refuses, or that it has no use for.
#[test]
fn remedies_fit_the_settings_of_the_run() {
    use LoopKind::{Closed, Open};
    for Fitting { field: [name, word], loop_kind, absent, present } in [
        Fitting::new(["precision", "p99 5%"], Open, &["--duration"], "--at-most"),
        Fitting::new(["ops-max", "1M"], Open, &["--duration"], "--ops-max"),
        Fitting::new(["wave", "step:1,2@1s"], Open, &["--rate"], "rates in --wave"),
        Fitting::new(["rate", "0"], Closed, &["--rate"], "--threads"),
        Fitting::new(["clients", "8"], Closed, &["--connections", "--rate"], "--clients"),
        Fitting::new(["load", "always"], Open, &["--load always"], "--duration"),
    ] {
        let scenario = [(name.to_owned(), word.into())].into_iter().collect();
        let record = Record { scenario, loop_kind, ..Record::default() };
        let means = Means::of(&record);
        let remedies: Vec<String> =
            every_warning().iter().map(|it| it.to_record(&means).remedy).collect();
        let said = |word: &str| remedies.iter().any(|remedy| remedy.contains(word));
        assert!(!absent.iter().any(|word| said(word)), "{name} {word}: {remedies:#?}");
        assert!(said(present), "{name} {word}: {remedies:#?}");
    }
}

fn range(from_s: f64, until_s: Option<f64>) -> TimeRange {
    TimeRange { from_s, until_s }
}
