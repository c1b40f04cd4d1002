//! Instants that no two points of a series share: a second one would replace the first.

use std::collections::HashSet;

/// How many instants are remembered at least, of all series together.
const REMEMBERED: usize = 1 << 20;

/// The instants that series have, as far back as memory allows. Points of the same instant come
/// close together; what is forgotten came a million points ago.
#[derive(Debug, Default)]
pub(super) struct Instants {
    present: HashSet<(u64, u16)>,
    past: HashSet<(u64, u16)>,
}

impl Instants {
    /// The first free instant of `series` from `at` on, in nanoseconds; it is taken then.
    pub(super) fn take(&mut self, series: u16, at: u64) -> u64 {
        if self.present.len() >= REMEMBERED {
            self.past = std::mem::take(&mut self.present);
        }
        let mut free = at;
        while self.past.contains(&(free, series)) || !self.present.insert((free, series)) {
            free += 1;
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_points_of_a_series_share_an_instant() {
        let mut instants = Instants::default();
        let taken: Vec<u64> = [5, 5, 6, 5, 9].map(|at| instants.take(0, at)).to_vec();
        assert_eq!(taken, [5, 6, 7, 8, 9]);
        assert_eq!(instants.take(1, 5), 5, "another series");
    }
}
