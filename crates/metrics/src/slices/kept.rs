//! The slices that a run keeps: all channels of each, and their widths.
//!
//! Rows are made to be looked at; slices are equal in width and few, so that their scatter tells
//! how exact a figure is.

use super::{Slice, coarse};
use crate::histogram::Histogram;
use crate::series::Stretch;
use memtide_base::Span;

/// A window of known length has this many slices.
pub const SLICES: u64 = 64;
/// At most this many slices are kept of a window of unknown length; then neighbours are merged.
pub const SLICES_KEPT: usize = 128;
/// The least width of a slice.
const WIDTH_LEAST: Span = Span::from_ms(10);
/// Slices are kept of each server if there are several, and no more than this.
pub const SERVERS_MAX: usize = 8;

impl Slice {
    /// Adds the times of answered operations.
    pub(crate) fn absorb_times(&mut self, times: &Histogram<u32>) {
        for (value, count) in times.tallied() {
            *self.buckets.entry(coarse(value)).or_default() += count;
        }
        self.answered += times.count();
        self.sum_ns += times.moments().sum;
    }
}

/// One slice of the window in all its channels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceSet {
    /// Response times, per slot.
    pub response: Vec<Slice>,
    /// Service times, per slot; operations that were not sent are not counted.
    pub service: Vec<Slice>,
    /// Response times per server; empty unless there are several, and few.
    pub servers: Vec<Slice>,
}

impl SliceSet {
    /// The slice at this place of `channels`; it is made if it does not exist.
    pub(crate) fn of(channels: &mut Vec<Slice>, at: usize) -> &mut Slice {
        if channels.len() <= at {
            channels.resize(at + 1, Slice::default());
        }
        &mut channels[at]
    }
}

impl Stretch for SliceSet {
    fn absorb(&mut self, other: &Self) {
        let channels = [
            (&mut self.response, &other.response),
            (&mut self.service, &other.service),
            (&mut self.servers, &other.servers),
        ];
        for (sums, parts) in channels {
            for (at, part) in parts.iter().enumerate() {
                Self::of(sums, at).absorb(part);
            }
        }
    }

    fn weight(&self) -> u64 {
        let all = self.response.iter().chain(&self.service).chain(&self.servers);
        all.map(Slice::count).sum()
    }
}

/// The first width of the slices of a window of this length; `None` if the length is unknown.
pub fn first_width(window: Option<Span>) -> Span {
    let known = window.map_or(Span::ZERO, |length| Span::from_ns(length.ns().div_ceil(SLICES)));
    known.max(WIDTH_LEAST)
}

/// The slice, of those that are kept at once, in which `since_ns` lies while the window is no
/// longer than that: its start and its end. Slices have the width `first_ns` at first; whenever
/// there would be more than [`SLICES_KEPT`], neighbours become one.
pub(crate) fn bounds(since_ns: u64, first_ns: u64) -> (u64, u64) {
    let number = since_ns / first_ns;
    let doublings = (number / SLICES_KEPT as u64).checked_ilog2().map_or(0, |more| more + 1);
    let start = (number >> doublings << doublings) * first_ns;
    (start, start.saturating_add(first_ns << doublings))
}

#[cfg(test)]
mod tests;
