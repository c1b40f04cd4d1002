//! What servers of the meta protocol do wrong: quiet replies or the answer to `mn` that never come,
//! lines without an end, opaques that lie, values that are too large. Every run ends in virtual
//! time, `Ran::check` has every operation end once, and the cause has a name.

use crate::prelude::*;
use memtide_metrics::ErrorClass;
use memtide_workload::ValueSpace;
use memtide_world::{Matching, Refill};

/// The instant from which servers say something else.
const FROM: u64 = 400;

/// A thousand operations in a second over meta, one at a time on each connection.
fn over_meta(mix: &str, multiget: u16) -> Plan {
    let timeout = Span::from_ms(100);
    let mut plan = Plan { connections: 2, depth: 1, timeout, ..plan() }.mixing(mix);
    plan.requests.protocol = Protocol::Meta;
    plan.source.multiget = multiget;
    plan
}

/// Servers that send these bytes in place of every answer.
fn saying(words: &'static [u8]) -> Script {
    Script { says: Some((ms(FROM), words)), ..Script::default() }
}

fn errors(ran: &Ran, class: ErrorClass) -> u64 {
    ran.all().errors[class as usize]
}

/// A line that is longer than any, without its end.
const fn endless<const N: usize>(start: &[u8]) -> [u8; N] {
    let mut line = [b'o'; N];
    let mut at = 0;
    while at < start.len() {
        line[at] = start[at];
        at += 1;
    }
    line
}

#[test]
fn keys_whose_quiet_replies_never_come_are_misses() {
    let ran = run(&over_meta("get=1", 3), saying(b"MN\r\n"));
    let measured = ran.measured();
    assert_eq!((measured.answered, measured.timed_out, measured.lost), (1_000, 0, 0));
    assert_eq!((measured.keys, measured.hits + measured.misses), (3_000, 3_000));
    // Those of the last 650 ms of the window find nothing.
    assert!(measured.misses >= 3 * 645, "{} misses", measured.misses);
}

#[test]
fn without_the_answer_to_mn_several_keys_time_out() {
    for words in [&b"VA 1 kx\r\na\r\n"[..], b""] {
        let ran = run(&over_meta("get=1", 3), saying(words));
        let measured = ran.measured();
        // One on each connection; the rest find no connection with room.
        assert_eq!(measured.answered + measured.timed_out, 1_000);
        assert_eq!(measured.timed_out - measured.timed_out_queued, 2);
        assert!(measured.timed_out >= 645, "{} timed out", measured.timed_out);
        assert_eq!(ran.totals.all_connections().lost, 0, "nothing was said that is wrong");
        assert!(ran.ended <= ms(1_250), "it ends at {:?}", ran.ended);
    }
}

#[test]
fn values_that_nobody_asked_for_break_the_connection() {
    let words = b"VA 1 kx\r\na\r\nVA 1 kx\r\na\r\nVA 1 kx\r\na\r\nVA 1 kx\r\na\r\nMN\r\n";
    let ran = run(&over_meta("get=1", 3), saying(words));
    let measured = ran.measured();
    assert!(errors(&ran, ErrorClass::Protocol) > 2 && measured.lost > 2);
    assert_eq!(measured.answered + measured.lost + measured.timed_out, 1_000);
}

#[test]
fn a_line_that_does_not_end_breaks_the_connection_before_it_is_kept() {
    static LINES: [[u8; 2_100]; 3] =
        [endless(b"HD O"), endless(b"VA 1 k"), endless(b"SERVER_ERROR ")];
    for line in &LINES {
        let ran = run(&over_meta("get=9,set=1", 1), saying(line));
        let measured = ran.measured();
        assert!(errors(&ran, ErrorClass::Protocol) > 2 && measured.lost > 2);
        assert_eq!(measured.answered + measured.lost + measured.timed_out, 1_000);
        assert!(ran.ended <= ms(1_250), "it ends at {:?}", ran.ended);
    }
}

#[test]
fn opaques_that_lie_repeat_or_lack_break_the_connection_by_their_own_class() {
    for words in [
        &b"HD O4294967295\r\n"[..],
        b"HD Owrong\r\n",
        b"HD\r\n",
        b"EN O\r\n",
        b"HD O18446744073709551616\r\n",
    ] {
        let mut plan = over_meta("set=1", 1);
        plan.requests.matching = Matching::Opaque;
        let ran = run(&plan, saying(words));
        let measured = ran.measured();
        let said = words.escape_ascii();
        assert!(errors(&ran, ErrorClass::Unmatched) > 2 && measured.lost > 2, "{said}");
        assert_eq!(errors(&ran, ErrorClass::Protocol), 0, "{said}");
        assert_eq!(measured.answered + measured.lost + measured.timed_out, 1_000, "{said}");
    }
}

/// The values of an answer are as long as they say, and the reads that follow are right.
#[test]
fn a_value_over_the_limit_is_a_failure_and_what_follows_is_in_step() {
    for (noreply, mix) in [(false, "get=1,set=1"), (false, "set=1"), (true, "get=1,set=1")] {
        let mut plan = over_meta(mix, 1).lasting(Span::from_ms(100));
        // The largest value that a plan may have; with its key it is over the limit.
        plan.values = ValueSpace::new(SizeLaw::fixed(1 << 20), 1 << 20, SEED);
        plan.requests.noreply = noreply;
        let plan = Plan { connections: 1, depth: 4, refill: Refill::Whole, ..plan };
        let ran = run(&plan, Script::default());
        let all = ran.all();
        let sets = all.kinds[OpKind::Set.index()].sent;
        assert!(sets > 30, "{sets} sets");
        assert_eq!(ran.server_says("store_too_large"), sets, "{mix}");
        if noreply {
            // No error line says which quiet request it is about: it breaks the connection, or is
            // taken for an answer.
            assert_eq!(all.unacknowledged, sets);
            assert!(all.failed + all.lost > 0);
        } else {
            assert_eq!((all.failed, errors(&ran, ErrorClass::ServerError)), (sets, sets), "{mix}");
            assert_eq!((all.lost, ran.totals.all_connections().lost), (0, 0), "{mix}");
            assert_eq!(all.answered, all.intended - sets, "{mix}");
        }
    }
}
