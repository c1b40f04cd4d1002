//! Inputs that are nearly valid: words of a dictionary, joined and then damaged. Equal seeds give
//! equal inputs. The inputs do not depend on their target.

use memtide_base::Random;
use std::sync::LazyLock;

/// The words of a dictionary.
pub type Words = LazyLock<Vec<&'static [u8]>>;

/// Requests, and parts of them.
pub static REQUESTS: Words = LazyLock::new(|| words(include_str!("../words/requests.txt")));
/// Replies, and parts of them.
pub static REPLIES: Words = LazyLock::new(|| words(include_str!("../words/replies.txt")));
/// Requests of the meta protocol, and parts of them.
pub static META_REQUESTS: Words =
    LazyLock::new(|| words(include_str!("../words/meta_requests.txt")));
/// Replies of the meta protocol, and parts of them.
pub static META_ANSWERS: Words = LazyLock::new(|| words(include_str!("../words/meta_answers.txt")));
/// Request frames, and parts of them.
pub static REQUEST_FRAMES: Words =
    LazyLock::new(|| words(include_str!("../words/request_frames.txt")));
/// Reply frames, and parts of them.
pub static ANSWER_FRAMES: Words =
    LazyLock::new(|| words(include_str!("../words/answer_frames.txt")));
/// Lines of scenario files, and parts of them.
pub static SCENARIOS: Words = LazyLock::new(|| words(include_str!("../words/scenarios.txt")));
/// Lines of a join file.
pub static JOINS: Words = LazyLock::new(|| words(include_str!("../words/joins.txt")));
/// Lines of an agent's limits.
pub static LAWS: Words = LazyLock::new(|| words(include_str!("../words/laws.txt")));

/// Records of TLS, and parts of them.
pub static RECORDS: Words = LazyLock::new(|| words(include_str!("../words/tls.txt")));

/// The lines of a file, with Rust's escapes of bytes.
fn words(text: &'static str) -> Vec<&'static [u8]> {
    text.lines().map(|line| &*unescaped(line).leak()).collect()
}

fn unescaped(line: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), line.as_bytes());
    while let Some((&byte, mut after)) = rest.split_first() {
        let byte = match (byte, after.first()) {
            (b'\\', Some(b'x')) => {
                let digits = str::from_utf8(&after[1..3]).expect("digits");
                after = &after[2..];
                u8::from_str_radix(digits, 16).expect("two digits")
            }
            (b'\\', Some(b'r')) => b'\r',
            (b'\\', Some(b'n')) => b'\n',
            (b'\\', Some(b'0')) => 0,
            _ => {
                bytes.push(byte);
                rest = after;
                continue;
            }
        };
        bytes.push(byte);
        rest = &after[1..];
    }
    bytes
}

const SCRAPS: &[&[u8]] =
    &[b" ", b"\r", b"\n", b"\r\n", b"0", b"-1", b"18446744073709551616", b"\0"];

/// The number of inputs that are kept to be damaged further.
const POOL_MAX: usize = 64;
/// The longest input, in bytes, except for a few that test the limits of lines.
const INPUT_BYTES_MAX: usize = 4096;

/// An endless sequence of inputs.
#[derive(Debug)]
pub struct Generator {
    random: Random,
    dictionary: &'static [&'static [u8]],
    pool: Vec<Vec<u8>>,
}

impl Generator {
    /// The sequence of a seed and a dictionary.
    pub fn new(seed: u64, dictionary: &'static [&'static [u8]]) -> Self {
        Self { random: Random::new(seed), dictionary, pool: Vec::new() }
    }

    /// The next input.
    pub fn input(&mut self) -> Vec<u8> {
        let mut input = match self.pool.len() {
            0 => self.sentence(),
            _ if self.below(2) == 0 => self.sentence(),
            count => self.pool[self.random.below(count as u64) as usize].clone(),
        };
        for _ in 0..self.below(6) {
            self.damage(&mut input);
        }
        input.truncate(INPUT_BYTES_MAX);
        if self.pool.len() < POOL_MAX {
            self.pool.push(input.clone());
        } else {
            let slot = self.below(POOL_MAX);
            self.pool[slot].clone_from(&input);
        }
        input
    }

    fn sentence(&mut self) -> Vec<u8> {
        let mut input = Vec::new();
        for _ in 0..1 + self.below(12) {
            input.extend_from_slice(self.word());
        }
        input
    }

    fn word(&mut self) -> &'static [u8] {
        let words = if self.below(6) == 0 { SCRAPS } else { self.dictionary };
        words[self.below(words.len())]
    }

    fn damage(&mut self, input: &mut Vec<u8>) {
        let (start, end) = (self.below(input.len() + 1), self.below(input.len() + 1));
        let (start, end) = (start.min(end), start.max(end));
        match self.below(6) {
            0 => input.truncate(end),
            1 => drop(input.drain(start..end.min(start + 8))),
            2 => drop(input.splice(start..start, self.word().iter().copied())),
            3 => input.extend_from_within(start..end),
            4 if self.below(8) == 0 => {
                let run = vec![self.random.bits() as u8; self.below(INPUT_BYTES_MAX)];
                drop(input.splice(start..start, run));
            }
            _ if start < input.len() => input[start] = self.random.bits() as u8,
            _ => {}
        }
    }

    fn below(&mut self, count: usize) -> usize {
        self.random.below(count as u64) as usize
    }
}

/// Splits the input; the same bytes always give the same pieces.
pub fn pieces(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let seed =
        data.iter().fold(data.len() as u64, |sum, byte| sum * 31 % (1 << 40) + u64::from(*byte));
    let mut random = Random::new(seed);
    let longest = [1, 2, 7, 100][random.below(4) as usize];
    let mut rest = data;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(rest.len().min(1 + random.below(longest) as usize));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
