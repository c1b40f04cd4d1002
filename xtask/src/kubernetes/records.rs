//! Checks of a merged record of a run on the cluster, against the server's own counters.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// The server's counters that memtide predicts.
const COUNTERS: [&str; 2] = ["cmd_get", "cmd_set"];
const PATIENCE: Duration = Duration::from_secs(5);

/// A memcached under load.
pub(super) struct Server(pub(super) Ipv4Addr, pub(super) u16);

impl Server {
    /// The server's counters, by name.
    ///
    /// # Errors
    /// If it does not answer.
    pub(super) fn counters(&self) -> Result<BTreeMap<String, u64>, String> {
        let text = self.said("stats\r\nquit\r\n")?;
        let words = text.lines().filter_map(|line| line.strip_prefix("STAT ")?.split_once(' '));
        Ok(words.filter_map(|(name, count)| Some((name.to_owned(), count.parse().ok()?))).collect())
    }

    /// Removes all items.
    ///
    /// # Errors
    /// If it does not answer.
    pub(super) fn flush(&self) -> Result<(), String> {
        self.said("flush_all\r\nquit\r\n").map(drop)
    }

    fn said(&self, words: &str) -> Result<String, String> {
        let failed = |error: std::io::Error| format!("memcached at {}:{}: {error}", self.0, self.1);
        let mut stream = TcpStream::connect((self.0, self.1)).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        stream.write_all(words.as_bytes()).map_err(failed)?;
        let mut text = String::new();
        stream.read_to_string(&mut text).map_err(failed)?;
        Ok(text)
    }
}

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

/// Compares memtide's predictions with the server's counts between two readings.
///
/// # Errors
/// If they differ, or if the record does not say that memtide compared them, too.
pub(super) fn counted(
    record: &Value,
    [before, after]: [&BTreeMap<String, u64>; 2],
) -> Result<String, String> {
    let mut said = Vec::new();
    for name in COUNTERS {
        let ours = record["server"]["expected"]["counters"][name]["ours"].as_u64();
        let grown = after.get(name).zip(before.get(name)).map(|(after, before)| after - before);
        if ours.is_none() || ours != grown {
            return Err(format!("{name}: memtide has {ours:?}, the server {grown:?}"));
        }
        said.push(format!("{name} {}", grown.unwrap_or_default()));
    }
    let checks = record["believable"]["checks"].as_array();
    let check = checks.into_iter().flatten().find(|check| check["code"] == "server_counters");
    match check {
        Some(check) if check["result"] == "passed" => Ok(said.join(", ")),
        other => Err(format!("the check server_counters is {other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record() -> Value {
        json!({
            "totals": {"intended": 9, "answered": 9, "keys": 8, "hits": 8},
            "shards": [{}, {}],
            "server": {"expected": {"counters": {
                "cmd_get": {"ours": 8}, "cmd_set": {"ours": 1},
            }}},
            "believable": {"checks": [{"code": "server_counters", "result": "passed"}]},
        })
    }

    #[test]
    fn a_record_without_a_share_a_hit_or_an_answer_has_no_figures() {
        assert!(figures(&record(), 2, true).unwrap().contains("hits 8 of 8"));
        assert!(figures(&record(), 3, true).is_err());
        for (name, count) in [("hits", 7), ("answered", 8), ("keys", 0)] {
            let mut wrong = record();
            wrong["totals"][name] = json!(count);
            assert!(figures(&wrong, 2, true).is_err(), "{name}");
        }
    }

    #[test]
    fn keys_of_a_share_that_did_not_fill_are_not_found() {
        let mut record = record();
        record["totals"]["hits"] = json!(6);
        assert!(figures(&record, 2, false).unwrap().contains("hits 6 of 8"));
    }

    #[test]
    fn the_server_has_counted_what_memtide_has() {
        let at = |get: u64, set: u64| {
            BTreeMap::from([("cmd_get".to_owned(), get), ("cmd_set".to_owned(), set)])
        };
        assert_eq!(counted(&record(), [&at(1, 1), &at(9, 2)]).unwrap(), "cmd_get 8, cmd_set 1");
        assert!(counted(&record(), [&at(1, 1), &at(9, 3)]).is_err());
        let mut skipped = record();
        skipped["believable"]["checks"][0]["result"] = json!("skipped");
        assert!(counted(&skipped, [&at(1, 1), &at(9, 2)]).is_err());
    }
}
