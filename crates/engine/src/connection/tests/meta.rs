//! A conversation in meta commands: values that end answers, quiet requests, and replies that are
//! matched by their opaques.

use super::*;
use memtide_world::driver::Closed;

/// Repeats a conversation, with bytes cut at several widths.
fn talks_in_meta(matching: Matching, talk: impl Fn(&mut Talk)) {
    for width in [usize::MAX, 1, 3, 7] {
        let mut talking = Talk::speaking(Protocol::Meta, width);
        talking.connection.matching = matching;
        talk(&mut talking);
    }
}

#[test]
fn every_code_means_what_was_asked() {
    talks_in_meta(Matching::Order, |talk| {
        [Get, Get, Set, Add, Delete, Touch, Touch, Incr, Incr, Gats]
            .into_iter()
            .for_each(|kind| talk.send(kind));
        talk.recv(b"VA 2 k\r\nhi\r\nEN\r\nHD\r\nNS\r\nNF\r\nHD\r\nEN\r\nVA 1\r\n8\r\nNF\r\n");
        talk.recv(b"SERVER_ERROR out of memory writing get response\r\n");
        talk.sees(&[
            "0 get: Answered Hit, Values, 1 hits, 12 bytes",
            "1 get: Answered Miss, Values, 0 hits, 4 bytes",
            "2 set: Answered Stored, Stored, 0 hits, 4 bytes",
            "3 add: Answered NotStored, NotStored, 0 hits, 4 bytes",
            "4 delete: Answered NotFound, NotFound, 0 hits, 4 bytes",
            "5 touch: Answered Touched, Touched, 0 hits, 4 bytes",
            "6 touch: Answered NotFound, NotFound, 0 hits, 4 bytes",
            "7 incr: Answered Number, Number, 0 hits, 9 bytes",
            "8 incr: Answered NotFound, NotFound, 0 hits, 4 bytes",
            "refused: SERVER_ERROR out of memory writing get response",
            "9 gats: Failed Failed, ServerError, 0 hits, 49 bytes",
        ]);
    });
}

#[test]
fn several_keys_end_with_mn_whatever_is_missing() {
    talks_in_meta(Matching::Order, |talk| {
        talk.send_keys(Get, 3);
        talk.send_keys(Get, 2);
        talk.send_keys(Get, 2);
        talk.recv(b"VA 1 k7\r\na\r\nVA 1 k7\r\nb\r\n");
        talk.sees(&[]);
        talk.recv(b"MN\r\nMN\r\nSERVER_ERROR no\r\nMN\r\n");
        talk.sees(&[
            "0 get: Answered Miss, Values, 2 hits, 28 bytes",
            "1 get: Answered Miss, Values, 0 hits, 4 bytes",
            "refused: SERVER_ERROR no",
            "2 get: Failed Failed, ServerError, 0 hits, 21 bytes",
        ]);
    });
}

/// Replies of the text protocol passed for answers, and the first `EN` for the end of several keys.
#[test]
fn replies_of_another_protocol_answer_nothing() {
    const HIT: &[u8] = b"VALUE k 0 2\r\nhi\r\nEND\r\n";
    let meta = Protocol::Meta;
    let foreign: [(Protocol, OpKind, &[u8]); 15] = [
        (meta, Get, HIT),
        (meta, Get, b"END\r\n"),
        (meta, Set, b"STORED\r\n"),
        (meta, Add, b"NOT_STORED\r\n"),
        (meta, Delete, b"DELETED\r\n"),
        (meta, Touch, b"TOUCHED\r\n"),
        (meta, Incr, b"8\r\n"),
        (meta, Incr, b"NOT_FOUND\r\n"),
        (Protocol::Text, Get, b"EN\r\n"),
        (Protocol::Text, Get, b"VA 2\r\nhi\r\n"),
        (Protocol::Text, Set, b"HD\r\n"),
        (Protocol::Text, Delete, b"NF\r\n"),
        (Protocol::Binary, Get, HIT),
        (Protocol::Binary, Get, b"EN\r\n"),
        (Protocol::Binary, Set, b"STORED\r\n"),
    ];
    for (protocol, kind, bytes) in foreign {
        for width in [usize::MAX, 1, 3] {
            let mut talk = Talk::speaking(protocol, width);
            talk.send(kind);
            let read = talk.try_recv(bytes);
            let said = || format!("{protocol:?} {}: {read:?}", bytes.escape_ascii());
            let is_other = matches!(read, Err(PeerError::Malformed(_) | PeerError::Foreign { .. }));
            assert!(is_other, "{}", said());
            talk.sees(&[]);
        }
    }
    talks_in_meta(Matching::Order, |talk| {
        talk.send_keys(Get, 2);
        let early = PeerError::Mismatch { kind: Get, got: "EN" };
        assert_eq!(talk.try_recv(b"EN\r\nMN\r\n"), Err(early));
    });
}

/// A quiet delete reports a missing key, although nothing waits for it.
#[test]
fn a_reply_to_a_quiet_request_answers_no_other() {
    talks_in_meta(Matching::Order, |talk| {
        talk.send(Delete);
        talk.recv(b"NF Oq\r\nNS Oq\r\nHD\r\n");
        talk.sees(&["0 delete: Answered Deleted, Deleted, 0 hits, 4 bytes"]);
    });
}

#[test]
fn a_cas_reads_and_then_stores() {
    talks_in_meta(Matching::Order, |talk| {
        talk.send(Cas);
        talk.recv(b"VA 1 c77\r\na\r\n");
        assert_eq!(talk.follow_up(), [77]);
        talk.recv(b"EX\r\n");
        talk.sees(&["0 cas: Answered Exists, Exists, 1 hits, 4 bytes"]);
    });
}

/// The opaque of operation `index` is `2 × index`, and one more for the second request of a cas.
#[test]
fn replies_in_another_order_find_their_operations() {
    talks_in_meta(Matching::Opaque, |talk| {
        [Get, Set, Delete, Cas].into_iter().for_each(|kind| talk.send(kind));
        talk.recv(b"NF O4\r\nVA 2 O6 c9\r\nhi\r\n");
        assert_eq!(talk.follow_up(), [9]);
        talk.recv(b"HD O7\r\nHD O2\r\nVA 2 O0 k7\r\nhi\r\n");
        talk.sees(&[
            "2 delete: Answered NotFound, NotFound, 0 hits, 7 bytes",
            "3 cas: Answered Stored, Stored, 1 hits, 7 bytes",
            "1 set: Answered Stored, Stored, 0 hits, 7 bytes",
            "0 get: Answered Hit, Values, 1 hits, 16 bytes",
        ]);
    });
}

/// "This is not strict", says the protocol of the order in which flags are returned.
#[test]
fn flags_mean_the_same_in_any_order() {
    let flags = ["O0", "c9", "k7", "f4", "t30", "l1", "h1", "X", "W"];
    for turn in 0..flags.len() {
        for backwards in [false, true] {
            let mut turned = flags;
            turned.rotate_left(turn);
            if backwards {
                turned.reverse();
            }
            talks_in_meta(Matching::Opaque, |talk| {
                talk.send(Cas);
                talk.recv(format!("VA 2 {}\r\nhi\r\n", turned.join(" ")).as_bytes());
                assert_eq!(talk.follow_up(), [9], "{turned:?}");
                talk.recv(b"HD c10 O1\r\n");
                talk.sees(&["0 cas: Answered Stored, Stored, 1 hits, 11 bytes"]);
            });
        }
    }
}

#[test]
fn a_reply_that_matches_nothing_or_twice_breaks_the_connection() {
    let lies: [(&[u8], &str); 6] = [
        (b"HD O9\r\n", "HD"),
        (b"HD\r\n", "HD"),
        (b"HD Ox2\r\n", "HD"),
        (b"NS O2\r\nNS O2\r\n", "NOT_STORED"),
        (b"VA 2 O1\r\nhi\r\n", "VALUE"),
        (b"MN\r\n", "MN"),
    ];
    for (bytes, got) in lies {
        talks_in_meta(Matching::Opaque, |talk| {
            talk.send(Set);
            talk.send(Set);
            let read = talk.try_recv(bytes);
            assert_eq!(read, Err(PeerError::Unmatched { got }), "{}", bytes.escape_ascii());
        });
    }
    let closed = Closed::Broken(PeerError::Unmatched { got: "HD" });
    assert_eq!(ErrorClass::from(closed), ErrorClass::Unmatched);
}
