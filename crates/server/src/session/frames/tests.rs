//! Conversations in frames: one line for each request and each answer.

use super::*;
use crate::clock::Clock;
use crate::session::{Flow, Session};
use crate::store::Store;
use crate::store::StoreOptions;
use memtide_base::Instant;
use memtide_codec::binary::ReplyDecoder as AnswerDecoder;

struct Talk {
    store: Store,
    session: Session,
}

impl Talk {
    fn new() -> Self {
        let item_bytes_max = 1024;
        let options = StoreOptions { memory_bytes_max: 1 << 20, item_bytes_max, shards: 4 };
        Self { store: Store::new(options), session: Session::new(item_bytes_max) }
    }

    fn ask(&mut self, frames: &[Frame<'_>]) -> (Vec<String>, Flow) {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| encode::request(&mut bytes, frame));
        let mut out = Vec::new();
        let clock = Clock { now: Instant::ZERO, unix_s: 1_700_000_000 };
        let flow = self.session.handle_bytes(clock, &bytes, &self.store, &mut out);
        let mut decoder = AnswerDecoder::new();
        let mut input = &out[..];
        let mut said = Vec::new();
        while let Some(answer) = decoder.next(&mut input).unwrap() {
            said.push(match answer.reply {
                Reply::Data { bytes, .. } => format!("'{}'", bytes.escape_ascii()),
                reply => format!("{:?} {} {reply}", answer.opcode, answer.opaque),
            });
        }
        (said, flow)
    }

    fn says(&mut self, frame: Frame<'_>, expected: &[&str]) {
        let (said, flow) = self.ask(&[frame]);
        assert_eq!(said, expected, "{frame:?}");
        assert_eq!(flow, Flow::Continue);
    }
}

fn frame(opcode: Opcode, key: &'static str) -> Frame<'static> {
    let extras = match opcode.loud() {
        Opcode::Set | Opcode::Add | Opcode::Replace => Extras::Store { flags: 7, expiry: 0 },
        Opcode::Gat | Opcode::GatK | Opcode::Touch => Extras::Expiry(60),
        Opcode::Increment | Opcode::Decrement => {
            Extras::Count { delta: 2, initial: 40, expiry: NEVER_CREATE }
        }
        _ => Extras::None,
    };
    Frame { opcode, opaque: 3, cas: 0, extras, key: key.as_bytes(), value: &[] }
}

fn store(opcode: Opcode, key: &'static str, value: &'static str) -> Frame<'static> {
    Frame { value: value.as_bytes(), ..frame(opcode, key) }
}

#[test]
fn what_is_stored_is_found() {
    let mut talk = Talk::new();
    talk.says(frame(Opcode::Get, "a"), &["Get 3 END"]);
    talk.says(frame(Opcode::GetQ, "a"), &[]);
    talk.says(store(Opcode::Set, "a", "one"), &["Set 3 STORED"]);
    let value = |opcode, key| format!("{opcode} 3 VALUE {key} flags=7 bytes=3 cas=1");
    talk.says(frame(Opcode::Get, "a"), &[&value("Get", ""), "'one'", "Get 3 END"]);
    talk.says(frame(Opcode::GetK, "a"), &[&value("GetK", "a"), "'one'", "GetK 3 END"]);
    talk.says(frame(Opcode::GetKQ, "a"), &[&value("GetKQ", "a"), "'one'"]);
    talk.says(frame(Opcode::GatK, "a"), &[&value("GatK", "a"), "'one'", "GatK 3 END"]);
    talk.says(frame(Opcode::GatQ, "a"), &[&value("GatQ", ""), "'one'"]);
    talk.says(frame(Opcode::Noop, ""), &["Noop 3 END"]);
}

#[test]
fn conditions_are_kept() {
    let mut talk = Talk::new();
    talk.says(store(Opcode::Replace, "a", "1"), &["Replace 3 NOT_STORED"]);
    talk.says(store(Opcode::Append, "a", "1"), &["Append 3 NOT_STORED"]);
    talk.says(store(Opcode::Add, "a", "1"), &["Add 3 STORED"]);
    talk.says(store(Opcode::Add, "a", "1"), &["Add 3 NOT_STORED"]);
    talk.says(Frame { cas: 9, ..store(Opcode::Set, "a", "2") }, &["Set 3 EXISTS"]);
    talk.says(Frame { cas: 9, ..store(Opcode::Set, "b", "2") }, &["Set 3 NOT_FOUND"]);
    talk.says(Frame { cas: 1, ..store(Opcode::Set, "a", "2") }, &["Set 3 STORED"]);
    let refusal = "Delete 3 SERVER_ERROR Not supported";
    talk.says(Frame { cas: 1, ..frame(Opcode::Delete, "a") }, &[refusal]);
    talk.says(frame(Opcode::Touch, "a"), &["Touch 3 TOUCHED"]);
    talk.says(frame(Opcode::Delete, "a"), &["Delete 3 DELETED"]);
    talk.says(frame(Opcode::Delete, "a"), &["Delete 3 NOT_FOUND"]);
}

#[test]
fn a_quiet_command_is_answered_only_when_it_fails() {
    let mut talk = Talk::new();
    for opcode in [Opcode::SetQ, Opcode::ReplaceQ, Opcode::AppendQ, Opcode::PrependQ] {
        talk.says(store(opcode, "n", "1"), &[]);
    }
    talk.says(store(Opcode::AddQ, "n", "1"), &["AddQ 3 NOT_STORED"]);
    talk.says(frame(Opcode::IncrementQ, "n"), &[]);
    talk.says(frame(Opcode::Decrement, "n"), &["Decrement 3 number 111"]);
    talk.says(frame(Opcode::DeleteQ, "n"), &[]);
    talk.says(frame(Opcode::DeleteQ, "n"), &["DeleteQ 3 NOT_FOUND"]);
    talk.says(frame(Opcode::FlushQ, ""), &[]);
    let (said, flow) = talk.ask(&[frame(Opcode::QuitQ, ""), frame(Opcode::Noop, "")]);
    assert_eq!((said, flow), (Vec::new(), Flow::Close));
}

#[test]
fn a_count_begins_where_it_is_told_to() {
    let mut talk = Talk::new();
    talk.says(frame(Opcode::Increment, "n"), &["Increment 3 NOT_FOUND"]);
    let extras = Extras::Count { delta: 2, initial: 40, expiry: 0 };
    let making = Frame { extras, ..frame(Opcode::Increment, "n") };
    talk.says(making, &["Increment 3 number 40"]);
    talk.says(making, &["Increment 3 number 42"]);
    talk.says(store(Opcode::Set, "n", "x"), &["Set 3 STORED"]);
    let refusal = "Increment 3 CLIENT_ERROR Non-numeric server-side value for incr or decr";
    talk.says(making, &[refusal]);
}

#[test]
fn what_is_refused_goes_on_or_closes_as_memcached_does() {
    let mut talk = Talk::new();
    talk.says(store(Opcode::Set, "a", "1"), &["Set 3 STORED"]);
    let large: &'static str = "v".repeat(1024).leak();
    talk.says(store(Opcode::Set, "a", large), &["Set 3 SERVER_ERROR Too large."]);
    talk.says(frame(Opcode::Get, "a"), &["Get 3 END"]);
    talk.says(frame(Opcode::SaslList, ""), &["SaslList 3 ERROR Unknown command"]);
    talk.says(frame(Opcode::Stat, "nonsense"), &["Stat 3 NOT_FOUND"]);
    talk.says(frame(Opcode::Stat, "reset"), &["Stat 3 END"]);
    talk.says(frame(Opcode::Get, "a b"), &["Get 3 CLIENT_ERROR Invalid arguments"]);
    let (said, flow) = talk.ask(&[frame(Opcode::Get, ""), frame(Opcode::Noop, "")]);
    assert_eq!((said, flow), (vec!["Get 3 CLIENT_ERROR Invalid arguments".into()], Flow::Close));
}

#[test]
fn statistics_and_version_are_those_of_lines() {
    let mut talk = Talk::new();
    talk.says(store(Opcode::Set, "a", "1"), &["Set 3 STORED"]);
    let (said, _) = talk.ask(&[frame(Opcode::Stat, "")]);
    assert!(said.contains(&"Stat 3 STAT cmd_set=1".to_owned()), "{said:?}");
    assert_eq!(said.last().unwrap(), "Stat 3 END");
    let (said, _) = talk.ask(&[frame(Opcode::Version, "")]);
    assert!(said[0].starts_with("Version 3 VERSION memtide"), "{said:?}");
}
