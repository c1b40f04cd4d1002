//! A conversation in frames: quiet requests, replies in another order, and partial failures.

use super::*;
use memtide_codec::ErrorReply;
use memtide_codec::binary::{Answer, encode};

/// Repeats a conversation in frames, with bytes cut at several widths.
fn talks_in_frames(talk: impl Fn(&mut Talk)) {
    for width in [usize::MAX, 1, 7, 24, 25] {
        talk(&mut Talk::speaking(Protocol::Binary, width));
    }
}

fn frame(opcode: Opcode, opaque: u32, status: Status, reply: Reply<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    encode::answer(&mut out, &Answer { opcode, opaque, status, reply });
    out
}

fn well(opcode: Opcode, opaque: u32, reply: Reply<'_>) -> Vec<u8> {
    frame(opcode, opaque, Status::SUCCESS, reply)
}

fn value(opcode: Opcode, opaque: u32, cas: u64) -> Vec<u8> {
    let head = Reply::Value { key: &[], flags: 0, bytes: 3, cas: Some(cas) };
    let data = Reply::Data { bytes: b"abc", ends: true };
    [well(opcode, opaque, head), well(opcode, opaque, data)].concat()
}

fn failed(opcode: Opcode, opaque: u32, status: Status) -> Vec<u8> {
    let error = ErrorReply { kind: ErrorKind::Server, message: b"no" };
    frame(opcode, opaque, status, Reply::Error(error))
}

#[test]
fn answers_meet_their_operations_by_order_and_number() {
    talks_in_frames(|talk| {
        assert_eq!(talk.connection.next_turn(), 0);
        [Get, Set, Delete, Incr, Touch].into_iter().for_each(|kind| talk.send(kind));
        assert_eq!(talk.connection.next_turn(), 5);
        talk.recv(&value(Opcode::Get, 0, 1));
        talk.recv(&well(Opcode::Set, 1, Reply::Stored));
        talk.recv(&frame(Opcode::Delete, 2, Status::KEY_NOT_FOUND, Reply::NotFound));
        talk.recv(&well(Opcode::Increment, 3, Reply::Number(5)));
        talk.recv(&failed(Opcode::Touch, 4, Status::BUSY));
        talk.sees(&[
            "0 get: Answered Hit, Values, 1 hits, 31 bytes",
            "1 set: Answered Stored, Stored, 0 hits, 24 bytes",
            "2 delete: Answered NotFound, NotFound, 0 hits, 24 bytes",
            "3 incr: Answered Number, Number, 0 hits, 32 bytes",
            "refused: SERVER_ERROR no",
            "4 touch: Failed Failed, ServerError, 0 hits, 26 bytes",
        ]);
        assert_eq!(talk.connection.next_turn(), 5);
    });
}

#[test]
fn an_answer_out_of_turn_breaks_the_connection() {
    talks_in_frames(|talk| {
        talk.send(Set);
        talk.send(Set);
        let read = talk.try_recv(&well(Opcode::Set, 1, Reply::Stored));
        assert_eq!(read, Err(PeerError::OutOfTurn { expected: 0, got: 1 }));
    });
}

#[test]
fn several_keys_end_with_a_noop() {
    talks_in_frames(|talk| {
        talk.send_keys(Get, 3);
        talk.send_keys(Get, 2);
        talk.recv(&value(Opcode::GetKQ, 0, 1));
        talk.recv(&value(Opcode::GetKQ, 0, 1));
        talk.sees(&[]);
        talk.recv(&well(Opcode::Noop, 0, Reply::End));
        talk.recv(&well(Opcode::Noop, 1, Reply::End));
        talk.sees(&[
            "0 get: Answered Miss, Values, 2 hits, 86 bytes",
            "1 get: Answered Miss, Values, 0 hits, 24 bytes",
        ]);
    });
}

#[test]
fn several_keys_fail_together() {
    talks_in_frames(|talk| {
        talk.send_keys(Get, 3);
        talk.send(Set);
        talk.recv(&value(Opcode::GetKQ, 0, 1));
        talk.recv(&failed(Opcode::GetKQ, 0, Status::OUT_OF_MEMORY));
        talk.recv(&well(Opcode::Noop, 0, Reply::End));
        talk.recv(&well(Opcode::Set, 1, Reply::Stored));
        talk.sees(&[
            "refused: SERVER_ERROR no",
            "0 get: Failed Failed, ServerError, 1 hits, 81 bytes",
            "1 set: Answered Stored, Stored, 0 hits, 24 bytes",
        ]);
    });
}

#[test]
fn what_is_told_of_a_quiet_command_belongs_to_nobody() {
    talks_in_frames(|talk| {
        talk.recv(&frame(Opcode::AddQ, 0, Status::KEY_EXISTS, Reply::NotStored));
        talk.send(Set);
        talk.recv(&failed(Opcode::SetQ, 0, Status::TOO_LARGE));
        talk.recv(&well(Opcode::Set, 0, Reply::Stored));
        talk.sees(&[
            "refused: SERVER_ERROR no",
            "0 set: Answered Stored, Stored, 0 hits, 24 bytes",
        ]);
    });
}

#[test]
fn a_cas_is_a_get_and_a_set_with_its_number() {
    talks_in_frames(|talk| {
        talk.send(Cas);
        talk.recv(&value(Opcode::Get, 0, 77));
        assert_eq!(talk.follow_up(), [77]);
        talk.recv(&frame(Opcode::Set, 1, Status::KEY_EXISTS, Reply::Exists));
        talk.sees(&["0 cas: Answered Exists, Exists, 1 hits, 24 bytes"]);
    });
}

#[test]
fn a_connection_that_is_turned_away_says_so() {
    talks_in_frames(|talk| {
        talk.send(Get);
        talk.send(Get);
        talk.recv(&value(Opcode::Get, 0, 1));
        let read = talk.try_recv(b"ERROR Too many open connections\r\n");
        assert_eq!(read, Err(PeerError::TooManyConnections));
    });
}
