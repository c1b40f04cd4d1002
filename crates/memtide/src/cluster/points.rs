//! The database to which an agent writes points of its shares' operations. No master chooses it.

use memtide_schema::scenario::SpoolPlace;
use memtide_schema::{Output, Outputs};

/// Destination of points, as the agent's operator named it.
#[derive(Clone)]
pub(crate) struct OwnPoints {
    place: Output,
    spool: Option<SpoolPlace>,
}

impl OwnPoints {
    /// The database that `outputs` name, if any.
    pub(crate) fn of(outputs: &Outputs) -> Option<Self> {
        Some(Self { place: outputs.points()?, spool: outputs.spool.clone() })
    }

    /// Adds it to the outputs of a share.
    pub(super) fn name_in(&self, outputs: &mut Outputs) {
        outputs.out.push(self.place.clone());
        outputs.spool = self.spool.clone();
    }
}
