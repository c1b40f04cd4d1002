//! Randomness that is a function of a seed.
//!
//! [`hash`] computes draw `index` of stream `stream` directly, so operation i does not depend on
//! which thread asks or on earlier draws. [`Random`] is a small sequential generator. The mixer is
//! SplitMix64's finaliser (Steele, Lea, Flood: "Fast splittable pseudorandom number generators",
//! OOPSLA 2014). [`rand48_draw`] reproduces the draws of C programs. None is fit for secrets.

mod rand48;

pub use rand48::rand48_draw;

/// The purpose of a draw. Draws of different streams are independent of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(pub u64);

impl Stream {
    /// The kind of an operation.
    pub const KIND: Self = Self(1);
    /// The key of an operation.
    pub const KEY: Self = Self(2);
    /// The gap before an operation.
    pub const GAP: Self = Self(3);
    /// The length of a key.
    pub const KEY_SIZE: Self = Self(4);
    /// The bytes of a key.
    pub const KEY_BYTES: Self = Self(5);
    /// The length of a value.
    pub const VALUE_SIZE: Self = Self(6);
    /// The bytes of a value.
    pub const VALUE_BYTES: Self = Self(7);
    /// The levels of a random wave.
    pub const WAVE: Self = Self(8);
    /// The jitter of reconnecting.
    pub const RECONNECT: Self = Self(9);
    /// The keys that a probe samples.
    pub const SAMPLE: Self = Self(10);
    /// The retrievals whose values are verified.
    pub const VERIFY: Self = Self(11);
    /// The keys whose versions are tracked.
    pub const VERIFY_KEYS: Self = Self(12);
    /// The proof in a value that names its key.
    pub const VALUE_PROOF: Self = Self(13);
    /// The gap before a connection is opened, under connection churn.
    pub const OPENING: Self = Self(14);
    /// The gap before a call on a connection, under connection churn.
    pub const CALL: Self = Self(15);
    /// The entries of the cache that a walk visits.
    pub const WALK: Self = Self(16);
    /// The entries that a walk renews.
    pub const WALK_RENEWAL: Self = Self(17);
    /// The gets that request several keys.
    pub const MULTIGET: Self = Self(18);
    /// The amount that incr or decr changes a number by.
    pub const DELTA: Self = Self(19);
    /// The keys that are stored with an expiry.
    pub const EXPIRY: Self = Self(24);
    /// Times that winners take to make a value anew.
    pub const RECACHE: Self = Self(25);
    /// Draws of TLS in a simulated world: keys, numbers of sessions.
    pub const TLS: Self = Self(26);
    /// The service time of a simulated server for a request.
    pub const SERVICE: Self = Self(20);
    /// The connection that a client uses.
    pub const CONNECTION: Self = Self(23);
    /// The requests that a fault affects.
    pub const FAULT: Self = Self(21);
    /// The details of a fault's effect on a request.
    pub const FAULT_DETAIL: Self = Self(22);

    /// The stream of this purpose for one lane (a worker or a connection).
    pub const fn of_lane(self, lane: u64) -> Self {
        Self(self.0 ^ mix(lane.wrapping_add(1)))
    }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection on 64 bits in which every input bit affects every output bit.
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Draw `index` of `stream` under `seed`: 64 uniform bits.
pub const fn hash(seed: u64, stream: Stream, index: u64) -> u64 {
    Draws::new(seed, stream).bits(index)
}

/// The draws of one stream under one seed: [`hash`] with the part that does not depend on the index
/// computed once, for callers that draw often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    /// The input of the mixer for draw 0.
    origin: u64,
}

impl Draws {
    /// The draws of `stream` under `seed`.
    pub const fn new(seed: u64, stream: Stream) -> Self {
        let lane = mix(seed.wrapping_add(stream.0.wrapping_mul(GOLDEN)));
        Self { origin: lane.wrapping_add(GOLDEN) }
    }

    /// Draw `index`: 64 uniform bits.
    #[inline]
    pub const fn bits(self, index: u64) -> u64 {
        mix(self.origin.wrapping_add(index.wrapping_mul(GOLDEN)))
    }

    /// A generator seeded by draw `index`.
    #[inline]
    pub const fn generator(self, index: u64) -> Random {
        Random(self.bits(index))
    }
}

/// Maps 64 uniform bits to the open interval (0, 1). It returns neither 0 nor 1, so that inverse
/// distribution functions stay finite.
pub fn unit(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
}

/// A sequential generator (SplitMix64): 8 bytes of state, period 2^64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator with this seed.
    pub const fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// A generator seeded by draw `index` of `stream` under `seed`.
    pub const fn at(seed: u64, stream: Stream, index: u64) -> Self {
        Draws::new(seed, stream).generator(index)
    }

    /// The next 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// The next uniform number in (0, 1).
    pub fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    /// The next uniform integer in `0..bound`; `bound` must not be 0. The bias is below
    /// bound / 2^64 (Lemire's multiplication without the rejection step).
    pub fn below(&mut self, bound: u64) -> u64 {
        below(self.bits(), bound)
    }
}

/// Maps 64 uniform bits to `0..bound`; `bound` must not be 0.
pub fn below(bits: u64, bound: u64) -> u64 {
    debug_assert!(bound > 0, "an empty range has no element to draw");
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests;
