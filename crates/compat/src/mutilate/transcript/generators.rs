//! The log of the originals' generators with `-vv` while connections are made: one line for each
//! distribution, with the place in Generator.h that prints it.

use crate::mutilate::numbers::Law;

/// The lines of Generator.h.
#[derive(Debug)]
pub(super) struct Generators {
    fixed: u16,
    uniform: u16,
    /// A uniform distribution with two bounds, if the program has one.
    between: Option<u16>,
    normal: u16,
    exponential: u16,
    pareto: u16,
    gev: u16,
}

pub(super) const MUTILATE: Generators = Generators {
    fixed: 53,
    uniform: 66,
    between: None,
    normal: 85,
    exponential: 107,
    pareto: 127,
    gev: 150,
};
pub(super) const MCPERF: Generators = Generators {
    fixed: 53,
    uniform: 75,
    between: Some(86),
    normal: 104,
    exponential: 126,
    pareto: 146,
    gev: 169,
};

impl Generators {
    /// The line of a generator that draws `law`.
    pub(super) fn line(&self, law: Law) -> String {
        let (line, words) = match law {
            Law::Fixed(value) => (self.fixed, format!("Fixed({value:.6})")),
            Law::Uniform { least, most } => match self.between {
                Some(line) => (line, format!("Uniform({least:.6}..{most:.6})")),
                None => (self.uniform, format!("Uniform({most:.6})")),
            },
            Law::Normal { mean, deviation } | Law::OriginalNormal { mean, deviation } => {
                (self.normal, format!("Normal(mean={mean:.6}, sd={deviation:.6})"))
            }
            Law::Exponential { rate } => {
                (self.exponential, format!("Exponential(lambda={rate:.6})"))
            }
            Law::Pareto { location, scale, shape } => (
                self.pareto,
                format!("GPareto(loc={location:.6}, scale={scale:.6}, shape={shape:.6})"),
            ),
            Law::Gev { location, scale, shape } => {
                (self.gev, format!("GEV(loc={location:.6}, scale={scale:.6}, shape={shape:.6})"))
            }
            // The parameters of Facebook's ETC pool, as the originals have them.
            Law::FacebookKey => {
                return self.line(Law::Gev { location: 30.7984, scale: 8.20449, shape: 0.078688 });
            }
            Law::FacebookValue => {
                let (location, scale, shape) = (15.0, 214.476, 0.348238);
                return self.line(Law::Pareto { location, scale, shape });
            }
            Law::FacebookGap => {
                let (location, scale, shape) = (0.0, 16.0292, 0.154971);
                return self.line(Law::Pareto { location, scale, shape });
            }
        };
        format!("Generator.h({line}): {words}\n")
    }
}

#[cfg(test)]
mod tests;
