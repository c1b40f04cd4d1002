//! A scan: one step for each rate in a list.

use super::course::{Course, Decision, Ledger, StepResult, Trial};
use memtide_base::Rate;
use memtide_base::choice::RateUnit;
use memtide_base::units::parse_rate;
use memtide_record::GoalResult;
use memtide_record::steps::{Answer, StepRole};
use std::str::FromStr;

/// Largest number of steps of a scan, unless it is endless.
const STEPS_MAX: f64 = 10_000.0;
const GRAMMAR: &str = "a list such as 10k,20k,50k or a range such as 10k..100k+10k \
                       (10k..10k+0 repeats until interrupted)";

/// The rates of a scan.
#[derive(Clone, Debug, PartialEq)]
pub enum Rates {
    /// The listed rates.
    List(Vec<f64>),
    /// From the first to the last, both included, at a fixed distance.
    Range {
        /// The first.
        from: f64,
        /// Upper bound of the rates.
        to: f64,
        /// Distance between rates; 0 repeats the first for ever.
        step: f64,
    },
}

impl Rates {
    /// The highest rate.
    pub fn highest(&self) -> f64 {
        match self {
            Self::List(rates) => rates.iter().copied().fold(0.0, f64::max),
            Self::Range { to, .. } => *to,
        }
    }

    fn nth(&self, nth: u64) -> Option<f64> {
        match self {
            Self::List(rates) => rates.get(usize::try_from(nth).ok()?).copied(),
            Self::Range { from, to, step } => {
                let rate = from + nth as f64 * step;
                // The margin lets 0.1..0.3+0.1 reach its end.
                (rate <= to + step * 1e-6).then_some(rate)
            }
        }
    }
}

impl FromStr for Rates {
    type Err = String;

    /// Parses a list of rates, or a range.
    fn from_str(word: &str) -> Result<Self, String> {
        parse(word).map_err(|why| format!("'{word}' is not {GRAMMAR}: {why}"))
    }
}

fn parse(word: &str) -> Result<Rates, String> {
    let Some((from, rest)) = word.split_once("..") else {
        let rates = word.split(',').map(rate).collect::<Result<Vec<_>, _>>()?;
        return match rates.len() as f64 <= STEPS_MAX {
            true => Ok(Rates::List(rates)),
            false => Err(format!("more than {STEPS_MAX} rates")),
        };
    };
    let (to, step) = rest.split_once('+').ok_or("the step is missing")?;
    let (from, to, step) = (rate(from)?, rate(to)?, rate(step)?);
    if from > to {
        return Err("the end is below the start".to_owned());
    }
    if step == 0.0 && from < to {
        return Err("a step of 0 never reaches the end".to_owned());
    }
    if step > 0.0 && (to - from) / step >= STEPS_MAX {
        return Err(format!("more than {STEPS_MAX} rates"));
    }
    Ok(Rates::Range { from, to, step })
}

fn rate(word: &str) -> Result<f64, String> {
    parse_rate(word.trim()).map_err(|error| error.to_string())
}

/// A scan in progress.
#[derive(Clone, Debug)]
pub struct Scan {
    rates: Rates,
    unit: RateUnit,
    done: u64,
    judged: bool,
    ledger: Ledger,
}

impl Scan {
    /// A scan that has not begun; its rates count `unit`.
    pub fn new(rates: Rates, unit: RateUnit) -> Self {
        Self { rates, unit, done: 0, judged: false, ledger: Ledger::default() }
    }
}

impl Course for Scan {
    fn first(&mut self) -> Decision {
        let Some(per_s) = self.rates.nth(self.done) else { return Decision::Over };
        let rate = Rate::new(per_s, self.unit);
        Decision::Try(Trial { rate, role: StepRole::Scan, longer: 1 })
    }

    fn next(&mut self, result: &StepResult) -> Decision {
        self.done += 1;
        self.judged |= result.goal.is_some();
        let rate = if result.rate.per_s > 0.0 { result.rate } else { result.achieved };
        // A step decides nothing if its interval has the bound inside, or memtide made no load.
        let is_undecided = result.goal == Some(GoalResult::Undecided) && !result.behind;
        match result.spoilt || is_undecided {
            true => self.ledger.note_undecided(rate),
            false => self.ledger.note(rate, result.does()),
        }
        self.first()
    }

    /// None until a step was judged by a goal.
    fn answer(&self) -> Option<Answer> {
        self.judged.then(|| self.ledger.answer())
    }

    fn bracket(&self) -> [Option<Rate>; 2] {
        [None, None]
    }
}

#[cfg(test)]
mod tests;
