//! A share as a master asks for it: read, and refused if no master of this version asks for it, or
//! if it decides what is not the master's to decide. Nothing is resolved or planned yet.

use super::Law;
use crate::message::{Share, Step};
use memtide_base::Span;
use memtide_scenario::{Settings, from_toml};

/// The highest rate of a step, in operations per second.
const RATE_MAX: f64 = 1e9;
/// The longest rest of the servers before a step.
const REST_MAX: Span = Span::from_s(60);

/// The settings that a master sends with a share.
#[derive(Clone, Debug)]
pub struct AskedShare {
    /// The settings, which all shares of the run have.
    pub settings: Settings,
    /// The settings with the rate of the step, if the share is of a search or scan.
    pub sent: Settings,
}

impl AskedShare {
    /// Reads a share.
    ///
    /// # Errors
    /// A sentence that says what cannot be carried out.
    pub fn read(share: &Share) -> Result<Self, String> {
        let layer = from_toml(&share.scenario, "the master's scenario");
        let mut settings = Settings::default();
        let applied = layer.and_then(|layer| settings.apply(&layer));
        applied.map_err(|error| error.to_string())?;
        if share.units == 0 || share.number >= share.of || share.units > share.of - share.number {
            return Err(format!(
                "there is no share {} of {}; use the same version of memtide on both machines",
                share.number, share.of
            ));
        }
        Law::check_fields(&settings)?;
        let mut sent = settings.clone();
        if let Some(step) = &share.step {
            check_step(step)?;
            sent.scenario.rate = step.rate_per_s;
        }
        match sent.check().into_iter().next() {
            Some(problem) => Err(problem.to_string()),
            None => Ok(Self { settings, sent }),
        }
    }
}

/// Refuses a step that no master of this version asks for.
fn check_step(step: &Step) -> Result<(), String> {
    let is_rate = |rate: f64| rate > 0.0 && rate <= RATE_MAX;
    match step {
        Step { rate_per_s: Some(rate), .. } if !is_rate(*rate) => {
            Err(format!("the master asked for a rate of {rate}/s, which is not possible"))
        }
        Step { rest_ns, .. } if *rest_ns > REST_MAX.ns() => {
            Err(format!("the master asked for a pause of {} ns, which is too long", rest_ns))
        }
        _ => Ok(()),
    }
}
