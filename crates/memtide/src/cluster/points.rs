//! The database of an agent, where it writes points of the operations of its shares. No master
//! names it.

use memtide_schema::scenario::SpoolPlace;
use memtide_schema::{Output, Outputs};

/// The place of points, as the agent's operator has named it.
#[derive(Clone)]
pub(crate) struct OwnPoints {
    place: Output,
    spool: Option<SpoolPlace>,
}

impl OwnPoints {
    /// The database that `outputs` name, if they name one.
    pub(crate) fn of(outputs: &Outputs) -> Option<Self> {
        Some(Self { place: outputs.points()?, spool: outputs.spool.clone() })
    }

    /// Makes it an output of a share.
    pub(super) fn name_in(&self, outputs: &mut Outputs) {
        outputs.out.push(self.place.clone());
        outputs.spool = self.spool.clone();
    }
}
