//! The generator behind POSIX's `drand48` family, as a value, for runs that must draw what a C
//! program drew.
//!
//! Its low bits are poor and its period is short, so use it for nothing else. It never seeds itself
//! from a clock.

/// Mask of the 48 bits of state.
const MASK: u64 = (1 << 48) - 1;
/// The recurrence that POSIX prescribes (drand48, "DESCRIPTION"): X → X · `FACTOR` + `ADDEND`.
const FACTOR: u64 = 0x5_deec_e66d;
const ADDEND: u64 = 0xb;

/// The linear congruential generator of `erand48`, with 48 bits of state.
///
/// Draw i is computed from the seed in a few steps ([`Rand48::skip`]), and several parties can
/// divide one stream between them without coordination ([`Rand48::every`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rand48 {
    state: u64,
    step: Step,
}

/// Several steps of the recurrence combined into one of the form X → X · factor + addend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    factor: u64,
    addend: u64,
}

impl Step {
    const NONE: Self = Self { factor: 1, addend: 0 };

    const fn apply(self, state: u64) -> u64 {
        state.wrapping_mul(self.factor).wrapping_add(self.addend) & MASK
    }

    /// This step followed by `next`.
    const fn then(self, next: Self) -> Self {
        let factor = self.factor.wrapping_mul(next.factor) & MASK;
        Self { factor, addend: next.apply(self.addend) }
    }

    /// This step repeated `times` times, by repeated squaring.
    const fn times(self, mut times: u64) -> Self {
        let (mut sum, mut power) = (Self::NONE, self);
        while times > 0 {
            if times & 1 == 1 {
                sum = sum.then(power);
            }
            power = power.then(power);
            times >>= 1;
        }
        sum
    }
}

/// For each k, the step that applies the recurrence 2^k times.
const POWERS: [Step; 48] = {
    let mut powers = [Step { factor: FACTOR, addend: ADDEND }; 48];
    let mut k = 1;
    while k < powers.len() {
        powers[k] = powers[k - 1].then(powers[k - 1]);
        k += 1;
    }
    powers
};

/// Converts a state to `erand48`'s number: a multiple of 2^-48 in [0, 1).
fn unit_of(state: u64) -> f64 {
    state as f64 * (1.0 / (1u64 << 48) as f64)
}

impl Rand48 {
    /// The generator that starts from C's `unsigned short xsubi[3]`, lowest word first.
    pub const fn new(words: [u16; 3]) -> Self {
        let [low, middle, high] = words;
        let state = low as u64 | (middle as u64) << 16 | (high as u64) << 32;
        Self { state, step: Step { factor: FACTOR, addend: ADDEND } }
    }

    /// The next number of `erand48`: a multiple of 2^-48 in [0, 1). 0 comes once in a period; every
    /// law whose quantile is finite at 0 accepts it.
    pub fn unit(&mut self) -> f64 {
        self.state = self.step.apply(self.state);
        unit_of(self.state)
    }

    /// Draw `index` (from 0) of the generator seeded with `words`. Takes one step for each bit that
    /// is set in `index`.
    pub fn draw(words: [u16; 3], index: u64) -> f64 {
        let mut state = Self::new(words).state;
        let mut steps = index.wrapping_add(1) & MASK;
        while steps > 0 {
            state = POWERS[steps.trailing_zeros() as usize].apply(state);
            steps &= steps - 1;
        }
        unit_of(state)
    }

    /// This generator after its next `draws` draws.
    #[must_use]
    pub const fn skip(self, draws: u64) -> Self {
        Self { state: self.step.times(draws).apply(self.state), ..self }
    }

    /// Every `stride`-th draw, beginning with the next one; `stride` must not be 0. When n parties
    /// share a stream, party i takes `skip(i).every(n)`.
    #[must_use]
    pub const fn every(self, stride: u64) -> Self {
        assert!(stride > 0, "a stride of 0 would repeat one draw for ever");
        // One step of the new recurrence must give the draw that is next now: go back `stride` old
        // steps and one on. The recurrence's order divides 2^48, so going on by 2^48 - n steps goes
        // back by n.
        let back = (MASK + 1).wrapping_sub((stride - 1) & MASK);
        let state = self.step.times(back).apply(self.state);
        Self { state, step: self.step.times(stride) }
    }
}

#[cfg(test)]
mod tests;
