//! A plan over TLS, for the tests that want one.

use memtide_base::choice::TlsVersion;
use memtide_sim::{WorldClock, WorldFilter};
use memtide_tls::{SimulatedOptions, simulated};
use memtide_world::Plan;

/// `plan` over TLS, and the filter of its servers.
pub fn encrypted(plan: &Plan) -> (Plan, Option<WorldFilter>) {
    let options = SimulatedOptions { seed: 1, least: TlsVersion::V1_2, resumes: true };
    let clock = WorldClock::default();
    let read = clock.clone();
    let names: Vec<String> = plan.servers.iter().map(|server| server.name.clone()).collect();
    let ends = simulated(&options, move || read.since_unix(), &names);
    let (client, filters) = ends.expect("the certificate in the tree is right");
    (Plan { filter: Some(client), ..plan.clone() }, Some(WorldFilter { filters, clock }))
}
