//! Random requests and replies: every field often takes its bounds, and values often look like
//! protocol.

use memtide_base::Random;
use memtide_codec::binary::{self, Answer, Extras, Opcode, Status};
use memtide_codec::{ErrorKind, ErrorReply, Keys, Reply, Request, Verb, meta};

/// The memory that one draw borrows from.
pub struct Words {
    pub key: Vec<u8>,
    pub keys: Vec<u8>,
    pub value: Vec<u8>,
    pub text: Vec<u8>,
}

pub fn words(random: &mut Random) -> Words {
    let key = key(random);
    let mut keys = key.clone();
    for _ in 0..random.below(4) {
        keys.push(b' ');
        keys.extend(self::key(random));
    }
    let value = match random.below(6) {
        0 => Vec::new(),
        1 => b"\r\nEND\r\n".to_vec(),
        2 => b"VALUE a 0 1\r\nx\r\nEND\r\n".to_vec(),
        3 => b"\r".to_vec(),
        _ => (0..random.below(300)).map(|_| random.bits() as u8).collect(),
    };
    let text = (0..1 + random.below(30)).map(|_| b'!' + random.below(90) as u8).collect();
    Words { key, keys, value, text }
}

fn key(random: &mut Random) -> Vec<u8> {
    let len = [1, 2, 30, 249, 250, 1 + random.below(250)][random.below(6) as usize];
    let byte = |random: &mut Random| match random.bits() as u8 {
        b' ' | b'\r' | b'\n' => b'k',
        other => other,
    };
    (0..len).map(|_| byte(random)).collect()
}

fn number(random: &mut Random) -> u64 {
    match random.below(5) {
        0 => 0,
        1 => u64::MAX,
        2 => 10u64.pow(random.below(20) as u32),
        3 => 10u64.pow(random.below(20) as u32) - 1,
        _ => random.bits() >> random.below(64),
    }
}

pub fn request<'a>(random: &mut Random, words: &'a Words) -> Request<'a> {
    if random.below(4) == 0 {
        return Request::Meta(meta_request(random, words));
    }
    let verb = Verb::ALL[random.below(Verb::ALL.len() as u64) as usize];
    let noreply = random.below(4) == 0;
    let expiry = number(random) as i64;
    let (key, value) = (&words.key[..], &words.value[..]);
    match verb {
        Verb::Get | Verb::Gets | Verb::Gat | Verb::Gats => Request::Retrieve {
            verb,
            expiry: matches!(verb, Verb::Gat | Verb::Gats).then_some(expiry),
            keys: Keys::spaced(&words.keys),
        },
        Verb::Set | Verb::Add | Verb::Replace | Verb::Append | Verb::Prepend | Verb::Cas => {
            let flags = number(random) as u32;
            let cas = (verb == Verb::Cas).then(|| number(random));
            Request::Store { verb, key, flags, expiry, value, cas, noreply }
        }
        Verb::Delete => Request::Delete { key, noreply },
        Verb::Incr | Verb::Decr => {
            Request::Arithmetic { verb, key, delta: number(random), noreply }
        }
        Verb::Touch => Request::Touch { key, expiry, noreply },
        Verb::Stats => Request::Stats { argument: noreply.then_some(&words.text) },
        Verb::Version => Request::Version,
        Verb::FlushAll => {
            Request::FlushAll { delay: (random.below(2) == 0).then_some(expiry), noreply }
        }
        Verb::Verbosity => Request::Verbosity { level: number(random) as u32, noreply },
        Verb::Quit => Request::Quit,
    }
}

/// One request of the meta protocol, with any of its flags.
fn meta_request<'a>(random: &mut Random, words: &'a Words) -> meta::Request<'a> {
    const FLAGS: [&str; 6] = [
        "c f h k l O31 q s t u v",
        "T30 N-1 R0 Ppath Llog",
        "q C18446744073709551615 E0 F4294967295 I MA",
        "MD D9 J0",
        "x",
        "",
    ];
    let command = meta::Command::ALL[random.below(6) as usize];
    let mut flags = FLAGS[random.below(6) as usize];
    if flags.contains("MA") != (command == meta::Command::Set) {
        flags = "q O1 k";
    }
    if flags.contains("MD") && command != meta::Command::Arithmetic {
        flags = "k";
    }
    let is_noop = command == meta::Command::Noop;
    let key = if is_noop { &[][..] } else { &words.key };
    let flags = meta::Flags::spaced(if is_noop { b"" } else { flags.as_bytes() });
    let value = if command == meta::Command::Set { &words.value[..] } else { &[] };
    meta::Request::new(command, key, flags, value).expect("memcached accepts these flags")
}

/// One reply; for a value its head and one piece.
pub fn replies<'a>(random: &mut Random, words: &'a Words) -> Vec<Reply<'a>> {
    let kinds = [ErrorKind::Error, ErrorKind::Client, ErrorKind::Server];
    vec![match random.below(18) {
        0..4 => {
            let cas = (random.below(2) == 0).then(|| number(random));
            let (flags, bytes) = (number(random) as u32, words.value.len());
            let head = Reply::Value { key: &words.key, flags, bytes, cas };
            return vec![head, Reply::Data { bytes: &words.value, ends: true }];
        }
        4 => Reply::End,
        5 => Reply::Stored,
        6 => Reply::NotStored,
        7 => Reply::Exists,
        8 => Reply::NotFound,
        9 => Reply::Deleted,
        10 => Reply::Touched,
        11 => Reply::Ok,
        12 => Reply::Reset,
        13 => Reply::Number(number(random)),
        14 => Reply::Version(&words.text),
        15 => Reply::Stat { name: &words.text, value: &words.text },
        _ => {
            let message = if random.below(3) == 0 { &[][..] } else { &words.text };
            Reply::Error(ErrorReply { kind: kinds[random.below(3) as usize], message })
        }
    }]
}

/// One request of the binary protocol, of any command.
pub fn binary_request<'a>(random: &mut Random, words: &'a Words) -> binary::Request<'a> {
    let opcode = Opcode::ALL[random.below(Opcode::ALL.len() as u64) as usize];
    let small = |random: &mut Random| number(random) as u32;
    let (mut key, mut value) = (&words.key[..], &[][..]);
    let extras = match opcode.loud() {
        Opcode::Set | Opcode::Add | Opcode::Replace => {
            value = &words.value;
            Extras::Store { flags: small(random), expiry: small(random) }
        }
        Opcode::Append | Opcode::Prepend | Opcode::SaslAuth | Opcode::SaslStep => {
            value = &words.value;
            Extras::None
        }
        Opcode::Increment | Opcode::Decrement => {
            let (delta, initial, expiry) = (number(random), number(random), small(random));
            Extras::Count { delta, initial, expiry }
        }
        Opcode::Touch | Opcode::Gat | Opcode::GatK => Extras::Expiry(small(random)),
        Opcode::Get | Opcode::GetK | Opcode::Delete => Extras::None,
        Opcode::Verbosity => {
            key = &[];
            Extras::Level(small(random))
        }
        Opcode::Stat => {
            key = if random.below(2) == 0 { &[] } else { &words.text };
            Extras::None
        }
        loud => {
            key = &[];
            let later = loud == Opcode::Flush && random.below(2) == 0;
            if later { Extras::Expiry(small(random)) } else { Extras::None }
        }
    };
    let (opaque, cas) = (small(random), number(random));
    binary::Request { opcode, opaque, cas, extras, key, value }
}

/// One answer of the binary protocol, in the pieces into which it decodes when it arrives whole.
pub fn answers<'a>(random: &mut Random, words: &'a Words) -> Vec<Answer<'a>> {
    let opcode = Opcode::ALL[random.below(Opcode::ALL.len() as u64) as usize];
    let opaque = number(random) as u32;
    let answer = |status, reply| Answer { opcode, opaque, status, reply };
    let well = |reply| vec![answer(Status::SUCCESS, reply)];
    if random.below(4) == 0 {
        let status = [Status::OUT_OF_MEMORY, Status::TOO_LARGE, Status::BUSY, Status(0x1234)];
        let status = status[random.below(4) as usize];
        let refusal = ErrorReply { kind: ErrorKind::Server, message: &words.text };
        return vec![answer(status, Reply::Error(refusal))];
    }
    match opcode.loud() {
        Opcode::Get | Opcode::GetK | Opcode::Gat | Opcode::GatK | Opcode::SaslList => {
            if random.below(3) == 0 && !opcode.is_quiet() && opcode != Opcode::SaslList {
                return vec![answer(Status::KEY_NOT_FOUND, Reply::End)];
            }
            let key = if opcode.repeats_key() { &words.key[..] } else { &[] };
            let flags = if opcode.retrieves() { number(random) as u32 } else { 0 };
            let (bytes, cas) = (words.value.len(), Some(number(random)));
            let mut pieces = well(Reply::Value { key, flags, bytes, cas });
            pieces.extend(well(Reply::Data { bytes: &words.value, ends: true }));
            if !opcode.is_quiet() {
                pieces.extend(well(Reply::End));
            }
            pieces
        }
        Opcode::Increment | Opcode::Decrement => well(Reply::Number(number(random))),
        Opcode::Stat if random.below(2) == 0 => {
            well(Reply::Stat { name: &words.text, value: &words.text })
        }
        Opcode::Noop | Opcode::Stat => well(Reply::End),
        Opcode::Version => well(Reply::Version(&words.text)),
        Opcode::Delete => well(Reply::Deleted),
        Opcode::Touch => well(Reply::Touched),
        Opcode::Add if random.below(2) == 0 => vec![answer(Status::KEY_EXISTS, Reply::NotStored)],
        Opcode::Set if random.below(2) == 0 => vec![answer(Status::KEY_EXISTS, Reply::Exists)],
        Opcode::Set | Opcode::Add | Opcode::Replace | Opcode::Append | Opcode::Prepend => {
            well(Reply::Stored)
        }
        _ => well(Reply::Ok),
    }
}
