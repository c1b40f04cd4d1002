//! Requests and replies drawn at random: every field takes its bounds often, and values like to
//! look like protocol.

use memtide_base::Random;
use memtide_codec::{ErrorKind, ErrorReply, Keys, Reply, Request, Verb};

/// What one draw borrows from.
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

/// One reply, or for a value its head and its one piece.
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
