//! Which silences count, what processes have in common, and rhythms.

use super::*;
use crate::record::ServerRecord;

const MS: u64 = 1_000_000;

fn times(stretches: &[(u64, u64)]) -> Vec<SilentTime> {
    let time =
        |&(from, until): &(u64, u64)| SilentTime { from_ns: from * MS, until_ns: until * MS };
    stretches.iter().map(time).collect()
}

fn silence(reply_ms: u64, stretches: &[(u64, u64)]) -> Option<ServerSilence> {
    ServerSilence::of(reply_ms * MS, times(stretches))
}

/// A closed loop of 12 s with one server.
fn record(silence: Option<ServerSilence>) -> Record {
    let server = ServerRecord { name: "a:1".to_owned(), silence, ..ServerRecord::default() };
    Record { measured_s: 12.0, servers: vec![server], ..Record::default() }
}

#[test]
fn a_silence_is_longer_than_100_ms_and_twenty_reply_times() {
    assert_eq!(silence(0, &[(0, 99)]), None);
    assert_eq!(silence(1, &[(0, 99), (200, 300)]).unwrap().times, times(&[(200, 300)]));
    assert_eq!(silence(50, &[(0, 999), (2_000, 2_600)]), None);
    assert_eq!(silence(50, &[(0, 1_000)]).unwrap().total_s(), 1.0);
}

#[test]
fn a_silence_of_all_is_one_in_which_none_had_a_reply() {
    let one = silence(1, &[(0, 1_000), (5_000, 5_150)]).unwrap();
    let two = silence(3, &[(400, 2_000), (5_100, 5_250)]).unwrap();
    let both = one.common(&two).unwrap();
    assert_eq!((both.reply_ns, &both.times), (3 * MS, &times(&[(400, 1_000)])));
    assert_eq!(two.common(&one), Some(both));
    assert_eq!(one.common(&silence(1, &[(1_000, 5_000)]).unwrap()), None);
}

#[test]
fn a_silence_is_said_with_its_length_and_its_rhythm() {
    let message = |silence| match &record(silence).silences()[..] {
        [] => String::new(),
        [warning] => warning.message(),
        more => panic!("{more:?}"),
    };
    assert_eq!(message(None), "");
    assert_eq!(
        message(silence(0, &[(3_000, 9_000)])),
        "a:1 was silent for 6.0 of 12.0 s: no reply from 3 s to 9 s, while operations were in \
         flight"
    );
    let even = [(500, 800), (2_510, 2_810), (4_490, 4_800), (6_500, 6_790), (8_500, 8_800)];
    assert_eq!(
        message(silence(0, &even)),
        "a:1 stalled 5 times for 300 ms, every 2.0 s: it was silent for 1.5 of 12.0 s"
    );
    // Three have no rhythm, nor have four at any distance.
    for uneven in [&even[..3], &[(0, 300), (400, 700), (3_000, 3_300), (9_000, 9_300)]] {
        assert!(!message(silence(0, uneven)).contains("every"), "{uneven:?}");
    }
}

/// 6 of 12 s in which a closed loop sent nothing left p99 as if nothing had been.
#[test]
fn a_silence_spoils_a_closed_loop_unless_it_is_too_short_to_be_seen() {
    let check = record(silence(0, &[(3_000, 9_000)])).silence_check().unwrap();
    assert_eq!((check.code, check.result), (CheckKind::Silence, CheckResult::Failed));
    assert_eq!(check.measured, Some(0.5));
    assert_eq!(record(None).silence_check(), None);
    let long = Record { measured_s: 3_600.0, ..record(silence(0, &[(3_000, 3_200)])) };
    assert_eq!((long.silences().len(), long.silence_check()), (1, None));
}
