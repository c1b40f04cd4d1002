//! Makes the record of a run from everything that was observed.

mod churn;
mod servers;
mod silence;
mod slicing;
mod upsets;

use crate::doctor::{self, Errors, Findings};
use crate::fill::Filled;
use crate::lower::Lowered;
use crate::observer::Observer;
use crate::run_plan::{
    Ended, Loss, Seconds, keys_sent, kinds, merged, sent_unanswered, unanswered,
};
use crate::share::{NotRun, Share};
use crate::survey::{ServerCommands, Survey, whole};
use memtide_base::{Instant, Span};
use memtide_belief::own;
use memtide_metrics::{
    Counters, ErrorClass, Histogram, Mismatch, Mismatches, Row, TallySum, Times,
};
use memtide_record::warning::warning_order;
use memtide_record::{
    Agreement, Believable, ClientRecord, Counts, Distribution, EndedBy, FloorRecord,
    IntervalRecord, ItemFigures, LagSplit, Lanes, LoopKind, Means, MessageSizes, Phases,
    RateRecord, Record, ServerCounters, ShareRecord, ShareStart, SliceRecord, WarmupEnd, Warning,
    Wide, WrongValue, WrongValues, per_second,
};
use memtide_scenario::{Kind, Scenario};
use memtide_world::fleet::{CpuTime, WorkerReport};
use memtide_world::plan::segment;
use memtide_world::{Pacing, Plan, RateUnit};
use std::collections::BTreeMap;

pub(crate) use churn::none_opened;

const NS_PER_MS: u64 = 1_000_000;

/// Input of a record.
pub(crate) struct Material<'a, W> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) lowered: &'a Lowered,
    pub(crate) filled: &'a Filled,
    /// The load; none if the servers were only filled.
    pub(crate) main: Option<&'a Ended>,
    pub(crate) seconds: &'a Seconds,
    pub(crate) survey: &'a Survey,
    pub(crate) commands: &'a ServerCommands,
    pub(crate) agreement: Agreement,
    /// What memtide, the kernel and the way to the server contribute; none if that is not known.
    pub(crate) floor: Option<FloorRecord>,
    pub(crate) interrupted: bool,
    /// Method by which the shares of the run agreed on the beginning of their load.
    pub(crate) start: ShareStart,
    pub(crate) began: Began,
    /// End of the run, by the time of day.
    pub(crate) ended_unix_ns: u64,
    pub(crate) observer: &'a W,
}

/// Beginning of a run, by its own clock and by the time of day.
#[derive(Clone, Copy)]
pub(crate) struct Began {
    pub(crate) at: Instant,
    pub(crate) unix_ns: u64,
}

impl Began {
    /// Time of day, in ns since 1970, at `instant` of the run.
    pub(crate) fn unix_ns(&self, instant: Instant) -> u64 {
        self.unix_ns.saturating_add(instant.since(self.at).ns())
    }
}

/// Makes the record, and the warnings that it contains.
pub(crate) fn seal<W: Observer>(material: Material<'_, W>) -> (Record, Vec<Warning>) {
    let Material { scenario, lowered, filled, survey, observer, .. } = material;
    let mut record = Record {
        loop_kind: lowered.record.loop_kind,
        scenario: scenario.words(),
        tags: lowered.tags.clone(),
        lanes: Some(lanes(&lowered.plan)),
        plan: lowered.record.clone(),
        machine: observer.machine(),
        started_unix_ms: material.began.unix_ns / NS_PER_MS,
        ended_unix_ms: material.ended_unix_ns / NS_PER_MS,
        server: ServerCounters {
            expected: survey.expected.clone(),
            ..ServerCounters::new(survey.before.clone(), survey.after.clone())
        },
        machine_cpu: observer.machine_cpu(),
        partial: material.interrupted,
        ended_by: if material.interrupted { EndedBy::Interrupted } else { EndedBy::Duration },
        ..Record::default()
    };
    record.seconds = material.seconds.records();
    record.server.during = material.seconds.timeline.loads();
    record.phases.load = (&filled.counters).into();
    let refusal = filled.refusal.or_else(|| material.main.and_then(Ended::refusal));
    record.refusal = refusal.map(|refusal| refusal.to_string());
    record.client.rss_max_bytes = observer.rss_max_bytes();
    let mut warnings = filled.warnings.clone();
    warnings.extend(lowered.document.tls.insecure.then_some(Warning::TlsUnchecked));
    let not_run = not_run(&material);
    record.share = share(lowered, material.start, not_run.as_ref());
    if not_run.is_some() {
        record = unrun(record);
    } else if let Some(ended) = material.main {
        measured(&mut record, ended, &lowered.plan, survey, &material.began);
        let scheduled = record.loop_kind == LoopKind::Open && record.churn.is_none();
        record.planned = scheduled.then_some(record.totals.intended);
        let floor = material.floor.clone().zip(record.response.get(&Kind::All));
        record.floor = floor.map(|(floor, times)| floor.beside(times));
        record.clock = observer.clock(ended.window(&lowered.plan).start);
        record.settle_precision();
        judge(&mut record, ended, &material, &mut warnings);
    }
    record.exit = record.exit_code();
    warnings.extend(doctor::stolen(record.machine_cpu.as_ref()));
    warnings.extend(doctor::throttled(record.machine_cpu.as_ref()));
    warnings.extend(material.commands.warnings.iter().cloned());
    warnings.extend(server_warnings(&record, &material));
    warnings.sort_by_key(|warning| warning_order(warning.kind().code()));
    let means = Means::of(&record);
    record.warnings = warnings.iter().map(|warning| warning.to_record(&means)).collect();
    assert_eq!(record.warnings.len(), warnings.len(), "a warning is a value in the record");
    if let Err(why) = record.check_conservation() {
        panic!("operations must end exactly once, but in {why}");
    }
    if let Err(why) = record.check_servers() {
        panic!("{why}");
    }
    (record, warnings)
}

fn lanes(plan: &Plan) -> Lanes {
    let own = plan.own_workers();
    let (first, count) = (u32::from(own.start), own.len() as u32);
    Lanes { first, count, total: u32::from(plan.workers) }
}

/// The share of its run, if the run is divided.
fn share(lowered: &Lowered, start: ShareStart, not_run: Option<&NotRun>) -> Option<ShareRecord> {
    let Share { number, of, units } = lowered.share?;
    Some(ShareRecord {
        number,
        of,
        units,
        scenario_digest: memtide_scenario::scenario_digest(&lowered.document),
        start,
        not_run: not_run.map(|NotRun(why)| why.clone()),
        agent: None,
    })
}

/// Reason why a share made no load, if its load never began.
fn not_run<W>(material: &Material<'_, W>) -> Option<NotRun> {
    let Material { lowered, main, interrupted, .. } = material;
    let never_began = main.is_none_or(|ended| ended.stopped < ended.start);
    let before = *interrupted && never_began && lowered.share.is_some();
    let interrupted = before.then_some("it was interrupted before its load began");
    main.and_then(|ended| ended.not_run.clone())
        .or_else(|| interrupted.map(|why| NotRun(why.to_owned())))
}

/// The record of a share that made no load. Its process did what it should: the exit code is 0, so
/// that no scheduler starts it again or ends the others.
fn unrun(record: Record) -> Record {
    Record { partial: true, ended_by: EndedBy::NotRun, ..record }
}

/// The record of a share that makes no load, before anything is sent.
pub fn record_not_run(scenario: &Scenario, lowered: &Lowered, why: &NotRun, now: Span) -> Record {
    let unix_ms = now.ns() / NS_PER_MS;
    unrun(Record {
        loop_kind: lowered.record.loop_kind,
        scenario: scenario.words(),
        tags: lowered.tags.clone(),
        lanes: Some(lanes(&lowered.plan)),
        share: share(lowered, ShareStart::WhenReady, Some(why)),
        plan: lowered.record.clone(),
        started_unix_ms: unix_ms,
        ended_unix_ms: unix_ms,
        ..Record::default()
    })
}

/// The figures so far of a load that has not `ended`.
pub(crate) fn so_far(
    ended: &Ended,
    plan: &Plan,
    lowered: &Lowered,
    scenario: &Scenario,
    start: ShareStart,
    survey: &Survey,
    began: &Began,
) -> Record {
    let mut record = Record {
        loop_kind: lowered.record.loop_kind,
        scenario: scenario.words(),
        lanes: Some(lanes(&lowered.plan)),
        share: share(lowered, start, None),
        plan: lowered.record.clone(),
        started_unix_ms: began.unix_ns / NS_PER_MS,
        ..Record::default()
    };
    measured(&mut record, ended, plan, survey, began);
    // What is in flight belongs to no record yet.
    let Phases { warmup, measure, cooldown, .. } = &mut record.phases;
    let segments = [segment::WARMUP, segment::MEASURE, segment::COOLDOWN].map(usize::from);
    for (phase, segment) in [warmup, measure, cooldown].into_iter().zip(segments) {
        phase.totals.intended = ended.totals.segments[segment].settled();
    }
    record.totals = record.phases.measure.totals.clone();
    record
}

/// Sets the figures of the measured window.
fn measured(record: &mut Record, ended: &Ended, plan: &Plan, survey: &Survey, began: &Began) {
    let totals = &ended.totals;
    let window = ended.window(plan);
    let length = window.end.since(window.start);
    record.window_start_unix_ns = Some(Wide(u128::from(began.unix_ns(window.start))));
    record.window_ns = length.ns();
    record.answered_until_s = ended.answered_until(plan).map(Span::as_s_f64);
    if let Some(loss) = ended.loss {
        record.partial = true;
        record.ended_by = match loss {
            Loss::Servers | Loss::Silence | Loss::Unserved => EndedBy::ServersLost,
            Loss::Connection => EndedBy::ConnectionLost,
        };
    } else if let Some(aborted) = &ended.aborted {
        record.partial = true;
        record.ended_by = EndedBy::Aborted;
        record.aborted = Some(aborted.clone());
    } else if ended.is_counted_out() && !ended.interrupted {
        record.ended_by = EndedBy::Operations;
    }
    let [warmup, measure, cooldown] = [segment::WARMUP, segment::MEASURE, segment::COOLDOWN]
        .map(|segment| (&totals.segments[usize::from(segment)]).into());
    record.phases = Phases { load: record.phases.load.clone(), warmup, measure, cooldown };
    record.phases.measure.totals.connections = (&totals.all_connections()).into();
    set_times(record, ended, plan);
    record.lag_split = lag_split(totals, plan);
    record.client_delay = Distribution::of(&totals.times.client_delay, 0, plan.timeout);
    record.in_flight_at_send = Counts::of(&totals.times.in_flight_at_send);
    record.outstanding_at_send = Counts::of(&totals.outstanding());
    record.message_sizes = message_sizes(&totals.times);
    record.items = item_figures(&totals.times);
    record.intervals = intervals(totals, length);
    record.slices = slices(totals, length);
    record.slicing = Some(slicing::slicing(totals, plan, survey, length));
    for kind in plan.source.mix.kinds() {
        record.sent_in_window.insert(kind.into(), totals.sent_in_window[kind.index()]);
        let copies = totals.copies_in_window[kind.index()];
        if copies > 0 {
            record.copies_in_window.insert(kind.into(), copies);
        }
    }
    // After a window that was cut off, answers still count as within it.
    let is_whole = ended.is_counted_out() || window.end == plan.window.measure_end(ended.start);
    record.answered_in_window = is_whole.then_some(totals.answered_in_window);
    record.rate = RateRecord {
        target_per_s: target(plan, ended),
        answered_per_s: record.answered_per_s(length),
        keys_per_s: (plan.unit == RateUnit::Keys).then(|| keys_per_s(record, ended.measured())),
        ..RateRecord::of(&record.sent_once(), |count| per_second(count, length))
    };
    record.servers = servers::servers(ended, plan, survey, record, began);
    record.churn = churn::record(ended, plan, &record.phases);
    record.client = client(ended, plan, length, record.client.rss_max_bytes);
    record.derive();
}

/// Sets the times of each kind of operation.
fn set_times(record: &mut Record, ended: &Ended, plan: &Plan) {
    let (times, measured, at_least) = (&ended.totals.times, ended.measured(), plan.timeout);
    for kind in kinds(plan) {
        let unanswered = unanswered(measured, kind);
        let response = merged(&times.response, kind, plan);
        let bounds = merged(&times.bounds, kind, plan);
        let ranked = Distribution::cut_off(&response, unanswered, at_least, &bounds);
        record.response.insert(kind, ranked);
        let punctual = merged(&times.punctual, kind, plan);
        if punctual.count() > 0 {
            let drawn = merged(&times.drawn, kind, plan);
            record.drawn.insert(kind, Distribution::of(&drawn, 0, Span::ZERO));
            record.punctual.insert(kind, Distribution::of(&punctual, 0, Span::ZERO));
        }
        if !matches!(kind, Kind::GetHit | Kind::GetMiss) {
            let service = merged(&times.service, kind, plan);
            let lost = sent_unanswered(measured, kind);
            record.service.insert(kind, Distribution::of(&service, lost, Span::ZERO));
            let lag = merged(&times.lag, kind, plan);
            assert_times(measured, kind, [&response, &service, &lag].map(Histogram::count));
            record.lag.insert(kind, Distribution::of(&lag, 0, at_least));
        }
    }
}

/// Asserts that each answered operation of a kind has a response and a service time, and each one
/// that was sent a lag.
fn assert_times(measured: &Counters, kind: Kind, times: [u64; 3]) {
    let (answered, sent) = match kind.op() {
        Some(op) => (measured.kinds[op.index()].answered, measured.kinds[op.index()].sent),
        None => (measured.answered, measured.sent),
    };
    assert_eq!(times, [answered, answered, sent], "times of {kind}: response, service, lag");
}

/// Keys sent per second of the window; an operation without keys counts as one. Operations sent in
/// the window are assumed to have the mean number of keys of measured operations, whose keys are
/// counted.
fn keys_per_s(record: &Record, measured: &Counters) -> f64 {
    let each = keys_sent(measured) as f64 / measured.sent.max(1) as f64;
    let sent: u64 = record.sent_in_window.values().sum();
    let copies = sent - record.sent_once().values().sum::<u64>();
    let length = Span::from_ns(record.window_ns);
    // A copy of a write has one key.
    per_second(sent, length) * each - per_second(copies, length)
}

/// Sets verdict, goals and warnings.
fn judge<W: Observer>(
    record: &mut Record,
    ended: &Ended,
    material: &Material<'_, W>,
    warnings: &mut Vec<Warning>,
) {
    let plan = &material.lowered.plan;
    let totals = &ended.totals;
    let measured = ended.measured();
    let times = &totals.times;
    let [response, drawn, punctual] = [&times.response, &times.drawn, &times.punctual]
        .map(|times| merged(times, Kind::All, plan));
    let punctual = own::punctual(&response, Some(&drawn), &punctual);
    let workers = &ended.workers;
    let length_s = record.measured_s;
    let machine = record.machine_cpu.as_ref();
    let throttled = machine.and_then(|cpu| cpu.throttled);
    let kept: Vec<f64> =
        workers.iter().map(|worker| doctor::taken_share(worker, throttled, length_s)).collect();
    let still: Vec<f64> =
        workers.iter().map(|worker| doctor::still_share(plan, worker, length_s)).collect();
    let stopped = workers.iter().map(|worker| worker.stopped).max().unwrap_or(Span::ZERO);
    let longest = workers.iter().map(|worker| worker.stopped_longest).max().unwrap_or(Span::ZERO);
    let findings = Findings {
        plan,
        measured_s: length_s,
        target: record.target(),
        sent: record.achieved(),
        connections: churn::kept_up(ended, plan),
        none_opened: none_opened(ended),
        is_aborted: ended.aborted.is_some(),
        errors: Errors {
            operations: measured,
            connections: totals.churn.as_deref().map(churn::measured),
            allowed: material.scenario.errors_allowed(),
            gone: &upsets::gone(record),
            missed: upsets::missed(record),
            several_servers: record.servers.len() > 1,
            refusal: ended.refusal(),
            servers_lost: matches!(ended.loss, Some(Loss::Servers | Loss::Silence)),
        },
        response: (&response, measured.unanswered()),
        punctual: &punctual,
        kept: &kept,
        still: &still,
        stopped: (stopped.as_s_f64() / length_s.max(f64::MIN_POSITIVE), longest),
        busy: &record.client.worker_busy,
        stolen: machine.and_then(|cpu| cpu.stolen),
        throttled,
        worker_cpus: &material.lowered.placement.workers,
        beside: machine.and_then(|cpu| cpu.beside.as_ref()),
        server: machine.and_then(|cpu| cpu.server.as_ref()),
        shared_cpus: material.lowered.placement.shared,
        agreement: &material.agreement,
    };
    let mut checks = doctor::examine(&findings);
    checks.extend(doctor::is_closed(&findings).then(|| record.silence_check()).flatten());
    warnings.extend(doctor::warnings(&findings, &checks));
    warnings.extend(measurement_warnings(record, ended, material));
    record.believable = Believable::from_checks(checks);
    record.goals = memtide_record::judge(&material.scenario.goals, record);
}

/// Service times of the operations answered so far, for every row of the plan's tables but all.
pub(crate) fn service_so_far(totals: &TallySum, plan: &Plan) -> BTreeMap<Kind, Histogram<u64>> {
    let rows = kinds(plan).into_iter().filter(|&kind| kind != Kind::All);
    rows.map(|kind| (kind, merged(&totals.times.service, kind, plan))).collect()
}

fn message_sizes(times: &Times<Histogram<u64>>) -> Option<MessageSizes> {
    let (requests, replies) = (times.request_bytes.as_ref()?, times.reply_bytes.as_ref()?);
    Some(MessageSizes { requests: Counts::of(requests), replies: Counts::of(replies) })
}

fn item_figures(times: &Times<Histogram<u64>>) -> Option<ItemFigures> {
    Some(ItemFigures {
        age_s: Counts::of(times.item_age_s.as_ref()?),
        ttl_s: Counts::of(times.item_ttl_s.as_ref()?),
        never_expires: Counts::of(times.item_endless.as_ref()?),
        read_before: Counts::of(times.item_read.as_ref()?),
    })
}

/// The lag by cause. Operations that never waited are recorded in memtide's own delay only; they
/// count as zeros in the other parts.
fn lag_split(totals: &TallySum, plan: &Plan) -> LagSplit {
    let times = &totals.times;
    let sent = times.lag_generator.count();
    let parts =
        [&times.lag_generator, &times.lag_client_busy, &times.lag_server, &times.lag_disconnected];
    let [generator, client_busy, server, disconnected] = parts.map(|part| {
        let mut whole = part.clone();
        whole.record_zeros(sent.saturating_sub(part.count()));
        Distribution::of(&whole, 0, plan.timeout)
    });
    LagSplit { generator, client_busy, server, disconnected }
}

fn intervals(totals: &TallySum, measured: Span) -> Vec<IntervalRecord> {
    over_time(totals.series.rows(), totals.series.width(), measured, IntervalRecord::of)
}

fn slices(totals: &TallySum, measured: Span) -> Vec<SliceRecord> {
    let (width, rows) = totals.series.slices();
    over_time(&rows, width, measured, SliceRecord::of)
}

/// Consecutive rows of one width; the last ends with the window.
fn over_time<T>(
    rows: &[Row],
    width: Span,
    measured: Span,
    of: fn(&Row, Span, Span) -> T,
) -> Vec<T> {
    let starts = (0..).map(|number| width * number);
    let each = starts.zip(rows).map(|(start, row)| {
        let length = width.min(measured.saturating_sub(start));
        of(row, start, length)
    });
    each.collect()
}

/// Mean target rate of the schedule in the measured window, for this process's part.
fn target(plan: &Plan, ended: &Ended) -> Option<f64> {
    let Pacing::Open { arrival, curve, .. } = &plan.pacing else { return None };
    let window = ended.window(plan);
    let [before, until] = [window.start, window.end]
        .map(|at| arrival.expected(curve.cumulative(at.since(ended.start))));
    let length_s = window.end.since(window.start).as_s_f64();
    (length_s > 0.0).then(|| (until - before) * plan.own_part() / length_s)
}

fn client(ended: &Ended, plan: &Plan, measured: Span, rss_max_bytes: Option<u64>) -> ClientRecord {
    let workers = ended.workers.iter();
    let busy = workers.map(|worker| doctor::busy_share(plan, worker, measured.as_s_f64()));
    let cpu = cpu_time(&ended.workers);
    ClientRecord {
        cpu_user_s: cpu.map(|cpu| cpu.user.as_s_f64()),
        cpu_system_s: cpu.map(|cpu| cpu.system.as_s_f64()),
        rss_max_bytes,
        worker_busy: busy.collect(),
        ..ClientRecord::default()
    }
}

/// CPU time of all workers together; none if that of one is not known.
fn cpu_time(workers: &[WorkerReport]) -> Option<CpuTime> {
    workers.iter().try_fold(CpuTime::default(), |sum, worker| {
        let cpu = worker.cpu?;
        Some(CpuTime { user: sum.user + cpu.user, system: sum.system + cpu.system })
    })
}

/// Connections per server thread below which single connections sway the result, and the rate above
/// which that matters.
const CONNECTIONS_PER_THREAD: u64 = 50;
const RATE_MANY: f64 = 100_000.0;

fn measurement_warnings<W: Observer>(
    record: &Record,
    ended: &Ended,
    material: &Material<'_, W>,
) -> Vec<Warning> {
    let plan = &material.lowered.plan;
    let mut warnings = Warning::of_response(&record.response);
    warnings.extend(churn::warnings(ended));
    warnings.extend(upsets::away(record));
    warnings.extend(record.silences());
    warnings.extend(upsets::hits(record, material));
    if record.plan.warmup_end == WarmupEnd::Unsteady {
        warnings.push(Warning::UnsteadyWarmup { length_s: record.plan.warmup_s });
    }
    warnings.extend(record.imprecise());
    warnings.extend(record.overloaded());
    if ended.totals.samples_lost > 0 {
        warnings.push(Warning::SampleOverflow { lost: ended.totals.samples_lost });
    }
    let turned_away = ErrorClass::TooManyConnections as usize;
    let refused = ended.totals.segments.iter().map(|segment| segment.errors[turned_away]).sum();
    if refused > 0 {
        let server = plan.servers[ended.turned_away().unwrap_or(0)].name.clone();
        warnings.push(Warning::TooManyConnections { server, refused });
    } else {
        warnings.extend(connections_lost(ended, plan));
    }
    let threads: i64 = material.survey.after.values().map(|server| whole(server, "threads")).sum();
    let few = u64::from(plan.connections) < CONNECTIONS_PER_THREAD * threads.max(0) as u64;
    if few && record.rate.achieved_per_s >= RATE_MANY {
        warnings.push(Warning::FewConnections {
            connections: plan.connections,
            server_threads: threads as u32,
            rate_per_s: record.rate.achieved_per_s,
        });
    }
    warnings
}

/// The warning of lost connections, with the servers and the total number; none if no connection
/// was lost.
fn connections_lost(ended: &Ended, plan: &Plan) -> Option<Warning> {
    let servers = plan.servers.iter().zip(&ended.totals.connections);
    let names: Vec<&str> =
        servers.filter(|(_, of)| of.lost > 0).map(|(server, _)| server.name.as_str()).collect();
    let count = ended.totals.all_connections().lost;
    let server = match names[..] {
        [] => return None,
        [name] => name.to_owned(),
        [first, _] => format!("{first} and 1 other server"),
        [first, ..] => format!("{first} and {} other servers", names.len() - 1),
    };
    Some(Warning::ConnectionsLost { server, count })
}

/// Warnings that follow from the servers' own counters.
fn server_warnings<W: Observer>(record: &Record, material: &Material<'_, W>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let survey = material.survey;
    for (server, after) in &survey.after {
        let before = survey.before.get(server);
        let grown = whole(after, "evictions") - before.map_or(0, |f| whole(f, "evictions"));
        if grown > 0 {
            let (server, count) = (server.clone(), grown as u64);
            warnings.push(Warning::Evictions {
                server,
                count,
                own: upsets::misses(record, material),
            });
        }
    }
    warnings.extend(upsets::servers(survey, material.commands));
    // With `--no-stats` a comparison is not expected.
    let is_expected = !material.scenario.trust.no_stats;
    let told = material.agreement.warning(&record.plan.servers);
    warnings.extend(told.filter(|it| is_expected || matches!(it, Warning::OtherClients { .. })));
    warnings
}

/// Wrong values found during the fill and in the load.
pub(crate) fn wrong_values(plan: &Plan, filled: &Filled, main: Option<&Ended>) -> WrongValues {
    let parts = [Some(&filled.mismatches), main.map(|main| &main.totals.mismatches)];
    let parts = parts.into_iter().flatten();
    WrongValues {
        listed: parts.clone().flat_map(Mismatches::kept).map(|m| worded(plan, m)).collect(),
        not_listed: parts.map(Mismatches::lost).sum(),
    }
}

fn worded(plan: &Plan, mismatch: &Mismatch) -> WrongValue {
    let &Mismatch { op, key, server, class, version_min, version, offset } = mismatch;
    let mut bytes = Vec::new();
    plan.keys.write(key, &mut bytes);
    WrongValue {
        op,
        server: plan.servers[server.index()].name.clone(),
        key: String::from_utf8_lossy(&bytes).into_owned(),
        class: class.name(),
        version_min,
        version,
        offset,
    }
}
