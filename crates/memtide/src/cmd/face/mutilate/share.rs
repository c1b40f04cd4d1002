//! The masterless mode as a share of one run, if the environment requests it: the command line
//! knows of no other process.

use super::refusal;
use memtide_compat::Stop;
use memtide_compat::mutilate::{Mode, Options};
use memtide_scenario::{Layer, Settings};
use memtide_session::placement::{division, variable};

/// The fields that the environment may set: the share, how shares begin together, and the
/// destination of the record from which they are merged.
const FIELDS: [&str; 5] = [
    "MEMTIDE_SHARD",
    "MEMTIDE_START_AT",
    "MEMTIDE_BARRIER",
    "MEMTIDE_BARRIER_TIMEOUT",
    "MEMTIDE_JSON",
];

/// Makes the masterless mode of `options` a share, if `MEMTIDE_SHARD` is set.
///
/// # Errors
/// If a variable has a value that is not allowed, or no record is written.
pub(super) fn take(options: &mut Options, settings: &mut Settings) -> Result<(), Stop> {
    let is_share = options.mode == Mode::Masterless && variable(FIELDS[0]).is_some();
    if !is_share {
        return Ok(());
    }
    let said = FIELDS.iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?)));
    let layer = Layer::from_environment(said);
    let applied = layer.and_then(|layer| settings.apply(&layer));
    applied.map_err(|error| refusal(&error.to_string()))?;
    let division = division(settings.placement.shard, &variable);
    let Some(division) = division.map_err(|stop| refusal(&in_variables(&stop.message)))? else {
        return Ok(());
    };
    // Connections and threads are per process; the rate is that of all processes.
    let connections = &mut settings.scenario.connections;
    *connections = connections.map(|own| own.saturating_mul(division.share.of));
    options.output.json = options.output.json.take().or(settings.outputs.json.take());
    match options.output.json {
        Some(_) => Ok(()),
        None => Err(refusal(
            "a share needs --json FILE, or MEMTIDE_JSON: only memtide merge shows the result of \
             all shares, and it reads their records",
        )),
    }
}

/// `message` with the variables of shares in place of the flags of memtide, which have their names.
pub(super) fn in_variables(message: &str) -> String {
    // `--json` is an option of the faces too. The longer of two names that begin alike comes first.
    let names = FIELDS.iter().rev().filter(|name| **name != "MEMTIDE_JSON");
    names.fold(message.to_owned(), |text, name| {
        let field = name.trim_start_matches("MEMTIDE_").to_lowercase().replace('_', "-");
        let with_value = text.replace(&format!("--{field} "), &format!("{name}="));
        with_value.replace(&format!("--{field}"), name)
    })
}
