//! A worker's progress through its plan: which operations it offers, and how long it waits for
//! those in flight.

use crate::client::Offer;
use memtide_base::{Instant, Span};
use memtide_world::fleet::Stage;
use memtide_world::plan::{Cooldown, Plan};

/// The progress of one worker through its plan.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) stage: Stage,
    pub(super) offer: Offer,
    /// The instant at which operations in flight are abandoned; never while it offers more.
    pub(super) drain_until: Instant,
    /// How long operations in flight are awaited after a stop command.
    pub(super) grace: Span,
    /// True once it is known when the measured window begins and ends.
    pub(super) knows_window: bool,
    cooldown: Cooldown,
}

impl Course {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            stage: Stage::Opening,
            offer: Offer::new(plan, Instant::NEVER),
            drain_until: Instant::NEVER,
            grace: Span::ZERO,
            knows_window: false,
            cooldown: plan.window.cooldown,
        }
    }

    /// Starts the schedules at `start`.
    pub(super) fn begin(&mut self, plan: &Plan, start: Instant) {
        debug_assert!(self.stage < Stage::Running, "a worker begins its load once");
        self.offer = Offer::new(plan, start);
        self.stage = Stage::Running;
    }

    /// Notes that the measured window ends at `end`: some offers end with it.
    pub(super) fn ends_with_window(&mut self, end: Instant) {
        self.knows_window = true;
        if self.cooldown != Cooldown::Load {
            self.offer.end = end;
        }
        if self.cooldown == Cooldown::Stop {
            self.offer.stop = end;
        }
    }

    /// Ends the offer; operations in flight are awaited until `until`.
    pub(super) fn drain(&mut self, until: Instant) {
        debug_assert!(self.stage < Stage::Draining, "an offer ends once");
        self.stage = Stage::Draining;
        self.drain_until = until;
    }

    /// True if the window is over and nothing is sent after it.
    pub(super) fn is_cut_off(&self) -> bool {
        self.offer.stop == Instant::ZERO
    }
}
