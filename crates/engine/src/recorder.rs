//! Records endings: counters by segment, distributions of the measured segment, rows over time.
//! Nothing here allocates after the start.

mod alike;
mod asked;
mod churn;
mod content;
mod lateness;
mod silence;

use crate::connection::{Ending, InFlight, InFlightStage};
use crate::dialect::Marks;
use crate::pacer::Wait;
pub(crate) use alike::OperationPlace;
use alike::{Answers, Sends};
pub(crate) use asked::Asked;
pub(crate) use churn::{ChurnEnd, Opening};
pub(crate) use lateness::Looks;
use lateness::{Latenesses, Weighed};
use memtide_base::{Instant, ServerId, Span};
use memtide_metrics::counter::KINDS_MAX;
use memtide_metrics::{
    Answer, Counters, ErrorClass, Fate, ReplyClass, Tally, Times, UnansweredCount,
};
use memtide_workload::{Action, OpKind};
use memtide_world::driver::{Closed, Handshake, Refusal, Sample};
use memtide_world::plan::{Plan, Window, WindowCommands, segment, slot};
use silence::SilenceLooks;
use std::ops::Range;

const _: () = assert!(OpKind::COUNT <= KINDS_MAX, "each kind has its counters");

/// The most measured operations that wait to be exported. They are drained after each receive,
/// which returns at most 64 KiB; the shortest reply has three bytes.
const SAMPLES_WAITING: usize = 64 * 1024 / 3 + 1;

/// If memtide may have added more than a response time divided by this, nothing is known of what
/// it would have been.
const OWN_PART: u64 = 4;

/// The counters and distributions of one worker.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) tally: Box<Tally>,
    /// Measured operations that have not ended; under connection churn also connections that have
    /// neither opened nor failed.
    pub(crate) measured_open: u64,
    /// Under connection churn, measured connections that are open.
    pub(crate) churn_open: u64,
    /// Operations in flight on all connections of the worker.
    pub(crate) in_flight: u64,
    /// The instant of the last ending of a measured operation.
    pub(crate) last_settled: Instant,
    /// The last intended instant that was measured, or the last instant at which an operation
    /// without an answer was sent.
    pub(crate) last_intended: Instant,
    /// Under connection churn, the instant at which the last measured connection began to connect.
    pub(crate) last_started: Instant,
    /// Measured operations to export, if the run exports any.
    pub(crate) samples: Vec<Sample>,
    /// Time spent waiting within the measured window.
    pub(crate) idle: Span,
    /// The end of the last wait while the load runs.
    woken: Instant,
    lateness: Latenesses,
    pub(crate) looks: Looks,
    pub(crate) silences: SilenceLooks,
    /// The first error line that a server answered with.
    pub(crate) refusal: Option<Refusal>,
    /// If nothing is sent after the window's end: the instant until which operations in flight were
    /// awaited; else never.
    pub(crate) awaited_until: Instant,
    window: Window,
    /// The command that may still open the window; none once its instant is known.
    commands: Option<WindowCommands>,
    start: Instant,
    /// The measured window as instants, which every operation is compared with.
    measured: Range<Instant>,
    /// The last intended instant and its segment: a batch has one of each.
    segment_last: (Instant, u16),
    answers: [Answers; 2],
    sends: Sends,
    sampling: bool,
    /// True if error replies count as answers.
    counts_refused: bool,
    /// True if the size or the sample of each operation is kept.
    keeps_singles: bool,
    several_servers: bool,
}

impl Recorder {
    pub(crate) fn new(plan: &Plan) -> Self {
        let waiting = if plan.samples { SAMPLES_WAITING } else { 0 };
        Self {
            tally: Box::new(Tally::new(&plan.shape())),
            measured_open: 0,
            churn_open: 0,
            in_flight: 0,
            last_settled: Instant::ZERO,
            last_intended: Instant::ZERO,
            last_started: Instant::ZERO,
            samples: Vec::with_capacity(waiting),
            idle: Span::ZERO,
            woken: Instant::ZERO,
            lateness: Latenesses::new(plan.servers.len()),
            looks: Looks::new(),
            silences: SilenceLooks::new(plan),
            refusal: None,
            awaited_until: Instant::NEVER,
            window: plan.window,
            commands: (plan.window.opened_by_command || plan.window.closed_by_command)
                .then(|| plan.commands.clone()),
            start: Instant::NEVER,
            measured: Instant::NEVER..Instant::NEVER,
            segment_last: (Instant::NEVER, segment::COOLDOWN),
            answers: [Answers::NONE; 2],
            sends: Sends::NONE,
            sampling: plan.samples,
            counts_refused: plan.counts_refused,
            keeps_singles: plan.samples || plan.shape().message_sizes,
            several_servers: plan.servers.len() > 1,
        }
    }

    /// Begins the run at `start`, from which all segments follow.
    pub(crate) fn begin(&mut self, start: Instant) {
        self.start = start;
        self.follow_window();
    }

    /// Computes what follows from the window and its start.
    fn follow_window(&mut self) {
        let (window, start) = (&self.window, self.start);
        self.measured = window.measure_start(start)..window.measure_end(start);
        self.segment_last = (Instant::NEVER, segment::COOLDOWN);
    }

    /// The segment of `at`, which is not in the future.
    #[inline]
    fn segment_of(&mut self, at: Instant) -> u16 {
        if self.commands.is_some() {
            self.look_for_commands(at);
        }
        segment_in(&self.measured, at)
    }

    /// Takes over the commands to open and to close the window that were given by `now`. Without
    /// one, the window opens, or ends, at the latest instant. A separate function for the reason
    /// given at `ended_late`.
    #[cold]
    fn look_for_commands(&mut self, now: Instant) {
        let Some(commands) = &self.commands else { return };
        if self.window.opened_by_command {
            let (at, latest) = (commands.opening(), self.window.measure_start(self.start));
            if at < latest {
                self.window.warmup = at.since(self.start);
            }
            self.window.opened_by_command = at >= latest && now < latest;
        }
        if self.window.closed_by_command {
            let (at, latest) = (commands.closing(), self.window.measure_end(self.start));
            if at < latest {
                self.window.duration = at.since(self.window.measure_start(self.start));
            }
            self.window.closed_by_command = at >= latest && now < latest;
        }
        if !self.window.opened_by_command && !self.window.closed_by_command {
            self.commands = None;
        }
        self.follow_window();
    }

    /// The measured window, once its beginning is known at `now`.
    pub(crate) fn measured_window(&mut self, now: Instant) -> Option<MeasuredWindow> {
        if self.start == Instant::NEVER {
            return None;
        }
        self.look_for_commands(now);
        (!self.window.opened_by_command).then_some(MeasuredWindow {
            start: self.measured.start,
            end: self.measured.end,
            knows_end: !self.window.closed_by_command,
        })
    }

    /// Counts one intended operation; returns its segment.
    #[inline(always)]
    pub(crate) fn intended(&mut self, at: Instant) -> u16 {
        let segment = self.segment_due(at);
        self.intended_many(at, segment, 1);
        segment
    }

    /// The segment of an operation that is due `at`.
    #[inline(always)]
    pub(crate) fn segment_due(&mut self, at: Instant) -> u16 {
        if at != self.segment_last.0 || self.commands.is_some() {
            self.segment_last = (at, self.segment_of(at));
        }
        self.segment_last.1
    }

    /// Counts `count` operations as intended at `at`, in its segment.
    #[inline(always)]
    pub(crate) fn intended_many(&mut self, at: Instant, segment: u16, count: u64) {
        self.tally.segments[usize::from(segment)].intended += count;
        if segment == segment::MEASURE {
            self.measured_open += count;
            self.last_intended = self.last_intended.max(at);
            self.tally.intended(self.since_start(at), count);
        }
    }

    /// Counts `entry`, made at `now`, as a copy of a write beyond the first.
    pub(crate) fn copied(&mut self, entry: &InFlight, now: Instant) {
        self.tally.segments[usize::from(entry.segment)].copies += 1;
        if self.segment_of(now) == segment::MEASURE {
            self.tally.copies_in_window[entry.kind.index()] += 1;
        }
    }

    /// Records the divided wait of measured operations that were queued and are about to be sent.
    pub(crate) fn waited(&mut self, segment: u16, wait: Wait, count: u64) {
        if segment == segment::MEASURE {
            let times = &mut self.tally.times;
            times.lag_server.record_many(wait.server.ns(), count);
            times.lag_disconnected.record_many(wait.disconnected.ns(), count);
            times.lag_client_busy.record_many(wait.client_busy.ns(), count);
        }
    }

    /// Records what the server says of an item.
    #[inline(never)]
    pub(crate) fn marked(
        &mut self,
        entry: &InFlight,
        marks: &Marks,
        is_placeholder: bool,
        server: ServerId,
    ) {
        if is_placeholder {
            self.count(entry.segment, server, |counters| counters.placeholders += 1);
        }
        if entry.segment == segment::MEASURE
            && let Times {
                item_age_s: Some(ages),
                item_ttl_s: Some(ttls),
                item_endless: Some(endless),
                item_read: Some(reads),
                ..
            } = &mut self.tally.times
        {
            marks.age_s().into_iter().for_each(|age_s| ages.record(age_s.into()));
            marks.ttl_s().into_iter().for_each(|ttl_s| ttls.record(ttl_s.into()));
            marks.never_expires().into_iter().for_each(|never| endless.record(never.into()));
            marks.read().into_iter().for_each(|read| reads.record(read.into()));
        }
    }

    /// Counts the second request of a cas.
    pub(crate) fn followed_up(&mut self, segment: u16, server: ServerId, bytes: usize) {
        self.count(segment, server, |counters| {
            counters.bytes_sent += bytes as u64;
            counters.storage_commands += 1;
        });
    }

    /// Changes the counters of a segment and, if it is the measured one, of the server.
    #[inline(always)]
    fn count(&mut self, segment: u16, server: ServerId, count: impl Fn(&mut Counters)) {
        count(&mut self.tally.segments[usize::from(segment)]);
        if self.several_servers {
            let servers = match segment {
                segment::MEASURE => &mut self.tally.servers,
                _ => &mut self.tally.unmeasured.servers,
            };
            count(&mut servers[server.index()]);
        }
    }

    fn assert_unchanged(&self, entry: &InFlight) {
        debug_assert!(entry.sent() >= entry.intended, "sent before it was intended");
        debug_assert_eq!(
            entry.segment,
            self.window.segment_of(self.start, entry.intended),
            "an intended instant was changed"
        );
    }

    /// Records the end of an operation, at its place if it got a connection.
    pub(crate) fn settle(
        &mut self,
        entry: &InFlight,
        ending: Ending,
        place: Option<OperationPlace>,
    ) {
        self.assert_unchanged(entry);
        let ending = self.counted(ending);
        self.record_endings(entry, &ending, place, 1, u64::from(ending.bytes));
        if self.keeps_singles && entry.segment == segment::MEASURE {
            self.record_single(entry, &ending, place);
        }
    }

    /// `ending` as it counts: an error reply may be an answer.
    fn counted(&self, ending: Ending) -> Ending {
        let is_refused = ending.fate == Fate::Failed && ending.received != Instant::NEVER;
        match is_refused && self.counts_refused {
            true => Ending { fate: Fate::Answered, ..ending },
            false => ending,
        }
    }

    /// Records what is kept of each measured operation by itself: the size of its reply and its
    /// sample, if the run keeps them.
    #[inline(never)]
    fn record_single(&mut self, entry: &InFlight, ending: &Ending, place: Option<OperationPlace>) {
        if let Some(sizes) = &mut self.tally.times.reply_bytes
            && ending.bytes > 0
        {
            sizes.record(u64::from(ending.bytes));
        }
        if self.sampling {
            self.sample(entry, *ending, place);
        }
    }

    /// Records the end of `alike` operations like `entry`, with `bytes` bytes of replies together;
    /// more than one only if they were answered. Inlined, so that answers, whose fate is known,
    /// take the shortest path.
    #[inline(always)]
    fn record_endings(
        &mut self,
        entry: &InFlight,
        ending: &Ending,
        place: Option<OperationPlace>,
        alike: u32,
        bytes: u64,
    ) {
        let is_answered = ending.fate == Fate::Answered;
        debug_assert!(alike == 1 || is_answered, "only answers come together");
        if let Some(OperationPlace { server, .. }) = place
            && (is_answered || ending.fate != Fate::TimedOut && entry.is_sent())
        {
            self.left(server, alike, ending.received);
        }
        if is_answered && self.segment_of(ending.received) == segment::MEASURE {
            self.tally.answered_in_window += u64::from(alike);
        }
        let found = Found::of(entry, ending.fate);
        let number = u64::from(alike);
        let segment = &mut self.tally.segments[usize::from(entry.segment)];
        count(segment, entry, ending, found, number, bytes);
        if entry.segment != segment::MEASURE {
            if is_answered {
                let response_ns = ending.received.since(entry.intended).ns() * u64::from(alike);
                self.tally.segments[usize::from(entry.segment)].unmeasured_ns += response_ns;
            }
            if self.several_servers {
                let apart = &mut self.tally.unmeasured;
                let at = match place {
                    Some(OperationPlace { server, .. }) => &mut apart.servers[server.index()],
                    None => &mut apart.no_server,
                };
                count(at, entry, ending, found, number, bytes);
            }
            return;
        }
        if self.several_servers {
            let at = match place {
                Some(OperationPlace { server, .. }) => &mut self.tally.servers[server.index()],
                None => &mut self.tally.no_server,
            };
            at.intended += u64::from(alike);
            count(at, entry, ending, found, number, bytes);
        }
        debug_assert!(self.measured_open >= u64::from(alike), "a measured operation ends twice");
        self.measured_open -= u64::from(alike);
        let since_start = self.since_start(entry.intended);
        if is_answered {
            self.record_times(entry, since_start, ending.received, found, alike, place);
        } else if ending.fate == Fate::Unacknowledged {
            // No reply will mark its end: it ends when it is sent.
            self.last_intended = self.last_intended.max(entry.sent());
        } else {
            if ending.fate == Fate::Failed && ending.received != Instant::NEVER {
                self.last_settled = self.last_settled.max(ending.received);
            }
            let loss = loss(entry, place.map(|place| place.server), found, 1);
            self.tally.lost(since_start, loss);
            if ending.fate == Fate::Abandoned && self.awaited_until != Instant::NEVER {
                self.bound(entry, self.awaited_until, place);
            }
        }
    }

    /// Notes that `count` operations that were sent to `server` are in flight no more, since `at`;
    /// never stands for the present, which is unknown.
    #[inline]
    pub(crate) fn left(&mut self, server: ServerId, count: u32, at: Instant) {
        if let Some(since) = self.lateness.left(server, count) {
            self.ended_late(server, since, at);
        }
    }

    /// Counts a stretch of lateness towards `server`. A separate function, so that the path of an
    /// operation stays short.
    #[cold]
    fn ended_late(&mut self, server: ServerId, since: Instant, at: Instant) {
        let until = if at == Instant::NEVER { self.woken } else { at };
        let length = self.measured(since, until);
        self.lateness.ended(server, length, &mut self.tally.late);
    }

    #[inline(always)]
    fn record_times(
        &mut self,
        entry: &InFlight,
        since_start: Span,
        received: Instant,
        found: Found,
        count: u32,
        place: Option<OperationPlace>,
    ) {
        self.last_settled = self.last_settled.max(received);
        let kind = entry.kind.index();
        let response = received.since(entry.intended);
        // Gets are recorded by hit and miss; the row of all gets is the sum of the two.
        let slot = match entry.kind {
            OpKind::Get if entry.hits >= entry.keys => slot::GET_HIT,
            OpKind::Get => slot::GET_MISS,
            _ => kind,
        };
        let server = place.map_or(0, |place| place.server.index());
        self.tally.answered(
            since_start,
            Answer {
                slot: slot as u8,
                kind: kind as u8,
                server: server as u16,
                response,
                service: received.since(entry.sent()),
                count,
                hits: found.hits as u32,
                misses: found.misses as u32,
            },
        );
        if let Some(OperationPlace { server, .. }) = place {
            self.silences.replied(server, received.since(entry.sent()));
        }
        let times = &mut self.tally.times;
        if let Some(histogram) = times.servers.get_mut(server) {
            histogram.record_many(response.ns(), u64::from(count));
        }
        if let Some(mut weighed) = self.looks.weigh(received, entry.own_max) {
            weighed.stands_for *= u64::from(count);
            self.punctual(slot, response, entry.own_max, weighed);
        }
    }

    /// Records a response time less the most that memtide may have added: by what it sent late, and
    /// by leaving the reply unread. A separate function for the reason given at `ended_late`.
    #[inline(never)]
    fn punctual(
        &mut self,
        slot: usize,
        response: Span,
        late: Span,
        Weighed { unread, stands_for }: Weighed,
    ) {
        let times = &mut self.tally.times;
        let (Some(drawn), Some(punctual)) = (&mut times.drawn[slot], &mut times.punctual[slot])
        else {
            return;
        };
        let own = late + unread;
        let most = Span::from_ns(response.ns() / OWN_PART);
        let punctual_ns = if own > most { 0 } else { response.saturating_sub(own).ns() };
        drawn.record_many(response.ns(), stands_for);
        punctual.record_many(punctual_ns, stands_for);
    }

    fn sample(&mut self, entry: &InFlight, ending: Ending, place: Option<OperationPlace>) {
        if self.samples.len() == self.samples.capacity() {
            self.tally.samples_lost += 1;
            return;
        }
        // An operation that does not fit into a datagram had a connection and was not sent.
        let place = place.filter(|_| entry.sent() != Instant::NEVER);
        self.samples.push(Sample {
            begun: self.start,
            index: entry.index,
            key: entry.key,
            intended: entry.intended,
            sent: if place.is_some() { entry.sent() } else { Instant::NEVER },
            received: ending.received,
            kind: entry.kind,
            outcome: ending.outcome,
            bytes: ending.bytes,
            connection: place.map_or(u32::MAX, |place| place.connection),
        });
    }

    /// Records the end of an operation that never got a connection.
    pub(crate) fn settle_unsent(&mut self, entry: &InFlight, fate: Fate) {
        if fate == Fate::TimedOut {
            self.tally.segments[usize::from(entry.segment)].timed_out_queued += 1;
            if entry.segment == segment::MEASURE && self.several_servers {
                self.tally.no_server.timed_out_queued += 1;
            }
        }
        self.settle(entry, Ending::unanswered(fate), None);
    }

    /// Records an operation that was due and not sent when the window ended, at `end`.
    pub(crate) fn settle_cut_off(&mut self, entry: &InFlight, end: Instant) {
        self.tally.segments[usize::from(entry.segment)].dropped_at_end += 1;
        if entry.segment == segment::MEASURE && self.several_servers {
            self.tally.no_server.dropped_at_end += 1;
        }
        self.bound(entry, end, None);
        self.settle(entry, Ending::unanswered(Fate::Dropped), None);
    }

    /// Records `count` more operations like `entry`, which never got a connection and ended as
    /// `fate`. The one after them is due at `next`. If they are dropped, the window ended at `end`.
    pub(crate) fn repeat_unsent(
        &mut self,
        entry: &InFlight,
        fate: Fate,
        count: u64,
        next: Instant,
        end: Instant,
    ) {
        let is_measured = entry.segment == segment::MEASURE;
        let counters = &mut self.tally.segments[usize::from(entry.segment)];
        counters.intended += count;
        add_unsent(counters, entry.kind, fate, count);
        if self.several_servers && !is_measured {
            let apart = &mut self.tally.unmeasured.no_server;
            apart.settle_many(entry.kind.index(), fate, count);
        } else if self.several_servers {
            self.tally.no_server.intended += count;
            add_unsent(&mut self.tally.no_server, entry.kind, fate, count);
        }
        if !is_measured {
            return;
        }
        let each = next.since(entry.intended).ns() / (count + 1);
        self.last_intended = self.last_intended.max(entry.intended + Span::from_ns(each * count));
        let stretch = self.since_start(entry.intended)..self.since_start(next);
        self.tally.unsent(stretch, loss(entry, None, Found::default(), count));
        self.tally.samples_lost += if self.sampling { count } else { 0 };
        if fate == Fate::Dropped
            && let Some(Some(bounds)) = self.tally.times.bounds.get_mut(entry.kind.index())
        {
            // The mean of their bounds; they differ by little, unless there are very many rows.
            let middle = entry.intended + Span::from_ns(each * (count + 1) / 2);
            bounds.record_many(end.since(middle).ns(), count);
        }
    }

    /// The tally, with all that was counted.
    pub(crate) fn tally_mut(&mut self) -> &mut Box<Tally> {
        let Tally { late, segments, servers, .. } = &mut *self.tally;
        let several = self.several_servers;
        self.lateness.tell(late, |server| match several {
            true => servers[server].answered,
            false => segments[usize::from(segment::MEASURE)].answered,
        });
        &mut self.tally
    }

    /// The end of the row over time, or of the segment, of an operation intended at `at`.
    pub(crate) fn row_end(&self, at: Instant) -> Instant {
        let Range { start, end } = self.measured;
        match segment_in(&self.measured, at) {
            segment::WARMUP => start,
            segment::MEASURE => (start + self.tally.row_end(at.since(start))).min(end),
            _ => Instant::NEVER,
        }
    }

    /// The number of rows and other segments from `from` until `until`.
    pub(crate) fn rows_between(&self, from: Instant, until: Instant) -> f64 {
        let row = self.tally.row_end(Span::ZERO);
        2.0 + until.since(from).as_s_f64() / row.as_s_f64()
    }

    /// Records that the response time of `entry` is at least the time up to `until`.
    fn bound(&mut self, entry: &InFlight, until: Instant, place: Option<OperationPlace>) {
        if entry.segment != segment::MEASURE {
            return;
        }
        let (times, bound) = (&mut self.tally.times, until.since(entry.intended).ns());
        if let Some(Some(bounds)) = times.bounds.get_mut(entry.kind.index()) {
            bounds.record(bound);
        }
        if let Some(OperationPlace { server, .. }) = place
            && let Some(bounds) = times.server_bounds.get_mut(server.index())
        {
            bounds.record(bound);
        }
    }

    /// Records that a server answered with an error line; the first is kept.
    pub(crate) fn refused(&mut self, refusal: Refusal) {
        self.refusal.get_or_insert(refusal);
    }

    /// Counts the first of two answers to an operation. What it says stays true whatever becomes of
    /// the second: the win of a recache counts here, and the keys found when the operation ends.
    pub(crate) fn half_way(&mut self, entry: &InFlight, bytes: u32, server: ServerId) {
        let wins = u64::from(entry.kind.does(Action::Recache));
        self.count(entry.segment, server, |counters| {
            counters.bytes_received += u64::from(bytes);
            counters.replies[ReplyClass::Won as usize] += wins;
        });
    }

    /// Counts an answer to an operation that had timed out.
    pub(crate) fn late(&mut self, entry: &InFlight, bytes: u32, server: ServerId) {
        assert!(entry.stage.is_expired(), "only these can be late");
        self.left(server, 1, Instant::NEVER);
        self.count(entry.segment, server, |counters| {
            counters.late_replies += 1;
            counters.bytes_received += u64::from(bytes);
        });
    }

    /// Counts an opened connection to `server`.
    pub(crate) fn connected(&mut self, server: ServerId, handshake: Option<Handshake>) {
        let counters = &mut self.tally.connections[server.index()];
        counters.opened += 1;
        match handshake {
            None => {}
            Some(Handshake::Full) => counters.handshakes_full += 1,
            Some(Handshake::Resumed) => counters.handshakes_resumed += 1,
        }
    }

    /// Counts a connection to `server` that was lost at `now`.
    pub(crate) fn connection_lost(&mut self, server: ServerId, now: Instant, why: Closed) {
        self.tally.connections[server.index()].lost += 1;
        self.fault(server, now, why.into());
    }

    /// Counts a connect to `server` that failed at `now`.
    pub(crate) fn connect_failed(&mut self, server: ServerId, now: Instant) {
        self.tally.connections[server.index()].failed += 1;
        self.fault(server, now, ErrorClass::Connect);
    }

    /// Adds idle time from `from` to `until`, as far as it lies in the measured window.
    pub(crate) fn idled(&mut self, from: Instant, until: Instant) {
        self.idle += self.measured(from, until);
    }

    /// Records the end of a wait, before its completions are taken. If operations were in flight
    /// during the wait, they were since the end of the last one: what is due is sent at once.
    pub(crate) fn woke(&mut self, woken: Instant) {
        if self.in_flight > 0 {
            let carried_ns = self.measured(self.woken, woken).ns();
            self.tally.segments[usize::from(segment::MEASURE)].in_flight_ns += carried_ns;
            // A worker's time cannot be divided by server.
            self.tally.no_server.in_flight_ns += carried_ns;
        }
        self.woken = woken;
    }

    /// The part of the time from `from` to `until` that lies in the measured window.
    fn measured(&self, from: Instant, until: Instant) -> Span {
        let Range { start, end } = self.measured;
        until.min(end).since(from.max(start))
    }

    /// Records the client's delay of a reply received at `at` by a worker that woke up at `woken`.
    #[inline]
    pub(crate) fn received(&mut self, at: Instant, woken: Instant) {
        if self.segment_of(at) == segment::MEASURE {
            self.tally.times.client_delay.record(at.since(woken).ns());
        }
    }

    /// True if an operation intended at `at` comes after the measured window.
    pub(crate) fn is_past(&self, at: Instant) -> bool {
        at >= self.measured.end
    }

    /// Counts an error that belongs to no operation, in the segment of its instant.
    fn fault(&mut self, server: ServerId, now: Instant, class: ErrorClass) {
        let segment = self.segment_of(now);
        self.count(segment, server, |counters| counters.errors[class as usize] += 1);
    }

    fn since_start(&self, at: Instant) -> Span {
        at.since(self.measured.start)
    }
}

/// The measured window of a run.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredWindow {
    /// Its beginning.
    pub start: Instant,
    /// Its end, or the latest one until it is known.
    pub end: Instant,
    /// True once the end is known.
    pub knows_end: bool,
}

/// The keys that an operation found and missed; none unless its read was answered.
#[derive(Clone, Copy, Default)]
struct Found {
    keys: u64,
    hits: u64,
    misses: u64,
}

impl Found {
    fn of(entry: &InFlight, fate: Fate) -> Self {
        let may_read = entry.kind.reads() && entry.stage != InFlightStage::Alone;
        // In its second stage the answer to its read has come, whatever became of its store.
        let is_read = fate == Fate::Answered || entry.stage == InFlightStage::Second;
        let read = is_read && may_read;
        let keys = if read { u64::from(entry.keys) } else { 0 };
        let hits = u64::from(entry.hits).min(keys);
        Self { keys, hits, misses: keys - hits }
    }
}

/// Adds the ends of `count` operations that were not sent.
fn add_unsent(counters: &mut Counters, kind: OpKind, fate: Fate, count: u64) {
    counters.settle_many(kind.index(), fate, count);
    match fate {
        Fate::TimedOut => counters.timed_out_queued += count,
        Fate::Dropped => counters.dropped_at_end += count,
        _ => {}
    }
}

/// The loss of `count` operations like `entry`, at `server` if one was chosen, each of which had
/// `found` keys.
fn loss(entry: &InFlight, server: Option<ServerId>, found: Found, count: u64) -> UnansweredCount {
    UnansweredCount {
        kind: entry.kind.index() as u8,
        server: server.map(|server| server.index() as u16),
        is_sent: entry.is_sent(),
        hits: found.hits as u16,
        misses: found.misses as u16,
        count,
    }
}

/// The segment of an instant, if this window is measured.
#[inline(always)]
fn segment_in(measured: &Range<Instant>, at: Instant) -> u16 {
    if at >= measured.end {
        segment::COOLDOWN
    } else if at >= measured.start {
        segment::MEASURE
    } else {
        segment::WARMUP
    }
}

/// Counts `alike` endings, with `bytes` bytes of replies together.
#[inline(always)]
fn count(
    counters: &mut Counters,
    entry: &InFlight,
    ending: &Ending,
    found: Found,
    alike: u64,
    bytes: u64,
) {
    counters.settle_many(entry.kind.index(), ending.fate, alike);
    counters.keys += found.keys * alike;
    counters.hits += found.hits * alike;
    counters.misses += found.misses * alike;
    counters.bytes_received += bytes;
    // An item that a winner is making has no value, but the server touches it.
    if entry.kind.does(Action::ReadAndTouch) && ending.reply == Some(ReplyClass::Values) {
        counters.touching_misses += found.misses * alike;
    }
    if let Some(reply) = ending.reply {
        counters.replies[reply as usize] += alike;
    }
    if let Some(error) = ending.error {
        counters.errors[error as usize] += alike;
        if ending.fate == Fate::Answered {
            counters.refused += alike;
        }
    }
}
