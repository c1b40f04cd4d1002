//! Readings of the machine as planted texts.

use super::*;

const DEV: &str = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop\n    \
                   lo: 100 2 0 3 0 0 0 0 200 2 0 4 0 0 0 0\n  \
                   eth0:10 1 0 0 0 0 0 0 20 1 0 1 0 0 0 0\n";
const SNMP: &str = "Ip: A B\nIp: 1 2\nTcp: RtoMin OutSegs RetransSegs InErrs\nTcp: 1 2 42 0\n";

#[test]
fn the_kernels_tables_are_read() {
    assert_eq!(network(DEV), Some([110, 220, 8]));
    assert_eq!(network("no table"), None);
    assert_eq!(retransmits(SNMP), Some(42));
    assert_eq!(retransmits("Tcp: RtoMin\n"), None);
    assert_eq!(runnable("cpu 1 2\nprocs_running 3\n"), Some(3));
}

#[test]
fn a_second_is_what_grew_since_the_reading_before() {
    let ticks = |busy: u64, idle: u64| {
        Ticks::of(&format!("cpu {busy} 0 0 {idle} 0 0 0 0\ncpu0 {busy} 0 0 {idle} 0 0 0 0\n"))
    };
    let before = Reading { ticks: ticks(100, 100), network: Some([5, 6, 7]), retransmits: Some(1) };
    let now = Reading { ticks: ticks(175, 125), network: Some([15, 36, 7]), retransmits: None };
    let second = now.since(&before);
    assert_eq!((second.cpu_busy, second.cpu_busy_max), (Some(0.75), Some(0.75)));
    assert_eq!((second.received_bytes, second.sent_bytes), (Some(10), Some(30)));
    assert_eq!((second.dropped_packets, second.retransmits), (Some(0), None));
}

#[test]
fn this_machine_has_a_second() {
    let mut reader = SecondReader::default();
    assert_eq!(reader.read(), None);
    assert!(reader.read().expect("a second reading").available_bytes.is_some());
}
