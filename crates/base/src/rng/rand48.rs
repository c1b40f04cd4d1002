//! The generator behind POSIX's `drand48` family, for runs that must draw what a C program drew.
//!
//! Its low bits are poor and its period is short, so use it for nothing else. It never seeds itself
//! from a clock.

/// Mask of the 48 bits of state.
const MASK: u64 = (1 << 48) - 1;
/// The recurrence that POSIX prescribes (drand48, "DESCRIPTION"): X → X · `FACTOR` + `ADDEND`.
const FACTOR: u64 = 0x5_deec_e66d;
const ADDEND: u64 = 0xb;

/// Several steps of the recurrence combined into one of the form X → X · factor + addend.
#[derive(Clone, Copy)]
struct Step {
    factor: u64,
    addend: u64,
}

impl Step {
    const fn apply(self, state: u64) -> u64 {
        state.wrapping_mul(self.factor).wrapping_add(self.addend) & MASK
    }

    /// This step followed by `next`.
    const fn then(self, next: Self) -> Self {
        let factor = self.factor.wrapping_mul(next.factor) & MASK;
        Self { factor, addend: next.apply(self.addend) }
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

/// Draw `index` (from 0) of `erand48` that starts from C's `unsigned short xsubi[3]`, lowest word
/// first: a multiple of 2^-48 in [0, 1). 0 comes once in a period; every law whose quantile is
/// finite at 0 accepts it. Takes one step for each bit that is set in `index`.
pub fn rand48_draw(words: [u16; 3], index: u64) -> f64 {
    let [low, middle, high] = words.map(u64::from);
    let mut state = low | middle << 16 | high << 32;
    let mut steps = index.wrapping_add(1) & MASK;
    while steps > 0 {
        state = POWERS[steps.trailing_zeros() as usize].apply(state);
        steps &= steps - 1;
    }
    state as f64 * (1.0 / (1u64 << 48) as f64)
}

#[cfg(test)]
mod tests;
