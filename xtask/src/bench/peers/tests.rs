//! Outputs of other load generators.

use super::*;
use serde_json::json;

#[test]
fn what_peers_say_is_read() {
    let shape = crate::bench::shape("any", (16, 1, 1), Which::Memcached);
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let load = Load { shape: &shape, address, seconds: 2, file: String::new() };
    let table = "#type avg std min p50 p99\nread 1.0 2.0 3.0 14.5 30.5\n";
    assert_eq!(of_table(table, &load), Some((14.5, 30.5)));
    assert_eq!(of_table("nothing", &load), None);
    let file = json!({"ALL STATS": {
        "Totals": {"Percentile Latencies": {"p50.00": 0.125, "p99.00": 0.25}},
    }});
    assert_eq!(of_memtier_file(&file.to_string()), Some((125.0, 250.0)));
    let lines = "a word\n{\"throughput\": 1, \"get\": {\"p50_us\": 1, \"p99_us\": 2.5}}\n";
    assert_eq!(of_cannon(lines, &load), Some((1.0, 2.5)));
}
