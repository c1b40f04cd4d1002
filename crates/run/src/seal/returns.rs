//! Figures of a server that lost connections: how many were restored, and from when to when it was
//! away.

use super::{Began, NS_PER_MS};
use memtide_base::Instant;
use memtide_metrics::{Absence, TallySum};
use memtide_record::{Outage, Reconnects};

/// Figures of the server that has the numbers for which `is_it` is true. Workers that lost it at
/// the same time share one outage.
pub(super) fn reconnects(
    totals: &TallySum,
    is_it: impl Fn(usize) -> bool,
    began: &Began,
) -> (Reconnects, Vec<Outage>) {
    let each = totals.absences.servers().iter().enumerate().filter(|&(number, _)| is_it(number));
    let reconnects = each.fold(Reconnects::default(), |sum, (_, of)| Reconnects {
        lost: sum.lost + of.lost,
        reconnected: sum.reconnected + of.returned,
        disconnected_ns: sum.disconnected_ns + of.away_ns,
        disconnected_ns_max: sum.disconnected_ns_max.max(of.away_ns_max),
    });
    let unix_ms = |at: Instant| began.unix_ns(at) / NS_PER_MS;
    let stretch = |absence: &Absence| Outage {
        from_unix_ms: unix_ms(absence.from),
        until_unix_ms: (absence.until != Instant::NEVER).then(|| unix_ms(absence.until)),
    };
    let kept = totals.absences.kept().iter();
    let kept = kept.filter(|absence| is_it(absence.server.index()));
    (reconnects, Outage::united(kept.map(stretch).collect()))
}
