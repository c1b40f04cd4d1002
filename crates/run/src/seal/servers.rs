//! A row of the record for each server: its operations, connections, outages and silences.

use super::silence::silence;
use super::{Began, NS_PER_MS};
use crate::run_plan::Ended;
use crate::survey::Survey;
use memtide_base::{Instant, Span};
use memtide_metrics::interval::ConnectionCounters;
use memtide_metrics::{Absence, Counters, Histogram, Lateness};
use memtide_record::{
    Distribution, Outage, Reconnects, Record, ServerRecord, ServerTotals, Totals,
};
use memtide_scenario::Kind;
use memtide_world::{Plan, ServerPlan};

/// A row for each server, named once or more. `record` has the figures of all servers together.
pub(super) fn servers(
    ended: &Ended,
    plan: &Plan,
    survey: &Survey,
    record: &Record,
    began: &Began,
) -> Vec<ServerRecord> {
    let rows = survey.servers(plan).map(|server| {
        let numbers = Numbers::of(server, plan, survey);
        row(server, &numbers, Run { ended, plan, began }, record)
    });
    rows.collect()
}

/// What a row is made from.
#[derive(Clone, Copy)]
struct Run<'a> {
    ended: &'a Ended,
    plan: &'a Plan,
    began: &'a Began,
}

/// The numbers in the plan of one server, which has one for each of its names.
struct Numbers(Vec<usize>);

impl Numbers {
    fn of(server: &ServerPlan, plan: &Plan, survey: &Survey) -> Self {
        let first = plan.servers.iter().position(|one| std::ptr::eq(one, server));
        let first = first.expect("it is one of the plan's");
        Self((0..plan.servers.len()).filter(|&other| survey.first(other) == first).collect())
    }

    fn contain(&self, number: usize) -> bool {
        self.0.contains(&number)
    }
}

fn row(server: &ServerPlan, numbers: &Numbers, run: Run<'_>, record: &Record) -> ServerRecord {
    let totals = &run.ended.totals;
    let answers = match run.plan.servers.len() {
        1 => Answers {
            counts: record.phases.measure.totals.clone(),
            response: record.response[&Kind::All].clone(),
        },
        _ => Answers::of(server, numbers, run),
    };
    let mut late = Lateness::default();
    numbers.0.iter().for_each(|&number| late += &totals.late[number]);
    let stopped = run.ended.workers.iter().map(|worker| worker.stopped_longest).max();
    ServerRecord {
        name: server.name.clone(),
        address: server.addresses.first().map(ToString::to_string),
        connections: connections(run.plan, numbers),
        totals: ServerTotals::of(answers.counts, &(&totals.no_server).into()),
        response: answers.response,
        late: Some((&late).into()),
        reconnects: reconnects(run.ended, numbers),
        outages: outages(run, numbers),
        silence: silence(
            totals,
            run.plan,
            |number| numbers.contain(number),
            &run.ended.window(run.plan),
            stopped.unwrap_or(Span::ZERO),
        ),
        ..ServerRecord::default()
    }
}

/// The measured operations of one server.
struct Answers {
    counts: Totals,
    response: Distribution,
}

impl Answers {
    /// Those of one of several servers.
    fn of(server: &ServerPlan, numbers: &Numbers, run: Run<'_>) -> Self {
        let totals = &run.ended.totals;
        let (mut counters, mut connections) = (Counters::default(), ConnectionCounters::default());
        let (mut times, mut bounds) = (Histogram::new(), Histogram::new());
        for &number in &numbers.0 {
            counters += &totals.servers[number];
            connections += &totals.connections[number];
            times.absorb(&totals.times.servers[number]);
            totals.times.server_bounds.get(number).iter().for_each(|more| bounds.absorb(more));
        }
        assert_eq!(times.count(), counters.answered, "times of server {}", server.name);
        let (unanswered, timeout) = (counters.unanswered(), run.plan.timeout);
        Self {
            counts: Totals { connections: (&connections).into(), ..(&counters).into() },
            response: Distribution::cut_off(&times, unanswered, timeout, &bounds),
        }
    }
}

/// Number of connections to a server, over all workers of this process.
fn connections(plan: &Plan, numbers: &Numbers) -> u32 {
    let of_workers = plan.own_workers().map(|worker| {
        let servers = (0..plan.connections_of(worker)).map(|nth| plan.server_of(worker, nth));
        servers.filter(|server| numbers.contain(server.index())).count() as u32
    });
    of_workers.sum()
}

/// How many lost connections were restored, and how long that took.
fn reconnects(ended: &Ended, numbers: &Numbers) -> Reconnects {
    let servers = ended.totals.absences.servers();
    let each = numbers.0.iter().filter_map(|&number| servers.get(number));
    each.fold(Reconnects::default(), |sum, of| Reconnects {
        lost: sum.lost + of.lost,
        reconnected: sum.reconnected + of.returned,
        disconnected_ns: sum.disconnected_ns + of.away_ns,
        disconnected_ns_max: sum.disconnected_ns_max.max(of.away_ns_max),
    })
}

/// When a server was away. Workers that lost it at the same time share one outage.
fn outages(run: Run<'_>, numbers: &Numbers) -> Vec<Outage> {
    let kept = run.ended.totals.absences.kept().iter();
    let of_server = kept.filter(|absence| numbers.contain(absence.server.index()));
    Outage::united(of_server.map(|absence| outage(absence, run.began)).collect())
}

fn outage(absence: &Absence, began: &Began) -> Outage {
    let is_over = absence.until != Instant::NEVER;
    Outage {
        from_unix_ms: began.unix_ns(absence.from) / NS_PER_MS,
        until_unix_ms: is_over.then(|| began.unix_ns(absence.until) / NS_PER_MS),
    }
}
