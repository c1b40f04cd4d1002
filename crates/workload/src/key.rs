//! The bytes of keys, as a function of (seed, id). No key is stored, however many there are.

mod eight;

use crate::size::SizeLaw;
use crate::word::{Grammar, WordError};
use memtide_base::law::Law;
use memtide_base::rng::{Draws, Stream, hash, unit};
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

/// The longest key that memcached takes, in bytes.
const KEY_BYTES_MAX: usize = 250;

/// Why keys of the requested sizes cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// Keys of this size cannot all differ.
    TooSmall {
        /// The smallest size requested, in bytes.
        asked: u64,
        /// The smallest size that is long enough, in bytes.
        needed: u64,
        /// The number of keys.
        keys: u64,
    },
    /// The keys are longer than memcached allows.
    TooLarge {
        /// The largest size requested, in bytes.
        asked: u64,
    },
    /// The sizes form a sequence and do not belong to single keys.
    Ascending,
    /// The form cannot number this many keys.
    TooMany {
        /// One more than the number of the last key.
        keys: u64,
    },
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { asked, needed, keys } => write!(
                f,
                "key size {asked} is too small: {keys} keys need at least {needed} bytes each to \
                 differ; ask for {needed} to {KEY_BYTES_MAX} bytes, or for fewer keys"
            ),
            Self::TooLarge { asked } => write!(
                f,
                "key size {asked} is too large: memcached takes keys of up to {KEY_BYTES_MAX} \
                 bytes; ask for at most {KEY_BYTES_MAX}"
            ),
            Self::TooMany { keys } => write!(
                f,
                "{keys} keys are too many for key-form bytes, which tells {} apart; ask for fewer, \
                 or for another form",
                eight::END
            ),
            Self::Ascending => f.write_str(
                "ascending sizes are for values: keys would soon be too large for memcached; ask \
                 for another law",
            ),
        }
    }
}

impl std::error::Error for KeyError {}

/// The share of keys with sizes by `law` that are cut to 250 bytes, memcached's limit. Laws that
/// the form refuses cut none.
pub fn share_cut(form: KeyForm, law: &SizeLaw) -> f64 {
    if form.refuses_misfits(law) { 0.0 } else { law.share_above(KEY_BYTES_MAX as u64) }
}

/// How a key is made from its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// The id in base 32 with a width that all keys share, then filler from the same alphabet (0-9,
    /// a-v) up to the key's size.
    Base32,
    /// The id in decimal, padded on the left with zeros to the key's size: mutilate's keys and
    /// sizes. A size that is too small for the id or too large for memcached becomes the nearest
    /// possible size.
    Decimal,
    /// The id in hexadecimal (0-9, a-f). Padding is as for [`KeyForm::Decimal`]; sizes are drawn by
    /// the seed.
    Hex,
    /// The id in eight unprintable bytes, then filler as for [`KeyForm::Base32`]: memaslap's keys.
    Bytes,
}

impl KeyForm {
    /// True if sizes by `law` that no key of this form can have are refused; others are cut or
    /// filled up.
    fn refuses_misfits(self, law: &SizeLaw) -> bool {
        law.is_spelt_out() && matches!(self, Self::Base32 | Self::Bytes)
    }
}

const FORMS: Grammar = Grammar {
    what: "a key form",
    names: &["base32", "decimal", "hex", "bytes"],
    forms: "base32, decimal, hex or bytes",
};

impl FromStr for KeyForm {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        FORMS.choice(word, [Self::Base32, Self::Decimal, Self::Hex, Self::Bytes])
    }
}

impl fmt::Display for KeyForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(FORMS.names[*self as usize])
    }
}

/// The properties that all keys of a run share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyShape {
    /// How a key is made from its number.
    pub form: KeyForm,
    /// The prefix of every key, before its number; it counts towards the size.
    pub prefix: String,
    /// The number of key 0; the following keys count up from it.
    pub first: u64,
}

impl From<KeyForm> for KeyShape {
    fn from(form: KeyForm) -> Self {
        Self { form, prefix: String::new(), first: 0 }
    }
}

/// The keys of a run: ids `0..count`, in one form.
#[derive(Clone, Debug)]
pub struct KeySpace {
    form: KeyForm,
    /// Every key begins with it.
    prefix: Box<[u8]>,
    first: u64,
    count: u64,
    /// The number of digits that every number fits into.
    width: usize,
    size: SizeLaw,
    constant: Option<usize>,
    /// Ids that are equal modulo this number have the same size, if it is given.
    period: Option<NonZeroU64>,
    seed: u64,
    fillers: Draws,
    /// The longest key that is made of one block of digits and one draw of filler; 0 if none is.
    short_max: usize,
}

impl KeySpace {
    /// A space of `count` keys in base 32, numeric keys included, with sizes by a law. A fixed or
    /// uniform law and a table must lie within the possible sizes; other laws are clamped to them.
    pub fn new(count: u64, size: SizeLaw, seed: u64) -> Result<Self, KeyError> {
        Self::in_shape(KeyForm::Base32, count, size, seed)
    }

    /// A space of keys in any shape. Decimal and hexadecimal keys accept every size.
    pub fn in_shape(
        shape: impl Into<KeyShape>,
        count: u64,
        size: SizeLaw,
        seed: u64,
    ) -> Result<Self, KeyError> {
        let KeyShape { form, prefix, first } = shape.into();
        let end = count.saturating_add(first);
        let width = match form {
            KeyForm::Base32 => width_of(end, 5),
            KeyForm::Decimal => decimal_width_of(end),
            KeyForm::Hex => width_of(end, 4),
            KeyForm::Bytes if end > eight::END => return Err(KeyError::TooMany { keys: end }),
            KeyForm::Bytes => eight::BYTES,
        };
        if size.ascends() {
            return Err(KeyError::Ascending);
        }
        let (least, most) = size.bounds();
        let whole = prefix.len() + width;
        if form.refuses_misfits(&size) {
            if least < whole as u64 {
                return Err(KeyError::TooSmall { asked: least, needed: whole as u64, keys: count });
            }
            if let Some(asked) = most.filter(|&most| most > KEY_BYTES_MAX as u64) {
                return Err(KeyError::TooLarge { asked });
            }
        }
        if whole > KEY_BYTES_MAX {
            return Err(KeyError::TooLarge { asked: whole as u64 });
        }
        let constant = size.constant().map(|bytes| (bytes as usize).clamp(whole, KEY_BYTES_MAX));
        let is_short = form == KeyForm::Base32 && prefix.is_empty() && width <= BLOCK;
        let short_max = if is_short { width + FILLER } else { 0 };
        let prefix = prefix.into_bytes().into();
        let (period, fillers) = (None, Draws::new(seed, Stream::KEY_BYTES));
        Ok(Self {
            form,
            prefix,
            first,
            count,
            width,
            size,
            constant,
            period,
            seed,
            fillers,
            short_max,
        })
    }

    /// This space with sizes that repeat after `period` ids.
    pub fn repeating(self, period: NonZeroU64) -> Self {
        Self { period: Some(period), ..self }
    }

    /// The length of the key of `id`, in bytes: 1 to 250.
    #[inline]
    pub fn len(&self, id: u64) -> usize {
        self.constant.unwrap_or_else(|| self.drawn_len(id))
    }

    #[inline(never)]
    fn drawn_len(&self, id: u64) -> usize {
        let id = self.period.map_or(id, |period| id % period);
        let u = match self.form {
            KeyForm::Decimal => decimal_draw(self.size.law(), id),
            KeyForm::Base32 | KeyForm::Hex | KeyForm::Bytes => {
                unit(hash(self.seed, Stream::KEY_SIZE, id))
            }
        };
        let drawn = self.size.size_at(u);
        debug_assert!(self.prefix.len() + self.width <= KEY_BYTES_MAX, "an id has room in a key");
        (drawn as usize).clamp(self.prefix.len() + self.width, KEY_BYTES_MAX)
    }

    /// Appends a space and the key of `id`, as a line of the text protocol has them. The usual key
    /// is made whole in registers, and room for it and for what exceeds it is made at once: each
    /// append looks for room. Its parts are stored where they stay: one that is read back while it
    /// is being stored keeps the processor waiting.
    pub fn write_spaced(&self, id: u64, out: &mut Vec<u8>) {
        debug_assert!(id < self.count, "a key of the plan has an id below their count");
        let len = self.len(id);
        if len > self.short_max {
            out.push(b' ');
            return self.write(id, out);
        }
        let end = out.len() + 1 + len;
        out.extend_from_slice(&[b' '; SPACED]);
        let text = out.last_chunk_mut::<SPACED>().expect("it was appended");
        let low = letters(block_of(id + self.first, self.width)) << (8 * (BLOCK - self.width));
        text[1..=BLOCK].copy_from_slice(&low.to_be_bytes());
        let filled = &mut text[1 + self.width..][..FILLER];
        filled.copy_from_slice(&filler(self.fillers.generator(id).bits()));
        out.truncate(end);
    }

    /// Appends the key of `id`, which must be below the count.
    pub fn write(&self, id: u64, out: &mut Vec<u8>) {
        debug_assert!(id < self.count, "a key of the plan has an id below their count");
        debug_assert!(self.len(id) <= KEY_BYTES_MAX, "a key is longer than memcached allows");
        let len = self.len(id) - self.prefix.len();
        let number = id + self.first;
        if !self.prefix.is_empty() {
            out.extend_from_slice(&self.prefix);
        }
        match self.form {
            KeyForm::Base32 => self.write_base32(id, number, len, out),
            KeyForm::Decimal => write_digits::<10>(number, len, out),
            KeyForm::Hex => write_digits::<16>(number, len, out),
            KeyForm::Bytes => self.write_eight(id, number, len, out),
        }
    }

    /// A separate function, so that the usual form stays small.
    #[inline(never)]
    fn write_eight(&self, id: u64, number: u64, len: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&eight::bytes(number));
        self.fill(id, start + len, out);
    }

    fn write_base32(&self, id: u64, number: u64, len: usize, out: &mut Vec<u8>) {
        let start = out.len();
        // Whole blocks are written, and the excess is cut off.
        if self.width > BLOCK {
            let high = letters(digits(number >> 40)) << (8 * (2 * BLOCK - self.width));
            out.extend_from_slice(&high.to_be_bytes());
            out.truncate(start + self.width - BLOCK);
            out.extend_from_slice(&letters(digits(number)).to_be_bytes());
        } else {
            let low = letters(digits(number)) << (8 * (BLOCK - self.width));
            out.extend_from_slice(&low.to_be_bytes());
            out.truncate(start + self.width);
        }
        self.fill(id, start + len, out);
    }

    /// Appends the filler of `id` until `out` has this length.
    #[inline(always)]
    fn fill(&self, id: u64, len: usize, out: &mut Vec<u8>) {
        let mut random = self.fillers.generator(id);
        while out.len() < len {
            out.extend_from_slice(&filler(random.bits()));
        }
        out.truncate(len);
    }

    /// Parses the id from the front of a key of this space; `None` if the key cannot be one.
    /// Ignores the filler.
    pub fn id_of(&self, key: &[u8]) -> Option<u64> {
        let digits = key.strip_prefix(&*self.prefix)?;
        let number = match self.form {
            KeyForm::Base32 => number_of(digits.get(..self.width)?, 32)?,
            KeyForm::Decimal => number_of(digits, 10)?,
            KeyForm::Hex => number_of(digits, 16)?,
            KeyForm::Bytes => eight::number(digits)?,
        };
        let id = number.checked_sub(self.first)?;
        (id < self.count && key.len() == self.len(id)).then_some(id)
    }
}

/// Letters of an id that are computed at once.
const BLOCK: usize = 8;
/// Letters of filler that are computed at once.
const FILLER: usize = 4 * BLOCK;
/// A space, the digits of one block, and as much filler as one draw makes.
const SPACED: usize = 1 + BLOCK + FILLER;

/// The number of digits of this many bits that tell `count` ids apart; at least 1.
fn width_of(count: u64, digit_bits: u32) -> usize {
    let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
    (bits.div_ceil(digit_bits) as usize).max(1)
}

/// The least number of decimal digits of a key: as many as `count` has, as in mutilate.
fn decimal_width_of(count: u64) -> usize {
    count.max(1).ilog10() as usize + 1
}

/// Parses digits of this base, in lower case.
fn number_of(digits: &[u8], base: u64) -> Option<u64> {
    digits.iter().try_fold(0u64, |number, &letter| {
        let digit = match letter {
            b'0'..=b'9' => letter - b'0',
            b'a'..=b'v' => letter - b'a' + 10,
            _ => return None,
        };
        let digit = Some(u64::from(digit)).filter(|&digit| digit < base)?;
        number.checked_mul(base)?.checked_add(digit)
    })
}

/// The uniform number from which mutilate draws the size of key `id`, independent of the seed: the
/// FNV-1a hash of the id's eight bytes, lowest byte first. mutilate's exponential and Pareto laws
/// use 1 - u where ours use u.
fn decimal_draw(law: &Law, id: u64) -> f64 {
    let fnv = id.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let u = unit(fnv);
    if matches!(law, Law::Exponential(_) | Law::Pareto(..)) { 1.0 - u } else { u }
}

fn write_digits<const BASE: u64>(id: u64, len: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + len, b'0');
    let mut rest = id;
    for digit in out[start..].iter_mut().rev() {
        if rest == 0 {
            break;
        }
        *digit = b"0123456789abcdef"[(rest % BASE) as usize];
        rest /= BASE;
    }
}

/// The digits of a number of this many digits, as [`digits`] spreads them.
#[inline(always)]
const fn block_of(number: u64, width: usize) -> u64 {
    if width > BLOCK / 2 {
        return digits(number);
    }
    // Half of the digits take two steps less. The number has no others.
    let x = (number & 0x3ff) | ((number << 6) & 0x03ff_0000);
    (x & 0x001f_001f) | ((x << 3) & 0x1f00_1f00)
}

/// Spreads the lowest 40 bits over the eight bytes of a number, five to each.
const fn digits(bits: u64) -> u64 {
    let x = bits & 0xff_ffff_ffff;
    let x = (x & 0xf_ffff) | ((x << 12) & 0x000f_ffff_0000_0000);
    let x = (x & 0x0000_03ff_0000_03ff) | ((x << 6) & 0x03ff_0000_03ff_0000);
    (x & 0x001f_001f_001f_001f) | ((x << 3) & 0x1f00_1f00_1f00_1f00)
}

/// Converts eight base-32 digits, one per byte, to eight letters at once: each byte moves into one
/// of the alphabet's two ranges. No byte carries into the next.
#[inline(always)]
const fn letters(digits: u64) -> u64 {
    let above_nine = (digits + 0x7676_7676_7676_7676) & 0x8080_8080_8080_8080;
    let gap = (above_nine - (above_nine >> 7)) & 0x2727_2727_2727_2727;
    digits + 0x3030_3030_3030_3030 + gap
}

/// Filler letters from one draw. Each letter is uniform; letters of one key may depend on each
/// other, which does no harm. Five bits of each byte of the number are used, in four multiples by
/// odd numbers, which is cheaper than mixing four times. The letters are made once all four are
/// known and in their byte order, so that the compiler makes two pieces at a time.
#[inline(always)]
fn filler(bits: u64) -> [u8; FILLER] {
    const ODD: [u64; 4] = [1, 0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9];
    let mut pieces = ODD.map(|odd| bits.wrapping_mul(odd).swap_bytes());
    for piece in &mut pieces {
        // The high bits of a product depend on the whole factor, the low bits on little of it.
        *piece = letters((*piece >> 3) & 0x1f1f_1f1f_1f1f_1f1f);
    }
    let mut text = [0; FILLER];
    for (to, piece) in text.chunks_exact_mut(BLOCK).zip(pieces) {
        to.copy_from_slice(&piece.to_le_bytes());
    }
    text
}

#[cfg(test)]
mod tests;
