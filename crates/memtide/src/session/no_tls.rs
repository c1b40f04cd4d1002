//! What stands for TLS in a program that was built without it: it refuses.

use crate::exit::Stop;
use memtide_scenario::{Scenario, Tls};
use memtide_sim::WorldFilter;
use memtide_world::{FilterPlan, ServerPlan};
use std::convert::Infallible;

/// Stands for a certificate with its key. It has no value, since TLS was not built.
pub(crate) type Material = Infallible;

/// Cause: TLS is a feature, without which this program was built.
fn refused() -> Stop {
    Stop::usage(
        "--tls: this program was built without TLS; leave the flag out, or build memtide with the \
         feature tls",
    )
}

pub(crate) fn own(_name: Option<&str>) -> Result<Material, Stop> {
    Err(refused())
}

pub(crate) fn filter(
    scenario: &Scenario,
    _servers: &[ServerPlan],
    _embedded: Option<&Material>,
) -> Result<Option<FilterPlan>, Stop> {
    if scenario.tls.on { Err(refused()) } else { Ok(None) }
}

pub(crate) fn simulated(
    scenario: &Scenario,
    _servers: &[ServerPlan],
) -> Result<Option<(FilterPlan, WorldFilter)>, Stop> {
    if scenario.tls.on { Err(refused()) } else { Ok(None) }
}

pub(crate) fn embedded(own: &Material, _tls: &Tls) -> Result<FilterPlan, Stop> {
    match *own {}
}

pub(crate) fn serving(own: Material, _tls: &Tls) -> Result<FilterPlan, Stop> {
    match own {}
}

pub(crate) fn given(tls: &Tls) -> Result<Option<Material>, Stop> {
    if tls.on { Err(refused()) } else { Ok(None) }
}

pub(crate) fn published(own: &Material) -> Result<Published, Stop> {
    match *own {}
}

/// Stands for a certificate that was written to a file. It has no value, since TLS was not built.
pub(crate) struct Published(Infallible);

impl Published {
    pub(crate) fn path(&self) -> String {
        match self.0 {}
    }
}
