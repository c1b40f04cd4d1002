//! Checks of a merged record of a run on the cluster, against the server's own counters.

use serde_json::Value;

/// The server's counters that memtide predicts.
const COUNTERS: [&str; 2] = ["cmd_get", "cmd_set"];

/// The figures of a run of `shares` shares, in words.
///
/// # Errors
/// If shares are missing, an operation was not answered, or, if all shares have filled the server,
/// a key was not found.
pub(super) fn figures(record: &Value, shares: usize, is_filled: bool) -> Result<String, String> {
    let totals = &record["totals"];
    let count = |name: &str| totals[name].as_u64().unwrap_or_default();
    let merged = record["shards"].as_array().map_or(0, Vec::len);
    if merged != shares {
        return Err(format!("{merged} shares were merged, not {shares}"));
    }
    let (intended, answered) = (count("intended"), count("answered"));
    if answered != intended || answered == 0 {
        return Err(format!("{answered} of {intended} operations were answered"));
    }
    let (keys, hits) = (count("keys"), count("hits"));
    if keys == 0 || (hits != keys && is_filled) {
        return Err(format!("{hits} of {keys} keys were found"));
    }
    let rate = record["rate"]["achieved_per_s"]
        .as_f64()
        .map_or("no".to_owned(), |rate| format!("{rate:.0}/s"));
    let skew = record["start_skew_ns"]
        .as_f64()
        .map_or("unknown".to_owned(), |ns| format!("{:.3} ms", ns / 1e6));
    let io = record["plan"]["io"].as_str().unwrap_or("?");
    Ok(format!(
        "{merged} shares, {answered} operations answered, {rate} of them, hits {hits} of {keys}, \
         start skew {skew}, {io}"
    ))
}

/// Compares memtide's predictions with the commands that the server counted meanwhile.
///
/// # Errors
/// If they differ, or if the record does not say that memtide compared them, too.
pub(super) fn counted(record: &Value, commands: u64) -> Result<String, String> {
    let counters = &record["server"]["expected"]["counters"];
    let ours: Option<u64> = COUNTERS.iter().map(|name| counters[name]["ours"].as_u64()).sum();
    if ours != Some(commands) {
        return Err(format!("gets and sets: memtide has {ours:?}, the server {commands}"));
    }
    let checks = record["believable"]["checks"].as_array();
    let check = checks.into_iter().flatten().find(|check| check["code"] == "server_counters");
    match check {
        Some(check) if check["result"] == "passed" => Ok(format!("{commands} gets and sets")),
        other => Err(format!("the check server_counters is {other:?}")),
    }
}

#[cfg(test)]
mod tests;
