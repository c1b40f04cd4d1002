//! Hand-made records for the tests of this crate: plausible, and with something in every part.

use memtide_base::{SocketOptions, Span};
use memtide_record::Warning;
use memtide_record::*;
use memtide_scenario::{Kind, Scenario};
use memtide_scenario::{Protocol, Reconnect};

/// A distribution with these percentiles (p50, p90, p99, p99.9), as far as `count` allows.
pub(crate) fn distribution(count: u64, ns: [u64; 4]) -> Distribution {
    let mut distribution = Distribution {
        count,
        mean_ns: Some(ns[0] as f64 * 1.02),
        min_ns: Some(ns[0] / 2),
        max_ns: Some(ns[3] * 2),
        ..Distribution::default()
    };
    let shown = [
        (Percentile::P50, 6, ns[0]),
        (Percentile::P90, 36, ns[1]),
        (Percentile::P95, 73, ns[1] / 4 * 5),
        (Percentile::P99, 368, ns[2]),
        (Percentile::P999, 3_688, ns[3]),
        (Percentile::P9999, 36_887, ns[3] / 2 * 3),
    ];
    for (percentile, needed, ns) in shown {
        let too_few = Missing::TooFew { needed, has: count };
        distribution.set_percentile(percentile, if count < needed { Err(too_few) } else { Ok(ns) });
    }
    distribution
}

/// A distribution with `unanswered` operations that rank above p99.
pub(crate) fn with_unanswered(count: u64, unanswered: u64, ns: [u64; 4]) -> Distribution {
    let mut distribution = Distribution {
        unanswered,
        at_least_ns: Some(Span::from_s(5).ns()),
        ..distribution(count, ns)
    };
    for percentile in [Percentile::P99, Percentile::P999, Percentile::P9999] {
        distribution.set_percentile(percentile, Err(Missing::Unanswered));
    }
    distribution
}

fn plan() -> PlanRecord {
    let why = [
        ("threads", "half of 4 CPUs; the server is on this machine"),
        ("wait", "the server is on this machine"),
    ];
    PlanRecord {
        servers: vec![PlannedServer {
            name: "localhost:11211".to_owned(),
            addresses: vec!["127.0.0.1:11211".to_owned(), "[::1]:11211".to_owned()],
        }],
        rate_per_s: Some(2e4),
        arrival: "poisson".to_owned(),
        wave: "constant".to_owned(),
        schedule: "shared".to_owned(),
        on_full: "queue".to_owned(),
        duration_s: Some(10.0),
        warmup_s: 2.0,
        workers: 2,
        connections: 64,
        depth: 64,
        refill: None,
        wait: "sleep".to_owned(),
        io: "epoll".to_owned(),
        timeout_s: 5.0,
        cooldown: "load".to_owned(),
        load: "auto".to_owned(),
        keys: 100_000,
        key_size: "fixed:30".to_owned(),
        value_size: "fixed:200".to_owned(),
        popularity: "uniform".to_owned(),
        mix: "get=9,set=1".to_owned(),
        multiget: 1,
        seed: 1,
        why: why.map(|(field, why)| (field.to_owned(), why.to_owned())).into(),
        ..PlanRecord::default()
    }
}

/// An open loop on a quiet machine.
pub(crate) fn open() -> Record {
    let totals = Totals {
        intended: 200_031,
        sent: 200_031,
        answered: 200_031,
        keys: 180_012,
        hits: 179_912,
        misses: 100,
        bytes_sent: 12_840_000,
        bytes_received: 43_200_000,
        replies: [("values".to_owned(), 180_012), ("stored".to_owned(), 20_019)].into(),
        ..Totals::default()
    };
    let check = |code, result, message: &str| Check {
        code,
        result,
        message: message.to_owned(),
        measured: None,
        allowed: None,
    };
    Record {
        measured_s: 10.0,
        plan: plan(),
        machine: MachineRecord { memtide_version: "0.1.0".to_owned(), ..MachineRecord::default() },
        totals,
        servers: vec![ServerRecord::default()],
        believable: Believable::from_checks(vec![check(
            CheckKind::Rate,
            CheckResult::Passed,
            "20003/s of 20000/s",
        )]),
        rate: RateRecord {
            target_per_s: Some(2e4),
            achieved_per_s: 20_003.1,
            kinds_per_s: [(Kind::Get, 18_001.2), (Kind::Set, 2_001.9)].into(),
            keys_per_s: None,
        },
        response: [
            (Kind::All, distribution(200_031, [88_000, 121_000, 310_000, 890_500])),
            (Kind::Get, distribution(180_012, [87_800, 120_000, 305_000, 871_000])),
            (Kind::GetHit, distribution(179_912, [87_800, 120_000, 305_000, 871_000])),
            (Kind::GetMiss, distribution(100, [71_000, 99_000, 120_000, 130_000])),
            (Kind::Set, distribution(20_019, [91_000, 127_000, 322_000, 1_012_000])),
        ]
        .into(),
        service: [(Kind::All, distribution(200_031, [71_000, 94_000, 240_000, 700_000]))].into(),
        lag: [(Kind::All, distribution(200_031, [14_000, 31_000, 60_500, 120_000]))].into(),
        lag_split: LagSplit {
            generator: distribution(200_031, [14_000, 31_000, 60_000, 118_000]),
            client_busy: Distribution { count: 200_031, max_ns: Some(0), ..Default::default() },
            ..LagSplit::default()
        },
        client_delay: distribution(200_031, [900, 2_100, 9_300, 41_000]),
        client: ClientRecord {
            cpu_user_s: Some(1.24),
            cpu_system_s: Some(2.61),
            cpu_s_per_mops: Some(19.2),
            rss_max_bytes: Some(14_200_000),
            worker_busy: vec![0.21, 0.198],
        },
        machine_cpu: Some(MachineCpu {
            avg: 0.31,
            min: 0.12,
            max: 0.5,
            least_of_1s: Some(0.28),
            most_of_1s: Some(0.36),
            stolen: None,
        }),
        ..Record::default()
    }
}

/// An open loop with unusual settings.
pub(crate) fn unusual() -> Record {
    let open = open();
    Record {
        plan: PlanRecord {
            key_form: "decimal".to_owned(),
            multiget: 10,
            multiget_share: Some(0.25),
            pause_after_reply_s: 250e-6,
            interval_s: Some(1.0),
            interval_times: true,
            protocol: "binary".to_owned(),
            reconnect: "never".to_owned(),
            nagle: true,
            before: Some("start_trace".to_owned()),
            after: Some("stop_trace".to_owned()),
            decided: Scenario {
                multiget: 10,
                multiget_share: 0.25,
                pause_after_reply: Span::from_us(250),
                interval: Some(Span::from_s(1)),
                interval_times: true,
                protocol: Protocol::Binary,
                reconnect: Reconnect::Never,
                sockets: SocketOptions { nagle: true, ..SocketOptions::default() },
                before: Some("start_trace".to_owned()),
                after: Some("stop_trace".to_owned()),
                ..Scenario::default()
            }
            .spelled()
            .into_iter()
            .chain([("key-form".to_owned(), "decimal".to_owned())])
            .collect(),
            ..open.plan.clone()
        },
        ..open
    }
}

/// A closed loop with a saturated client.
pub(crate) fn closed() -> Record {
    let open = open();
    Record {
        loop_kind: LoopKind::Closed,
        plan: PlanRecord {
            loop_kind: LoopKind::Closed,
            rate_per_s: None,
            depth: 1,
            multiget: 10,
            cpus: vec![0, 1],
            ..open.plan.clone()
        },
        rate: RateRecord {
            target_per_s: None,
            achieved_per_s: 123_456.0,
            kinds_per_s: [(Kind::Get, 111_110.4), (Kind::Set, 12_345.6)].into(),
            keys_per_s: None,
        },
        believable: Believable::from_checks(vec![Check {
            code: CheckKind::WorkerBusy,
            result: CheckResult::Failed,
            message: "memtide is the limit: worker 0 was busy 98 % of the time".to_owned(),
            measured: Some(0.98),
            allowed: Some(0.7),
        }]),
        warnings: vec![(&Warning::ClientSaturated { worker: 0, busy: 0.98 }).into()],
        ..open
    }
}

/// A run in which every key was found, and which sent no set.
pub(crate) fn reads() -> Record {
    let mut record = open();
    record.response.insert(Kind::GetMiss, Distribution::default());
    record.response.insert(Kind::Set, distribution(0, [0; 4]));
    record
}

/// A run that was interrupted before its window began.
pub(crate) fn nothing() -> Record {
    let open = open();
    Record {
        partial: true,
        ended_by: EndedBy::Interrupted,
        measured_s: 0.0,
        plan: open.plan,
        machine: open.machine,
        ..Record::default()
    }
}

/// An interrupted run over two servers with many kinds of failures.
#[expect(clippy::too_many_lines, reason = "a record has many members")]
pub(crate) fn bad_day() -> Record {
    let open = open();
    let response = with_unanswered(40_000, 800, [88_000, 121_000, 0, 0]);
    let server = |name: &str, answered, response: &Distribution| ServerRecord {
        name: name.to_owned(),
        rate_per_s: answered as f64 / 2.0,
        totals: ServerTotals { answered, ..ServerTotals::default() },
        response: response.clone(),
        ..ServerRecord::default()
    };
    Record {
        partial: true,
        ended_by: EndedBy::Interrupted,
        measured_s: 2.0,
        totals: Totals {
            intended: 40_000,
            answered: 39_200,
            failed: 5,
            timed_out: 700,
            timed_out_queued: 612,
            lost: 64,
            abandoned: 31,
            late_replies: 7,
            connections: ConnectionCounts { opened: 32, failed: 9, lost: 32 },
            errors: [("closed".to_owned(), 64), ("server_error".to_owned(), 5)].into(),
            replies: [("stored".to_owned(), 300), ("not_stored".to_owned(), 12)].into(),
            ..Totals::default()
        },
        servers: vec![
            server(
                "10.0.0.1:11211",
                19_900,
                &distribution(19_900, [80_000, 110_000, 290_000, 760_000]),
            ),
            server("10.0.0.2:11211", 19_300, &response),
        ],
        rate: RateRecord {
            target_per_s: Some(2e4),
            achieved_per_s: 19_600.0,
            kinds_per_s: [(Kind::Get, 19_600.0)].into(),
            keys_per_s: None,
        },
        response: [(Kind::All, response.clone()), (Kind::Get, response)].into(),
        goals: vec![
            GoalRecord {
                goal: "get.p99<1ms".to_owned(),
                result: GoalResult::Missed,
                measured: None,
                why: "it falls among 800 operations that were not answered".to_owned(),
            },
            GoalRecord {
                goal: "rate>=10000".to_owned(),
                result: GoalResult::Met,
                measured: Some(19_600.0),
                why: "19 600/s".to_owned(),
            },
        ],
        believable: Believable::from_checks(vec![
            Check {
                code: CheckKind::Rate,
                result: CheckResult::Failed,
                message: "19 600/s were sent, 20 000/s were requested (−2.00 %)".to_owned(),
                measured: Some(-0.02),
                allowed: Some(0.005),
            },
            Check {
                code: CheckKind::ServerCounters,
                result: CheckResult::Skipped,
                message:
                    "764 operations got no reply, so it is unknown whether they reached the servers"
                        .to_owned(),
                measured: None,
                allowed: None,
            },
        ]),
        warnings: vec![
            (&Warning::ConnectionsLost { server: "10.0.0.2:11211".to_owned(), count: 32 }).into(),
            (&Warning::FewConnections {
                connections: 64,
                server_threads: 4,
                rate_per_s: 120_000.0,
            })
                .into(),
        ],
        ..open
    }
}

/// Connection churn that runs out of ports.
pub(crate) fn churn() -> Record {
    let mut record = open();
    record.plan.churn = Some(ChurnPlanRecord {
        connection_rate_per_s: Some(1e3),
        connection_arrival: Some("fixed".to_owned()),
        connections_total: Some(20_000),
        calls: 10,
        call_rate_per_s: Some(1e3),
        linger_s: Some(0.0),
    });
    record.plan.rate_per_s = None;
    record.plan.duration_s = None;
    record.plan.connections = 1_024;
    record.rate.target_per_s = None;
    let times = [88_000, 121_000, 310_000, 890_500];
    record.churn = Some(ChurnRecord {
        target_per_s: Some(999.1),
        started_per_s: 998.4,
        concurrent_max: 1_024,
        measure: ChurnCounts {
            intended: 20_000,
            started: 20_000,
            opened: 19_990,
            completed: 19_985,
            failed: 10,
            lost: 5,
            calls_not_made: 131,
            causes: [
                ("no_ports".to_owned(), 8),
                ("refused".to_owned(), 2),
                ("reset".to_owned(), 5),
            ]
            .into(),
            ..ChurnCounts::default()
        },
        connect: distribution(20_000, times),
        connect_service: distribution(19_990, [61_000, 80_000, 120_000, 310_000]),
        lifetime: distribution(19_990, [9_100_000, 9_200_000, 9_900_000, 14_000_000]),
        ..ChurnRecord::default()
    });
    record.warnings = vec![
        (&Warning::PortsExhausted { count: 8 }).into(),
        (&Warning::ConnectsFailed { count: 2, why: "refused 2".to_owned() }).into(),
    ];
    record
}
