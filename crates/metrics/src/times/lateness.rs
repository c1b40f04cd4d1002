//! How long workers were late towards a server: what bounds the delay that one worker's lateness may
//! have caused the operations of another.

/// Lateness up to this, in ns, begins no stretch.
pub const LATE_MIN_NS: u64 = 2_000;

/// Number of classes of lateness: class *k* holds stretches whose largest lag is from 2^k to
/// 2^(k+1) times 2 µs; the last has no end.
pub const LATE_CLASSES: usize = 16;

/// Lateness of workers towards one server. A worker is late from the intended instant of the first
/// operation that it sends over 2 µs late until it has nothing in flight there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Measured operations that the server answered.
    pub operations: u64,
    /// Length of all workers' stretches within the measured window, by class, in ns.
    pub late_ns: [u64; LATE_CLASSES],
    /// By class, the sum over the workers of the length of a worker's stretches times its
    /// operations.
    pub weighted_ns: [u128; LATE_CLASSES],
}

impl std::ops::AddAssign<&Self> for Lateness {
    fn add_assign(&mut self, other: &Self) {
        self.operations += other.operations;
        self.late_ns.iter_mut().zip(&other.late_ns).for_each(|(sum, part)| *sum += part);
        self.weighted_ns.iter_mut().zip(&other.weighted_ns).for_each(|(sum, part)| *sum += part);
    }
}
