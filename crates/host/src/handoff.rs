//! The hand-over of a worker's tally. One parcel circulates: the worker fills it when it is empty,
//! the collector empties it when it is full. Neither ever waits for the other, and the worker
//! allocates nothing.

#[cfg(all(test, loom))]
use loom::sync::Arc;
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicPtr, Ordering};
use memtide_metrics::Tally;
use memtide_world::WorkerReport;
use std::ptr;
#[cfg(not(all(test, loom)))]
use std::sync::Arc;
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicPtr, Ordering};

/// The tally and report that are handed over.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(crate) tally: Box<Tally>,
    pub(crate) report: WorkerReport,
}

/// The parcel while neither side holds it. At most one of the two slots is occupied.
///
/// Each pair has cache lines of its own: a worker's hand-over must not slow down its neighbour's.
#[derive(Debug)]
#[repr(align(128))]
struct Slots {
    full: AtomicPtr<Parcel>,
    empty: AtomicPtr<Parcel>,
}

impl Drop for Slots {
    fn drop(&mut self) {
        for slot in [&self.full, &self.empty] {
            let parcel = slot.swap(ptr::null_mut(), Ordering::AcqRel);
            if !parcel.is_null() {
                // SAFETY: a pointer in a slot came from `Box::into_raw`, and the swap above made us
                // its only holder.
                drop(unsafe { Box::from_raw(parcel) });
            }
        }
    }
}

/// The worker's side.
#[derive(Debug)]
pub(crate) struct Giver(Arc<Slots>);

/// The collector's side.
#[derive(Debug)]
pub(crate) struct Taker(Arc<Slots>);

/// Both sides, with nothing between them yet.
pub(crate) fn handoff() -> (Giver, Taker) {
    let slots = Arc::new(Slots {
        full: AtomicPtr::new(ptr::null_mut()),
        empty: AtomicPtr::new(ptr::null_mut()),
    });
    (Giver(Arc::clone(&slots)), Taker(slots))
}

impl Giver {
    /// Puts an empty parcel between the sides, once. The worker makes it, so that all that a worker
    /// writes into was allocated by its own thread, apart from what others write.
    pub(crate) fn stock(&mut self, empty: Parcel) {
        put(&self.0.empty, Box::new(empty));
    }

    /// Hands over `tally` and replaces it by an empty one. If the collector is behind, the worker
    /// keeps the same tally, and the answer is false.
    pub(crate) fn give(&mut self, tally: &mut Box<Tally>, report: WorkerReport) -> bool {
        let parcel = self.0.empty.swap(ptr::null_mut(), Ordering::Acquire);
        if parcel.is_null() {
            return false;
        }
        // SAFETY: a pointer in a slot came from `Box::into_raw`, and the swap above made us its
        // only holder.
        let mut parcel = unsafe { Box::from_raw(parcel) };
        std::mem::swap(&mut parcel.tally, tally);
        parcel.report = report;
        put(&self.0.full, parcel);
        true
    }
}

impl Taker {
    /// Passes the parcel to `read` if one was handed over; `read` must leave the tally empty.
    pub(crate) fn take(&mut self, read: impl FnOnce(&mut Parcel)) {
        let parcel = self.0.full.swap(ptr::null_mut(), Ordering::Acquire);
        if parcel.is_null() {
            return;
        }
        // SAFETY: as in `give`.
        let mut parcel = unsafe { Box::from_raw(parcel) };
        read(&mut parcel);
        put(&self.0.empty, parcel);
    }
}

/// Puts `parcel` into a slot, which is empty because there is only one parcel.
fn put(slot: &AtomicPtr<Parcel>, parcel: Box<Parcel>) {
    let before = slot.swap(Box::into_raw(parcel), Ordering::AcqRel);
    assert!(before.is_null(), "there is one parcel");
}

// The path is for loom's crate, which includes this file.
#[cfg(all(test, not(loom)))]
#[path = "handoff/tests.rs"]
mod tests;
