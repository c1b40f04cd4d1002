//! The measured window of a round as its master sees it: when it opens and closes for all agents,
//! and the phases of the load that follow from that.

use memtide_base::{Instant, Span};
use memtide_belief::WarmupSlice;
use memtide_cluster::master::Master;
use memtide_cluster::message::Warming;
use memtide_cluster::taking::Taking;
use memtide_host::clock::monotonic_ns;
use memtide_record::Phase;
use memtide_run::{SharedClosing, SharedWarmup};
use memtide_world::plan::Window;
use std::collections::BTreeMap;

/// The window of the present round.
pub(super) struct SharedWindow {
    /// The window as far as it is known.
    window: Window,
    /// What looks for the end of its warm-up, and for its own; none if that is known.
    warmup: Option<SharedWarmup>,
    closing: Option<SharedClosing>,
    /// The length of the window when the agents were asked for their records so far, and those
    /// that have come.
    asked: Option<(Span, BTreeMap<u32, Vec<u8>>)>,
    /// The beginning of the load, once it is agreed.
    begins: Option<Instant>,
    /// The last phase that was announced.
    shown: Option<Phase>,
}

impl SharedWindow {
    /// A window whose plan is known.
    pub(super) fn new(window: Window) -> Self {
        Self {
            window,
            warmup: window.opened_by_command.then(|| SharedWarmup::new(window.warmup)),
            closing: window.closed_by_command.then(|| SharedClosing::new(window.duration)),
            asked: None,
            begins: None,
            shown: None,
        }
    }

    /// Takes note that the load begins at this instant.
    pub(super) fn begin(&mut self, at: Instant) {
        self.begins = Some(at);
    }

    /// The time that has passed at `now` since the load began.
    pub(super) fn passed(&self, now: Instant) -> Span {
        self.begins.map_or(Span::ZERO, |begins| now.since(begins))
    }

    /// Takes a report of an agent whose warm-up goes on.
    pub(super) fn warming(&mut self, number: u32, warming: Warming) {
        let Warming { answered, response_ns, keys, hits, .. } = warming;
        if let Some(warmup) = &mut self.warmup {
            warmup.report(number, WarmupSlice { answered, response_ns, keys, hits });
        }
    }

    /// Takes the record so far of an agent.
    pub(super) fn so_far(&mut self, number: u32, record: Vec<u8>) {
        if let Some((_, records)) = &mut self.asked {
            records.insert(number, record);
        }
    }

    /// Opens or closes the windows of all agents, if that is decided now.
    pub(super) fn look(&mut self, master: &mut Master, taking: &mut Taking, now: Instant) {
        let Some(begins) = self.begins.filter(|begins| *begins <= now) else { return };
        let loading = master.loading();
        if master.is_stopping() || loading.is_empty() {
            return;
        }
        let passed = now.since(begins);
        if let Some(length) = self.warmup.as_mut().and_then(|it| it.look(&loading, passed)) {
            self.window.warmup = length;
            master.open_window(begins + length, now);
            taking.opened(length);
        }
        let open = self.window.measure_start(begins);
        if open <= now {
            self.look_to_close(&loading, master, taking, open, now);
        }
    }

    fn look_to_close(
        &mut self,
        loading: &[u32],
        master: &mut Master,
        taking: &mut Taking,
        open: Instant,
        now: Instant,
    ) {
        let Some(closing) = &mut self.closing else { return };
        let passed = now.since(open);
        let Some((_, records)) = &self.asked else {
            if closing.is_due(passed) {
                self.asked = Some((passed, BTreeMap::new()));
                master.ask_so_far();
            }
            return;
        };
        if !loading.iter().all(|number| records.contains_key(number)) {
            return;
        }
        let records = self.asked.take().map(|(_, records)| records).unwrap_or_default();
        let before = monotonic_ns();
        let merged = Taking::merged(records.into_values());
        // Many records take their time, and the window must close after it.
        let passed = passed + Span::from_ns(monotonic_ns() - before);
        if let Some(length) = closing.look(merged.as_ref(), passed) {
            self.window.duration = length;
            master.close_window(open + length, now);
            taking.closed(length);
        }
    }

    /// The phases of the load that have begun by `now` and were not announced yet.
    pub(super) fn phases(&mut self, now: Instant) -> Vec<Phase> {
        let Some(begins) = self.begins else { return Vec::new() };
        let open = self.window.measure_start(begins);
        let all = [
            (begins, Phase::Warmup),
            (open, Phase::Measure),
            (self.window.measure_end(begins), Phase::Cooldown),
        ];
        let has_warmup = open > begins;
        let begun =
            all.iter().filter(|(at, phase)| *at <= now && (*phase != Phase::Warmup || has_warmup));
        let begun = begun.map(|(_, phase)| *phase);
        let new: Vec<Phase> =
            begun.filter(|phase| self.shown.is_none_or(|it| it < *phase)).collect();
        self.shown = new.last().copied().or(self.shown);
        new
    }
}
