//! What is said of a server whose connections were lost: how many came back, and from when to when
//! it was away.

use super::{Began, NS_PER_MS};
use memtide_base::Instant;
use memtide_metrics::{Absence, Totals};
use memtide_schema::record::{Away, Returns};

/// Of server `number`. Workers that saw it away at the same time saw the same stretch.
pub(super) fn returns(totals: &Totals, number: usize, began: &Began) -> (Returns, Vec<Away>) {
    let of = totals.absences.servers()[number];
    let returns = Returns {
        lost: of.lost,
        returned: of.returned,
        away_ns: of.away_ns,
        away_ns_max: of.away_ns_max,
    };
    let unix_ms = |at: Instant| began.unix_ns(at) / NS_PER_MS;
    let stretch = |absence: &Absence| Away {
        from_unix_ms: unix_ms(absence.from),
        until_unix_ms: (absence.until != Instant::NEVER).then(|| unix_ms(absence.until)),
    };
    let kept = totals.absences.kept().iter();
    let kept = kept.filter(|absence| absence.server.index() == number);
    (returns, Away::united(kept.map(stretch).collect()))
}
