//! Operations of one batch that are alike in all that is recorded of them: sent by one call, or
//! answered by one reception. They are counted here and recorded once, with their number, for two
//! sorts at a time: in most loads gets and sets alternate. Nothing is kept from one batch to the
//! next, so that no figure is ever behind.

use super::Recorder;
use crate::connection::{Ending, InFlight, InFlightStage};
use memtide_base::{Instant, ServerId, Span};
use memtide_metrics::{Fate, ReplyClass};
use memtide_workload::{OpKind, Outcome};
use memtide_world::plan::segment;

/// Answers of one reception that are alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answers {
    /// Their number; 0 if there are none, and the rest then means nothing.
    pub(super) count: u32,
    /// The first of them.
    pub(super) entry: InFlight,
    /// The ending of the first.
    pub(super) ending: Ending,
    /// Bytes of all replies.
    pub(super) bytes: u64,
    /// Bytes of all values.
    pub(super) value_bytes: u64,
}

impl Answers {
    pub(super) const NONE: Self = Self {
        count: 0,
        entry: InFlight {
            intended: Instant::ZERO,
            ready_or_sent: Instant::ZERO,
            own_max: Span::ZERO,
            index: 0,
            key: 0,
            segment: 0,
            keys: 0,
            hits: 0,
            kind: OpKind::Get,
            stage: InFlightStage::First,
        },
        ending: Ending {
            fate: Fate::Answered,
            outcome: Outcome::Hit,
            reply: None,
            error: None,
            received: Instant::ZERO,
            bytes: 0,
        },
        bytes: 0,
        value_bytes: 0,
    };

    pub(super) fn of(entry: &InFlight, ending: Ending, value_bytes: u64) -> Self {
        let bytes = u64::from(ending.bytes);
        Self { count: 1, entry: *entry, ending, bytes, value_bytes }
    }

    /// Counts an answered operation if nothing that is recorded of it differs but its bytes; false
    /// if something does.
    #[inline(always)]
    fn add(&mut self, entry: &InFlight, ending: &Ending, value_bytes: u64) -> bool {
        let first = &self.entry;
        let is_like = self.count > 0
            && entry.kind == first.kind
            && entry.intended == first.intended
            && entry.sent() == first.sent()
            && entry.own_max == first.own_max
            && entry.segment == first.segment
            && entry.keys == first.keys
            && entry.hits == first.hits
            && entry.stage == first.stage
            && ending.reply == self.ending.reply
            && ending.received == self.ending.received;
        if is_like {
            self.count += 1;
            self.bytes += u64::from(ending.bytes);
            self.value_bytes += value_bytes;
        }
        is_like
    }
}

/// Operations that one call sent and that are alike but for their kind, which is one of two: the
/// lateness of each depends on those before it, so that nothing else may differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sends {
    /// Their number; 0 if there are none, and the rest then means nothing.
    pub(super) count: u32,
    /// Two kinds, and the number of each.
    pub(super) kinds: [(OpKind, u32); 2],
    pub(super) segment: u16,
    pub(super) intended: Instant,
    pub(super) sent: Instant,
    /// How long after they could have been.
    pub(super) late: Span,
    /// The part of their lag that is memtide's own.
    pub(super) own: Span,
    /// The largest such part that may delay them.
    pub(super) own_max: Span,
}

impl Sends {
    pub(super) const NONE: Self = Self {
        count: 0,
        kinds: [(OpKind::Get, 0); 2],
        segment: 0,
        intended: Instant::ZERO,
        sent: Instant::ZERO,
        late: Span::ZERO,
        own: Span::ZERO,
        own_max: Span::ZERO,
    };

    /// Counts a sent operation if nothing else that is recorded of it differs; false if something
    /// does.
    #[inline(always)]
    fn add(&mut self, entry: &InFlight, late: Span) -> bool {
        let [first, second] = &mut self.kinds;
        let is_first = entry.kind == first.0;
        let is_like = self.count > 0
            && entry.intended == self.intended
            && entry.own_max == self.own
            && late == self.late
            && entry.segment == self.segment
            && (is_first || second.1 == 0 || entry.kind == second.0);
        if is_like {
            self.count += 1;
            if is_first {
                first.1 += 1;
            } else {
                *second = (entry.kind, second.1 + 1);
            }
        }
        is_like
    }
}

/// The place of an operation: its server, and the number of its connection in the run.
#[derive(Clone, Copy)]
pub(crate) struct OperationPlace {
    pub(crate) server: ServerId,
    pub(crate) connection: u32,
}

impl Recorder {
    /// Records that `entry` was handed to a socket at `entry.sent()`, `late` after it could have
    /// been. `outstanding` is the number of operations in flight on its connection, with it; zero
    /// if it gets no reply. [`Self::all_sent`] must follow the last one of a call.
    #[inline(always)]
    pub(crate) fn sent(
        &mut self,
        entry: &mut InFlight,
        late: Span,
        outstanding: usize,
        server: ServerId,
    ) {
        if outstanding > 0 && entry.segment == segment::MEASURE {
            self.tally.sent_with(outstanding);
        }
        if self.sends.add(entry, late) {
            entry.own_max = self.sends.own_max;
            return;
        }
        self.all_sent(server);
        let own = entry.own_max;
        entry.own_max = self.lateness.sent(server, entry.intended, own);
        let InFlight { segment, kind, intended, ready_or_sent: sent, own_max, .. } = *entry;
        let kinds = [(kind, 1), (kind, 0)];
        self.sends = Sends { count: 1, kinds, segment, intended, sent, late, own, own_max };
    }

    /// Records those sent that were only counted.
    #[inline]
    pub(crate) fn all_sent(&mut self, server: ServerId) {
        if self.sends.count > 0 {
            self.record_sends(server);
        }
    }

    fn record_sends(&mut self, server: ServerId) {
        let Sends { count: alike, kinds, segment, intended, sent, late, .. } = self.sends;
        self.sends.count = 0;
        self.lateness.sent_more(server, alike - 1);
        let is_in_window = self.segment_of(sent) == segment::MEASURE;
        for (kind, count) in kinds.map(|(kind, count)| (kind.index(), u64::from(count))) {
            if count == 0 {
                continue;
            }
            self.count(segment, server, |counters| {
                counters.sent += count;
                counters.kinds[kind].sent += count;
            });
            if is_in_window {
                self.tally.sent_in_window[kind] += count;
            }
            if segment == segment::MEASURE
                && let Some(lag) = &mut self.tally.times.lag[kind]
            {
                lag.record_many(sent.since(intended).ns(), count);
            }
        }
        if segment == segment::MEASURE {
            let times = &mut self.tally.times;
            times.lag_generator.record_many(late.ns(), alike.into());
            times.in_flight_at_send.record_many(self.in_flight, alike.into());
        }
    }

    /// Records an answered operation. [`Self::all_answered`] must follow the last one of a
    /// reception, and nothing else may be recorded before.
    #[inline]
    pub(crate) fn answered(
        &mut self,
        entry: &InFlight,
        ending: &Ending,
        value_bytes: u64,
        place: OperationPlace,
    ) {
        self.assert_unchanged(entry);
        if self.keeps_singles && entry.segment == segment::MEASURE {
            self.record_single(entry, ending, Some(place));
        }
        let [first, second] = &mut self.answers;
        if first.add(entry, ending, value_bytes) || second.add(entry, ending, value_bytes) {
            return;
        }
        if first.count > 0 && second.count == 0 {
            *second = Answers::of(entry, *ending, value_bytes);
            return;
        }
        self.all_answered(place);
        self.answers[0] = Answers::of(entry, *ending, value_bytes);
    }

    /// Records those answered that were only counted.
    #[inline]
    pub(crate) fn all_answered(&mut self, place: OperationPlace) {
        if self.answers[0].count > 0 {
            self.record_answers(0, place);
        }
        if self.answers[1].count > 0 {
            self.record_answers(1, place);
        }
    }

    fn record_answers(&mut self, nth: usize, place: OperationPlace) {
        let Answers { count, entry, ending, bytes, value_bytes } = self.answers[nth];
        self.answers[nth].count = 0;
        debug_assert_eq!(ending.fate, Fate::Answered, "only answers are kept together");
        let ending = Ending { fate: Fate::Answered, ..ending };
        debug_assert!(self.in_flight >= u64::from(count), "more end than were in flight");
        self.in_flight -= u64::from(count);
        let has_values = ending.reply != Some(ReplyClass::Unchanged);
        if entry.hits > 0 && !entry.stage.is_second() && has_values {
            let values = u64::from(entry.hits) * u64::from(count);
            self.values_read(entry.segment, values, value_bytes, place.server);
        }
        self.record_endings(&entry, &ending, Some(place), count, bytes);
    }
}
