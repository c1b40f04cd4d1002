//! Transcripts: a client's requests, and every byte of the answers.

mod bounds;

use super::*;
use crate::store::StoreOptions;
use memtide_base::Instant;

/// A store, one connection to it, and a time that the test moves.
struct Pair {
    store: Store,
    session: Session,
    clock: Clock,
}

impl Pair {
    fn new() -> Self {
        let item_bytes_max = 1024;
        let options = StoreOptions { memory_bytes_max: 1 << 20, item_bytes_max, shards: 4 };
        let clock = Clock { now: Instant::ZERO, unix_s: 1_700_000_000 };
        Self { store: Store::new(options), session: Session::new(item_bytes_max), clock }
    }

    fn ask(&mut self, request: &str) -> String {
        let mut out = Vec::new();
        let flow = self.session.handle_bytes(self.clock, request.as_bytes(), &self.store, &mut out);
        assert_eq!(flow, Flow::Continue);
        String::from_utf8(out).unwrap()
    }

    fn counter(&mut self, name: &str) -> u64 {
        let answer = self.ask("stats\r\n");
        let start = format!("STAT {name} ");
        let line = answer.lines().find_map(|line| line.strip_prefix(&start));
        line.expect("a counter by this name").parse().unwrap()
    }
}

#[test]
fn what_is_stored_is_found() {
    let mut pair = Pair::new();
    assert_eq!(pair.ask("set a 7 0 7\r\n\r\nEND\r\n\r\n"), "STORED\r\n");
    assert_eq!(pair.ask("get b a\r\n"), "VALUE a 7 7\r\n\r\nEND\r\n\r\nEND\r\n");
    assert_eq!(pair.ask("add a 0 0 1\r\n1\r\nadd b 0 0 1\r\n1\r\n"), "NOT_STORED\r\nSTORED\r\n");
    assert_eq!(pair.ask("append b 9 0 1\r\n2\r\nprepend b 9 0 1\r\n0\r\n"), "STORED\r\nSTORED\r\n");
    assert_eq!(pair.ask("get b\r\n"), "VALUE b 0 3\r\n012\r\nEND\r\n");
    assert_eq!(pair.ask("replace c 0 0 1\r\n1\r\n"), "NOT_STORED\r\n");
    assert_eq!(pair.ask("delete b\r\ndelete b\r\n"), "DELETED\r\nNOT_FOUND\r\n");
}

#[test]
fn a_cas_number_holds_until_somebody_stores() {
    let mut pair = Pair::new();
    pair.ask("set a 0 0 1\r\n1\r\n");
    assert_eq!(pair.ask("gets a\r\n"), "VALUE a 0 1 1\r\n1\r\nEND\r\n");
    assert_eq!(pair.ask("cas a 0 0 1 1\r\n2\r\n"), "STORED\r\n");
    assert_eq!(pair.ask("cas a 0 0 1 1\r\n3\r\n"), "EXISTS\r\n");
    assert_eq!(pair.ask("cas b 0 0 1 1\r\n3\r\n"), "NOT_FOUND\r\n");
    assert_eq!(pair.ask("gats 0 a\r\n"), "VALUE a 0 1 2\r\n2\r\nEND\r\n");
    let names = ["cas_hits", "cas_badval", "cas_misses", "cmd_set", "cmd_touch", "cmd_get"];
    assert_eq!(names.map(|name| pair.counter(name)), [1, 1, 1, 4, 1, 1]);
}

#[test]
fn counting_floors_wraps_and_pads() {
    let mut pair = Pair::new();
    pair.ask("set a 0 0 2\r\n10\r\n");
    assert_eq!(pair.ask("decr a 1\r\nget a\r\n"), "9\r\nVALUE a 0 2\r\n9 \r\nEND\r\n");
    assert_eq!(pair.ask("decr a 10\r\nget a\r\n"), "0\r\nVALUE a 0 2\r\n0 \r\nEND\r\n");
    assert_eq!(pair.ask("incr a 18446744073709551615\r\n"), "18446744073709551615\r\n");
    assert_eq!(pair.ask("incr a 5\r\n"), "4\r\n");
    assert_eq!(pair.ask("incr b 1\r\n"), "NOT_FOUND\r\n");
    pair.ask("set b 0 0 2\r\n1x\r\n");
    let refusal = "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
    assert_eq!(pair.ask("incr b 1\r\n"), refusal);
}

#[test]
fn values_end_when_they_were_told_to() {
    let mut pair = Pair::new();
    pair.ask("set a 0 10 1\r\n1\r\nset b 0 -1 1\r\n1\r\nset c 0 1700000010 1\r\n1\r\n");
    assert_eq!(pair.ask("get b\r\n"), "END\r\n");
    pair.clock.unix_s += 9;
    assert_eq!(pair.ask("touch a 100\r\n"), "TOUCHED\r\n");
    assert_eq!(pair.ask("get c\r\n"), "VALUE c 0 1\r\n1\r\nEND\r\n");
    pair.clock.unix_s += 1;
    assert_eq!(pair.ask("get c a\r\n"), "VALUE a 0 1\r\n1\r\nEND\r\n");
    assert_eq!(pair.ask("touch c 0\r\n"), "NOT_FOUND\r\n");
    assert_eq!(pair.counter("get_expired"), 2);
    assert_eq!(pair.counter("curr_items"), 1);
}

#[test]
fn flush_all_forgets_now_or_later() {
    let mut pair = Pair::new();
    pair.ask("set a 0 0 1\r\n1\r\n");
    assert_eq!(pair.ask("flush_all\r\nget a\r\n"), "OK\r\nEND\r\n");
    assert_eq!(pair.ask("set a 0 0 1\r\n1\r\nflush_all 5\r\n"), "STORED\r\nOK\r\n");
    assert_eq!(pair.ask("get a\r\n"), "VALUE a 0 1\r\n1\r\nEND\r\n");
    pair.clock.unix_s += 5;
    assert_eq!(
        pair.ask("set b 0 0 1\r\n1\r\nget a b\r\n"),
        "STORED\r\nVALUE b 0 1\r\n1\r\nEND\r\n"
    );
    assert_eq!(pair.counter("get_flushed"), 1);
}

#[test]
fn silence_is_kept_in_success_and_failure() {
    let mut pair = Pair::new();
    let silent = "set a 0 0 1 noreply\r\n1\r\nincr a 1 noreply\r\nadd a 0 0 1 noreply\r\n1\r\n\
                  touch a 0 noreply\r\nverbosity 1 noreply\r\ndelete a noreply\r\n\
                  incr a x noreply\r\nset a 0 0 1 noreply\r\n123flush_all noreply\r\n";
    assert_eq!(pair.ask(silent), "");
    assert_eq!(pair.counter("cmd_set"), 3);
    assert_eq!(pair.counter("cmd_flush"), 1);
}

#[test]
fn a_refused_set_leaves_no_old_value() {
    let mut pair = Pair::new();
    let large = "v".repeat(1024);
    pair.ask("set a 0 0 1\r\n1\r\nset b 0 0 1\r\n1\r\n");
    let refusal = "SERVER_ERROR object too large for cache\r\n";
    assert_eq!(pair.ask(&format!("set a 0 0 1024\r\n{large}\r\n")), refusal);
    assert_eq!(pair.ask(&format!("replace b 0 0 1024\r\n{large}\r\n")), refusal);
    assert_eq!(pair.ask("get a b\r\n"), "VALUE b 0 1\r\n1\r\nEND\r\n");
    assert_eq!(pair.counter("store_too_large"), 2);
    let append = format!("append b 0 0 900\r\n{}\r\n", &large[..900]);
    assert_eq!(pair.ask(&append), "STORED\r\n");
    assert_eq!(pair.ask(&append), "NOT_STORED\r\n");
}

/// Flag `E` of 1.6.27 and later, in each command that has it.
#[test]
fn a_cas_number_that_the_client_chooses_is_the_items() {
    let mut pair = Pair::new();
    for (request, answer) in [
        ("ms a 1 E70 c\r\n1\r\nmg a c\r\n", "HD c70\r\nHD c70\r\n"),
        ("ms a 1 C70 E71\r\n2\r\nms a 1 C70 E72\r\n3\r\n", "HD\r\nEX\r\n"),
        ("mg a E99 c v\r\nmg a c\r\n", "VA 1 c71\r\n2\r\nHD c71\r\n"),
        ("mg b N30 E80 c\r\nmg b c\r\n", "HD c80 W\r\nHD c80 Z\r\n"),
        ("ma a E81 c v\r\nmg a c\r\n", "VA 1 c81\r\n3\r\nHD c81\r\n"),
        ("ma d N0 J5 E82 c v\r\nmg d c\r\n", "VA 1 c82\r\n5\r\nHD c82\r\n"),
        ("md a I E83\r\nmg a c\r\n", "HD\r\nHD c83 X W\r\n"),
        ("md a x E84\r\nmg a c s\r\n", "HD\r\nHD c84 s0\r\n"),
        ("md d x\r\nmg d c s\r\n", "HD\r\nHD c82 s0\r\n"),
        ("ms d 1 MA E85\r\n7\r\nmg d c v\r\n", "HD\r\nVA 1 c85\r\n7\r\n"),
    ] {
        assert_eq!(pair.ask(request), answer, "{request}");
    }
    // A number that becomes longer is in a new item, whose cas number memcached makes.
    pair.ask("ms e 1 E86\r\n9\r\n");
    assert_eq!(pair.ask("ma e E87 c v\r\n"), "VA 2 c87\r\n10\r\n");
    assert!(!pair.ask("mg e c\r\n").contains("87"));
}

/// What is longer than any line ends the connection, and nothing of it is carried out.
#[test]
fn a_line_that_does_not_end_is_answered_by_the_end_of_the_connection() {
    let mut pair = Pair::new();
    pair.ask("ms a 1\r\n1\r\n");
    let long = |bytes: usize| "o".repeat(bytes);
    for piece in [1, 7, 2047, usize::MAX] {
        for line in [
            format!("md a O{}", long(2_100)),
            format!("mg a v k O{}", long(9_000)),
            format!("ms a 1 T30 O{}", long(5_000)),
            format!("ma {}", long(2_100)),
            format!("mn {}", long(2_100)),
        ] {
            let (mut session, mut out) = (Session::new(1024), Vec::new());
            let mut flow = Flow::Continue;
            for bytes in line.as_bytes().chunks(piece.min(line.len())) {
                flow = session.handle_bytes(pair.clock, bytes, &pair.store, &mut out);
                if flow == Flow::Close {
                    break;
                }
            }
            assert_eq!((flow, out.as_slice()), (Flow::Close, &b""[..]), "{piece} {}", &line[..9]);
        }
    }
    // One that ends in time is refused for its words, and others go on.
    let words = format!("mg a O{} v\r\nmg a v\r\n", long(1_900));
    assert_eq!(pair.ask(&words), "CLIENT_ERROR opaque token too long\r\nVA 1\r\n1\r\n");
    assert_eq!((pair.counter("cmd_set"), pair.counter("get_hits")), (1, 1));
}

/// A value over the limit is skipped, also that of a quiet request, and what follows is in step.
#[test]
fn a_value_over_the_limit_keeps_a_stream_of_meta_in_step() {
    let mut pair = Pair::new();
    let large = "mn\r\n".repeat(500);
    pair.ask("ms a 1\r\n1\r\n");
    let request = format!("ms a {} q O7\r\n{large}\r\nmg a v O8\r\nmn\r\n", large.len());
    let refusal = "SERVER_ERROR object too large for cache\r\n";
    assert_eq!(pair.ask(&request), format!("{refusal}EN O8\r\nMN\r\n"));
    assert_eq!(pair.counter("store_too_large"), 1);
}

#[test]
fn the_server_says_what_it_is_and_counts_anew_when_asked() {
    let mut pair = Pair::new();
    pair.store.connection_opened();
    pair.store.thread_started();
    assert_eq!(pair.ask("version\r\n"), format!("VERSION {VERSION}\r\n"));
    assert_eq!(pair.ask("get a\r\nstats nonsense\r\n"), "END\r\nERROR\r\n");
    let names = ["get_misses", "curr_connections", "total_connections", "threads"];
    assert_eq!(names.map(|name| pair.counter(name)), [1, 1, 1, 1]);
    assert_eq!(pair.ask("stats reset\r\n"), "RESET\r\n");
    assert_eq!(names.map(|name| pair.counter(name)), [0, 1, 0, 1]);
    pair.store.connection_closed();
    assert_eq!(pair.counter("curr_connections"), 0);
}

#[test]
fn the_client_may_ask_to_close_and_a_browser_is_closed_on() {
    let pair = Pair::new();
    for request in ["quit\r\nversion\r\n", "GET / HTTP/1.1\r\nHost: a\r\n"] {
        let mut out = Vec::new();
        let mut session = Session::new(1024);
        let flow = session.handle_bytes(pair.clock, request.as_bytes(), &pair.store, &mut out);
        assert_eq!((flow, out), (Flow::Close, Vec::new()));
    }
}
