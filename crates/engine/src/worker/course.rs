//! How far a worker has come: what it offers, and until when it waits for the rest.

use crate::client::Offer;
use crate::fleet::Stage;
use crate::plan::Plan;
use memtide_base::{Instant, Span};

/// The course of one worker through its plan.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) stage: Stage,
    pub(super) offer: Offer,
    /// What is in flight then is given up; never before it offers nothing more.
    pub(super) drain_until: Instant,
    /// How long that is awaited when it is told to stop.
    pub(super) grace: Span,
}

impl Course {
    pub(super) fn new(plan: &Plan) -> Self {
        let offer = Offer::new(plan, Instant::NEVER);
        Self { stage: Stage::Opening, offer, drain_until: Instant::NEVER, grace: Span::ZERO }
    }

    /// The schedules start at `start`.
    pub(super) fn begin(&mut self, plan: &Plan, start: Instant) {
        self.offer = Offer::new(plan, start);
        self.stage = Stage::Running;
    }

    /// It offers nothing more.
    pub(super) fn drain(&mut self, until: Instant) {
        self.stage = Stage::Draining;
        self.drain_until = until;
    }

    /// Whether the window's end has ended what is sent.
    pub(super) fn is_cut_off(&self) -> bool {
        self.offer.stop == Instant::ZERO
    }
}
