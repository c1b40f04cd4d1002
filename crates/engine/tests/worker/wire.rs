//! Requests byte by byte as other clients write them: blanks, prefixes, values of one letter,
//! amounts, and a cas without a gets.

mod filter;

use crate::prelude::*;
use memtide_metrics::ReplyClass;
use memtide_workload::{KeyShape, ValueSpace};

/// A plan that requests one kind as twemperf does, with values of `size` bytes.
fn written(kind: &str, size: &str) -> Plan {
    let mut plan = plan().mixing(&format!("{kind}=1")).closed().lasting(Span::from_ms(20));
    (plan.connections, plan.depth) = (1, 1);
    plan.source.popularity = "sequential".parse().expect("a popularity");
    plan.source.numeric_keys = 0;
    plan.numeric_from = u64::MAX;
    let shape = KeyShape { form: KeyForm::Hex, prefix: "mcp:".to_owned(), first: 1 };
    plan.keys = KeySpace::in_shape(shape, 100, SizeLaw::fixed(12), plan.seed).expect("room");
    let law: SizeLaw = size.parse().expect("a law");
    let values = ValueSpace::new(law.clone(), 1 << 20, plan.seed).filled_with(b'0');
    plan.values = values.with_deltas(law);
    plan.requests =
        RequestPlan { expiry: 60, blank: true, cas_unique: Some(1), ..RequestPlan::default() };
    plan.message_sizes = true;
    plan
}

/// All bytes that were sent.
fn sent(ran: &Ran) -> String {
    let seen = ran.seen.borrow();
    let bytes: Vec<u8> = seen.sent.iter().flat_map(|sent| sent.bytes.clone()).collect();
    String::from_utf8(bytes).expect("requests are text")
}

#[test]
fn lines_end_with_a_blank_when_that_is_asked_for() {
    for (kind, request) in [
        ("get", "get mcp:00000001 \r\nget mcp:00000002 \r\n"),
        ("gets", "gets mcp:00000001 \r\n"),
        ("delete", "delete mcp:00000001 \r\n"),
        ("cas", "cas mcp:00000001 0 60 3 1 \r\n000\r\ncas mcp:00000002 "),
        ("set", "set mcp:00000001 0 60 3 \r\n000\r\nset mcp:00000002 "),
        ("add", "add mcp:00000001 0 60 3 \r\n000\r\n"),
        ("replace", "replace mcp:00000001 0 60 3 \r\n000\r\n"),
        ("append", "append mcp:00000001 0 60 3 \r\n000\r\n"),
        ("prepend", "prepend mcp:00000001 0 60 3 \r\n000\r\n"),
        ("incr", "incr mcp:00000001 3 \r\n"),
        ("decr", "decr mcp:00000001 3 \r\n"),
        ("touch", "touch mcp:00000001 60 \r\n"),
    ] {
        let text = sent(&run(&written(kind, "3"), Script::default()));
        assert!(text.starts_with(request), "{kind}: {}", &text[..request.len().min(text.len())]);
    }
}

#[test]
fn without_an_answer_the_wish_for_none_takes_the_place_of_the_blank() {
    for (kind, request) in [
        ("get", "get mcp:00000001 \r\n"),
        ("delete", "delete mcp:00000001 noreply\r\n"),
        ("cas", "cas mcp:00000001 0 60 3 1 noreply\r\n000\r\n"),
        ("set", "set mcp:00000001 0 60 3 noreply\r\n000\r\n"),
        ("incr", "incr mcp:00000001 3 noreply\r\n"),
    ] {
        let mut plan = written(kind, "3");
        plan.requests.noreply = true;
        plan.window.ops_max = Some(50);
        let ran = run(&plan, Script::default());
        assert!(sent(&ran).starts_with(request), "{kind}: {}", sent(&ran));
        let quiet = if kind == "get" { 0 } else { 50 };
        assert_eq!(ran.all().unacknowledged, quiet, "{kind}");
    }
}

#[test]
fn a_cas_that_reads_nothing_is_one_request_and_no_miss() {
    let ran = run(&written("cas", "3"), Script::default());
    let measured = ran.measured();
    assert!(measured.answered > 100);
    assert_eq!(measured.replies[ReplyClass::NotFound as usize], measured.answered);
    assert_eq!((measured.keys, measured.misses), (0, 0));
    assert_eq!(ran.all().storage_commands, ran.all().sent);
}

#[test]
fn incr_and_decr_work_on_values_of_digits() {
    let ran = run(&written("set=1,incr=1,decr", "3"), Script::default());
    let measured = ran.measured();
    let numbers = measured.replies[ReplyClass::Number as usize];
    assert!(numbers > 50, "{numbers} numbers");
    assert_eq!(measured.failed, 0);
}

#[test]
fn the_sizes_of_messages_are_those_on_the_wire() {
    let ran = run(&written("set", "100"), Script::default());
    let sizes = |of: &Option<Histogram<u64>>| {
        let moments = *of.as_ref().expect("they are kept").moments();
        (moments.count, moments.min, moments.max)
    };
    let answered = ran.measured().answered;
    // As in published runs of twemperf, except for the expiry of two digits.
    assert_eq!(sizes(&ran.totals.times.request_bytes), (answered, 130, 130));
    assert_eq!(sizes(&ran.totals.times.reply_bytes), (answered, 8, 8));
    assert!(run(&plan(), Script::default()).totals.times.request_bytes.is_none());
}
