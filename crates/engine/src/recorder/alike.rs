//! Operations of one batch that are alike in all that is recorded of them: sent by one call, or
//! answered by one reception. They are counted here and recorded once, with their number. Nothing
//! is kept from one batch to the next, so that no figure is ever behind.

use crate::connection::{Ending, InFlight, InFlightStage};
use memtide_base::{Instant, Span};
use memtide_metrics::Fate;
use memtide_workload::{OpKind, Outcome};

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
            sent: Instant::ZERO,
            own: Span::ZERO,
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

    /// True if nothing that is recorded of an answered operation differs but its bytes.
    #[inline(always)]
    pub(super) fn are_like(&self, entry: &InFlight, ending: &Ending) -> bool {
        let first = &self.entry;
        self.count > 0
            && entry.intended == first.intended
            && entry.sent == first.sent
            && entry.own == first.own
            && entry.segment == first.segment
            && entry.keys == first.keys
            && entry.hits == first.hits
            && entry.kind == first.kind
            && entry.stage == first.stage
            && ending.reply == self.ending.reply
            && ending.received == self.ending.received
    }
}

/// Operations that one call sent and that are alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sends {
    /// Their number; 0 if there are none, and the rest then means nothing.
    pub(super) count: u32,
    pub(super) segment: u16,
    pub(super) kind: OpKind,
    pub(super) intended: Instant,
    pub(super) sent: Instant,
    /// How long after they could have been.
    pub(super) late: Span,
    /// The part of their lag that is memtide's own, and the largest such part that may delay them.
    pub(super) own: (Span, Span),
}

impl Sends {
    pub(super) const NONE: Self = Self {
        count: 0,
        segment: 0,
        kind: OpKind::Get,
        intended: Instant::ZERO,
        sent: Instant::ZERO,
        late: Span::ZERO,
        own: (Span::ZERO, Span::ZERO),
    };

    /// True if nothing that is recorded of a sent operation differs.
    #[inline(always)]
    pub(super) fn are_like(&self, entry: &InFlight, late: Span) -> bool {
        self.count > 0
            && entry.intended == self.intended
            && entry.own == self.own.0
            && late == self.late
            && (entry.segment, entry.kind) == (self.segment, self.kind)
    }
}
