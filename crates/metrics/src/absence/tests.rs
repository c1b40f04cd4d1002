//! Absences that several workers saw add up.

use super::*;

#[test]
fn what_workers_saw_adds_up() {
    let (mut part, mut sum) = (Absences::reserved(2, 1), Absences::of_run(2));
    let (one, ms) = (ServerId(1), |ms: u64| Instant::from_ns(ms * 1_000_000));
    for from in [10, 50] {
        part.lost(one);
        part.lost(one);
        part.returned(one, 7_000_000);
        part.push(Absence { server: one, from: ms(from), until: ms(from + 7) });
        part.push(Absence { server: one, from: ms(99), until: Instant::NEVER });
        sum.absorb(&part);
        part.clear();
    }
    let both = Returns { lost: 4, returned: 2, away_ns: 14_000_000, away_ns_max: 7_000_000 };
    assert_eq!(sum.servers(), [Returns::default(), both]);
    let from: Vec<Instant> = sum.kept().iter().map(|absence| absence.from).collect();
    assert_eq!(from, [ms(10), ms(50)], "what does not fit is left out");
    assert_eq!(part, Absences::reserved(2, 1));
}
