//! What stands for TLS in a program that was built without it: it refuses.

use crate::exit::Stop;
use memtide_scenario::{Scenario, Tls};
use memtide_sim::WorldFilter;
use memtide_world::{FilterPlan, ServerPlan};
use std::convert::Infallible;
use std::net::IpAddr;

/// Stands for a certificate with its key. It has no value, since TLS was not built.
pub(super) type Material = Infallible;

fn refused() -> Stop {
    Stop::usage(
        "--tls: this program was built without TLS; leave the flag out, or build memtide with the \
         feature tls",
    )
}

pub(super) fn own(_name: Option<&str>) -> Result<Material, Stop> {
    Err(refused())
}

pub(super) fn filter(
    scenario: &Scenario,
    _servers: &[ServerPlan],
    _embedded: Option<&Material>,
) -> Result<Option<FilterPlan>, Stop> {
    if scenario.tls.on { Err(refused()) } else { Ok(None) }
}

pub(super) fn simulated(
    scenario: &Scenario,
    _servers: &[ServerPlan],
) -> Result<Option<(FilterPlan, WorldFilter)>, Stop> {
    if scenario.tls.on { Err(refused()) } else { Ok(None) }
}

pub(super) fn embedded(own: &Material, _tls: &Tls) -> Result<FilterPlan, Stop> {
    match *own {}
}

/// No filter.
///
/// # Errors
/// If the server is to use TLS.
pub fn secured(
    tls: &Tls,
    _listen: IpAddr,
) -> Result<(Option<FilterPlan>, Option<Published>), Stop> {
    if tls.on { Err(refused()) } else { Ok((None, None)) }
}

/// Stands for a certificate that was written to a file. It has no value, since TLS was not built.
pub struct Published(Infallible);

impl Published {
    /// The path of the file.
    pub fn path(&self) -> String {
        match self.0 {}
    }
}
