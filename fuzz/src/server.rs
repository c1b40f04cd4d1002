//! Properties of the embedded server: any bytes are answered without a panic, in the same way
//! however they are split, with replies that a client can decode.

use crate::generate::pieces;
use memtide_base::Instant;
use memtide_codec::Malformed;
use memtide_codec::binary::{self, Opcode};
use memtide_codec::meta::ReplyDecoder;
use memtide_server::{Clock, Flow, Session, Store, StoreOptions};

/// Small, so that items are refused and evicted.
const OPTIONS: StoreOptions =
    StoreOptions { memory_bytes_max: 2048, item_bytes_max: 256, shards: 2 };

/// A client's bytes, as the server answers them.
pub fn session(data: &[u8]) {
    if data.first() == Some(&0x80) {
        return frames_session(data);
    }
    let (flow, answer) = serve([data]);
    assert_eq!(serve(pieces(data)), (flow, answer.clone()), "answers depend on the cuts");
    let mut decoder = ReplyDecoder::new();
    let mut input = &answer[..];
    while let Some(answer) = decoder.next(&mut input).expect("the server's own answers are lawful")
    {
        // A trace must be able to show it on one line.
        assert!(!answer.reply.to_string().contains('\n'), "a reply is shown on more than one line");
    }
    assert!(decoder.is_idle(), "an answer breaks off");
}

/// A client's meta commands, as the server answers them. As memcached does, it may repeat a key
/// whose bytes are no key of a line.
pub fn meta_session(data: &[u8]) {
    assert_eq!(serve(pieces(data)), serve([data]), "answers depend on the cuts");
}

/// A client's frames, as the server answers them.
pub fn frames_session(data: &[u8]) {
    // Input that does not begin as a frame is read as lines, which another target tests.
    let data = [&[0x80], data.get(1..).unwrap_or(&[])].concat();
    let (flow, answer) = serve([&data[..]]);
    assert_eq!(serve(pieces(&data)), (flow, answer.clone()), "answers depend on the cuts");
    let mut decoder = binary::ReplyDecoder::new();
    let mut input = &answer[..];
    loop {
        match decoder.next(&mut input) {
            Ok(Some(_)) => {}
            Ok(None) => break assert!(decoder.is_idle(), "an answer breaks off"),
            // An unknown command is answered with its number, which no client has requested.
            Err(Malformed::BadFrame { opcode, .. }) if Opcode::from_byte(opcode).is_none() => {
                return;
            }
            Err(bad) => panic!("the server's own answers are lawful: {bad}"),
        }
    }
}

fn serve<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Flow, Vec<u8>) {
    let store = Store::new(OPTIONS);
    let mut session = Session::new(OPTIONS.item_bytes_max);
    let clock = Clock { now: Instant::ZERO, unix_s: 1_700_000_000 };
    let mut out = Vec::new();
    for piece in pieces {
        if session.handle_bytes(clock, piece, &store, &mut out) == Flow::Close {
            return (Flow::Close, out);
        }
    }
    (Flow::Continue, out)
}
