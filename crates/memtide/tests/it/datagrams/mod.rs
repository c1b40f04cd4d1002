//! Load over UDP: against Debian's memcached, and against the embedded server, which loses,
//! duplicates, delays and reorders datagrams.

use crate::prelude::*;
use memtide_record::Totals;

/// The totals of a run over UDP, which must have succeeded.
fn totals(run: Finished) -> Totals {
    run.exits(0).record().totals
}

fn over_udp(peer: &Peer, flags: &str) -> Finished {
    // One in flight for each socket: no buffer is ever full, however late its reader comes.
    let load = "--connections 16 --depth 1 --duration 700ms --json -";
    memtide(&format!("run -s {} --transport udp {load} {flags}", peer.name))
}

#[test]
fn memcached_answers_datagrams_in_lines_and_in_frames_over_either_io() {
    let peer = Peer::memcached_udp("");
    for protocol in ["text", "binary", "meta"] {
        for io in ["epoll", "auto"] {
            let flags = format!("--protocol {protocol} --io {io} --keys 2k --rate 3k --verify 1");
            let mixed = totals(over_udp(&peer, &format!("{flags} --mix get=8,set=1,cas=1")));
            assert!(mixed.intended > 1_000, "{flags}");
            assert_eq!(mixed.answered, mixed.intended, "{flags}");
            assert!(mixed.datagrams.is_zero(), "{flags}: {:?}", mixed.datagrams);
            assert!(mixed.verification.checked > 1_000, "{flags}");
        }
    }
}

#[test]
fn long_values_come_in_many_datagrams() {
    let peer = Peer::memcached_udp("");
    for io in ["epoll", "auto"] {
        // A value too large for a request is stored before the run, over TCP.
        let flags = "--keys 100 --value-size 20000 --mix get=1 --rate 500 --verify 1";
        let read = totals(over_udp(&peer, &format!("{flags} --io {io}")));
        assert_eq!((read.answered, read.misses), (read.intended, 0), "{io}");
        assert!(read.bytes_received > read.answered * 20_000, "{io}");
        assert!(read.datagrams.is_zero(), "{io}: {:?}", read.datagrams);
    }
}

#[test]
fn several_keys_are_answered_in_several_messages() {
    let peer = Peer::memcached_udp("");
    for protocol in ["text", "binary"] {
        let flags = format!("--mix get=1 --multiget 10 --rate 1k --protocol {protocol} --keys 2k");
        let read = totals(over_udp(&peer, &flags));
        assert_eq!((read.answered, read.hits), (read.intended, read.intended * 10), "{flags}");
        assert!(read.datagrams.is_zero(), "{flags}: {:?}", read.datagrams);
    }
    // An empty server has a different reply.
    let empty = Peer::memcached_udp("");
    let read = totals(over_udp(&empty, "--mix get=1 --multiget 10 --load never --rate 1k"));
    assert_eq!((read.answered, read.misses), (read.intended, read.intended * 10));
}

#[test]
fn what_wants_no_answer_is_sent_one_by_one() {
    let peer = Peer::memcached_udp("");
    for io in ["epoll", "auto"] {
        let before = peer.figure("cmd_set");
        // All of them fit into the server's buffer, however late it reads.
        let flags = "--mix set=1 --noreply --cooldown drain --rate 60 --duration 1500ms";
        let line = format!("run -s {} --transport udp --io {io} {flags} --json -", peer.name);
        let sent = totals(memtide(&line));
        assert!(sent.sent > 50 && sent.unacknowledged == sent.intended, "{io}");
        assert_eq!(peer.figure("cmd_set") - before, sent.sent, "{io}");
    }
}

#[test]
fn what_a_server_does_to_datagrams_is_counted_exactly() {
    let kinds = "udp-loss:0.5%,udp-duplicate:2%";
    for (protocol, io) in [("text", "auto"), ("binary", "epoll")] {
        let peer = Peer::embedded(&format!("--udp --fault {kinds}"));
        let load = "--keys 1k --connections 32 --rate 0 --ops-max 10k --verify 1 --timeout 2s";
        let way = format!("--transport udp --protocol {protocol} --io {io}");
        let run = memtide(&format!("run -s {} {way} {load} --mix get=9,set=1 --json -", peer.name));
        let totals = totals(run);
        let (lost, doubled) = (peer.faults("udp-loss"), peer.faults("udp-duplicate"));
        assert!(lost > 15 && doubled > 100, "{lost} {doubled}");
        assert_eq!(totals.timed_out, lost, "{way}");
        assert_eq!(totals.answered + lost, 10_000, "{way}");
        assert_eq!(totals.verification.wrong(), 0, "{way}");
        // A copy of the last replies may arrive after the client has gone.
        let seen = totals.datagrams.duplicate;
        assert!(seen <= doubled && seen + 32 >= doubled, "{seen} of {doubled}");
    }
}

#[test]
fn the_embedded_server_of_a_run_speaks_udp_as_well() {
    let flags = "--rate 1k --depth 1 --duration 300ms --keys 500 --json -";
    let totals = totals(memtide(&format!("run --transport udp {flags}")));
    assert!(totals.answered > 100 && totals.answered == totals.intended);
}

#[test]
fn a_server_that_listens_for_tcp_alone_is_named() {
    let peer = Peer::memcached("");
    let flags = "--keys 500 --rate 500 --duration 5s --timeout 300ms";
    let run = memtide(&format!("run -s {} --transport udp {flags}", peer.name));
    let run = run.exits(3);
    assert!(run.err.contains(&peer.name) && run.err.contains("does not listen for UDP"), "{run}");
}
