//! Values that prove what they are. A value of 16 bytes or more begins with four words of four
//! letters: its owner (key, length, seed), its writer, its version, and a checksum of the three.
//! The rest comes from the pool, at a position that depends on all of them.
//!
//! Values below 16 bytes have no room for a proof, and all their versions are equal. Only bytes are
//! judged here; the oracle judges whether a version is too old.

use super::{LETTERS, ValueSpace};
use memtide_base::rng::{Stream, hash, mix};

/// The length of the proof.
const PROOF_BYTES: usize = 16;
const WORD_LETTERS: usize = 4;
/// A word has four letters of six bits each.
const WORD_BITS: u32 = 24;

/// A value's writer, and the writer's version of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    writer: u32,
    number: u32,
}

impl Version {
    /// The highest number of a writer or a version.
    pub const NUMBER_MAX: u32 = (1 << WORD_BITS) - 1;

    /// Version `number` of `writer`; 24 bits of each are kept.
    pub const fn new(writer: u32, number: u32) -> Self {
        Self { writer: writer & Self::NUMBER_MAX, number: number & Self::NUMBER_MAX }
    }

    /// The writer's number.
    pub const fn writer(self) -> u32 {
        self.writer
    }

    /// The number of the version, counted per writer.
    pub const fn number(self) -> u32 {
        self.number
    }

    const fn bits(self) -> u64 {
        (self.writer as u64) << WORD_BITS | self.number as u64
    }
}

/// The result of checking a value that a server returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A value of its key. The version is unknown if the value has no proof: it is short, or a run
    /// without verification stored it.
    Right(Option<Version>),
    /// Not a value of its key.
    Wrong {
        /// The kind of error.
        wrong: Wrong,
        /// The first wrong byte, counted from 0; the end of a truncated value.
        offset: usize,
        /// The version in its proof, if that is intact.
        version: Option<Version>,
    },
}

/// The kind of error in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Some bytes belong to no value of the key.
    Corrupt,
    /// It is the value of another key.
    WrongKey,
    /// It is the beginning of a value of the key.
    Truncated,
}

impl ValueSpace {
    /// Appends the value of key `id` in this version, without a proof if it is too short for one.
    pub fn write(&self, id: u64, version: Version, out: &mut Vec<u8>) {
        let len = self.len(id);
        if len < PROOF_BYTES {
            out.extend_from_slice(self.slice(id));
            return;
        }
        out.extend_from_slice(&self.proof(self.owner(id, len), version));
        out.extend_from_slice(&self.body(id, version, len)[PROOF_BYTES..]);
    }

    /// The bytes around a value's proof, as long as the whole value.
    fn body(&self, id: u64, version: Version, len: usize) -> &[u8] {
        let stream = Stream::VALUE_BYTES.of_lane(version.bits());
        &self.pool[self.pool_offset(stream, id, len)..][..len]
    }

    /// The word for the owner of a value.
    fn owner(&self, id: u64, len: usize) -> u32 {
        word_of(mix(hash(self.seed, Stream::VALUE_PROOF, id).wrapping_add(len as u64)))
    }

    fn proof(&self, owner: u32, version: Version) -> [u8; PROOF_BYTES] {
        let check = hash(self.seed, Stream::VALUE_PROOF.of_lane(u64::from(owner)), version.bits());
        let mut proof = [0; PROOF_BYTES];
        let words = [owner, version.writer, version.number, word_of(check)];
        for (letters, word) in proof.chunks_exact_mut(WORD_LETTERS).zip(words) {
            letters.copy_from_slice(&spell(word));
        }
        proof
    }

    /// The owner and version that a proof names; `None` if it is not a proof.
    fn read_proof(&self, proof: &[u8; PROOF_BYTES]) -> Option<(u32, Version)> {
        let (owner, version) = claim(proof)?;
        (self.proof(owner, version) == *proof).then_some((owner, version))
    }
}

/// The check of one value while its bytes arrive, however they are cut.
#[derive(Clone, Copy, Debug)]
pub struct ValueCheck {
    id: u64,
    /// The expected length, and the length that the server announced.
    len: usize,
    told: usize,
    seen: usize,
    /// The first bytes.
    head: [u8; PROOF_BYTES],
    /// The first byte that differs from the value without a proof.
    plain_wrong: Option<usize>,
    proof: Proof,
}

/// The kind of a value's first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    /// They have not all arrived.
    Awaited,
    /// No proof.
    None,
    /// The proof of another key's value.
    Foreign(Version),
    /// The proof of this key, and the first byte after it that is wrong.
    Own(Version, Option<usize>),
}

impl ValueCheck {
    /// Begins to check the value of key `id`, whose length the server announced as `told` bytes.
    pub fn new(values: &ValueSpace, id: u64, told: usize) -> Self {
        Self {
            id,
            len: values.len(id),
            told,
            seen: 0,
            head: [0; PROOF_BYTES],
            plain_wrong: None,
            proof: Proof::Awaited,
        }
    }

    /// The key whose value is checked.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Checks the next bytes; `values` must be the space given to [`ValueCheck::new`].
    pub fn handle_bytes(&mut self, values: &ValueSpace, bytes: &[u8]) {
        let from = self.seen;
        self.seen += bytes.len();
        if self.plain_wrong.is_none() {
            self.plain_wrong = departure(bytes, values.slice(self.id), from);
        }
        let missing = PROOF_BYTES.saturating_sub(from).min(bytes.len());
        if missing > 0 {
            self.head[from..from + missing].copy_from_slice(&bytes[..missing]);
        }
        if self.proof == Proof::Awaited && self.seen >= PROOF_BYTES {
            self.proof = match values.read_proof(&self.head) {
                None => Proof::None,
                Some((owner, version)) if self.is_own(values, owner) => Proof::Own(version, None),
                Some((_, version)) => Proof::Foreign(version),
            };
        }
        if let Proof::Own(version, wrong @ None) = &mut self.proof {
            let body = values.body(self.id, *version, self.len);
            *wrong = departure(&bytes[missing..], body, from + missing);
        }
    }

    /// The result, once the last bytes have arrived.
    pub fn finding(&self, values: &ValueSpace) -> Finding {
        if self.plain_wrong.is_none() {
            return self.as_long_as_right(None);
        }
        match self.proof {
            Proof::Own(version, None) => self.as_long_as_right(Some(version)),
            Proof::Own(version, Some(offset)) => corrupt(offset, Some(version)),
            Proof::Foreign(version) => {
                let offset = self.owner_departure(values).unwrap_or(0);
                Finding::Wrong { wrong: Wrong::WrongKey, offset, version: Some(version) }
            }
            Proof::None | Proof::Awaited => match self.head_departure(values) {
                None => {
                    Finding::Wrong { wrong: Wrong::Truncated, offset: self.told, version: None }
                }
                Some(offset) => corrupt(offset.max(self.plain_wrong.unwrap_or(0)), None),
            },
        }
    }

    /// The result if every byte is right, which still depends on their number.
    fn as_long_as_right(&self, version: Option<Version>) -> Finding {
        if self.told == self.len {
            return Finding::Right(version);
        }
        Finding::Wrong { wrong: Wrong::Truncated, offset: self.told, version }
    }

    fn is_own(&self, values: &ValueSpace, owner: u32) -> bool {
        self.len >= PROOF_BYTES && owner == values.owner(self.id, self.len)
    }

    /// The position at which the first word differs from this key's; `None` if it does not.
    fn owner_departure(&self, values: &ValueSpace) -> Option<usize> {
        let letters = spell(values.owner(self.id, self.len));
        departure(&self.head[..self.seen.min(WORD_LETTERS)], &letters, 0)
    }

    /// The position at which the first bytes differ from every proof of this key, of any version;
    /// `None` if they may begin one.
    fn head_departure(&self, values: &ValueSpace) -> Option<usize> {
        if self.len < PROOF_BYTES {
            return Some(0);
        }
        let head = &self.head[..self.seen.min(PROOF_BYTES)];
        if let Some(at) = self.owner_departure(values) {
            return Some(at);
        }
        if let Some(at) = head.iter().position(|letter| read(&[*letter]).is_none()) {
            return Some(at);
        }
        let (owner, version) = claim(head)?;
        departure(head, &values.proof(owner, version), 0)
    }
}

/// The owner and the version in the first three words; none if they are not there.
fn claim(head: &[u8]) -> Option<(u32, Version)> {
    let mut words = head.chunks_exact(WORD_LETTERS).map(read);
    let [owner, writer, number] = [words.next()??, words.next()??, words.next()??];
    Some((owner, Version { writer, number }))
}

fn corrupt(offset: usize, version: Option<Version>) -> Finding {
    Finding::Wrong { wrong: Wrong::Corrupt, offset, version }
}

/// The first position at which `bytes`, which begin at `from`, differ from `whole`.
fn departure(bytes: &[u8], whole: &[u8], from: usize) -> Option<usize> {
    let right = whole.get(from..).unwrap_or_default();
    let common = bytes.len().min(right.len());
    if bytes[..common] == right[..common] {
        return (bytes.len() > common).then_some(from + common);
    }
    bytes.iter().zip(right).position(|(byte, right)| byte != right).map(|at| from + at)
}

/// The highest bits, which make a word.
fn word_of(bits: u64) -> u32 {
    (bits >> (u64::BITS - WORD_BITS)) as u32
}

fn spell(word: u32) -> [u8; WORD_LETTERS] {
    [18, 12, 6, 0].map(|shift| LETTERS[(word >> shift) as usize & 63])
}

/// Decodes letters to a number, highest letter first.
fn read(letters: &[u8]) -> Option<u32> {
    letters.iter().try_fold(0, |word, letter| {
        let digit = match letter {
            b'0'..=b'9' => letter - b'0',
            b'a'..=b'z' => letter - b'a' + 10,
            b'A'..=b'Z' => letter - b'A' + 36,
            b'-' => 62,
            b'_' => 63,
            _ => return None,
        };
        Some(word << 6 | u32::from(digit))
    })
}

#[cfg(test)]
mod tests;
