//! Decodes a server's bytes into the answers of the meta protocol, and into the classic replies
//! that come on the same connection. Does not know which request an answer belongs to.

use super::{Flag, Flags, Letters};
use crate::error::{Excerpt, Malformed};
use crate::reply::Reply;
use crate::request::KEY_BYTES_MAX;
use crate::stream::{Expect, Lines, VALUE_BYTES_MAX, ValueHead, front_of_chunk};
use crate::{scan, text};

/// One answer, or one piece of it. A value comes as `Value, Data, …`; nothing marks its end but the
/// last `Data`. Codes are replies: `HD` is `Done`, `EN` is `End`, `NS` is `NotStored`, `EX` is
/// `Exists`, `NF` is `NotFound`, `MN` is `Noop` and `ME` is `Item`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// The meaning of the code. Key, client's flags and cas number of a value are those that its
    /// flags `k`, `f` and `c` say; empty, 0 and none without them. The key is as written: in base64
    /// if there is a flag `b`.
    pub reply: Reply<'a>,
    /// The returned flags; empty for the pieces of a value.
    pub flags: Flags<'a>,
}

/// Decodes what a server sends on one connection.
#[derive(Debug, Default)]
pub struct ReplyDecoder {
    expect: Expect,
    lines: Lines,
    /// True if classic replies other than errors are malformed.
    refuses_classic: bool,
    /// The head of the value with a key that was skipped last.
    skipped: Option<KeyedHead>,
}

impl ReplyDecoder {
    /// A decoder at the beginning of a stream. It allocates nothing until a line is cut in two.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on, classic replies other than errors are malformed: the connection carries only
    /// meta commands.
    pub fn refuse_classic(&mut self) {
        self.refuses_classic = true;
    }

    /// Takes the next answer from the front of `input`. `None` means that more bytes are needed;
    /// `input` is then empty. An error is the server's fault, and nothing can be decoded after it.
    #[inline(always)]
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Answer<'a>>, Malformed> {
        let mut flags = Flags::default();
        Ok(self.next_reply(input, &mut flags)?.map(|reply| Answer { reply, flags }))
    }

    /// Takes the next answer as [`Self::next`] does, and writes its flags to `flags`, which must be
    /// empty: returned beside the reply, they would have each reply copied.
    #[inline(always)]
    pub fn next_reply<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        flags: &mut Flags<'a>,
    ) -> Result<Option<Reply<'a>>, Malformed> {
        if input.is_empty() {
            return Ok(None);
        }
        match self.expect {
            Expect::Line => self.next_line(input, flags),
            _ => self.expect.next_data(input),
        }
    }

    /// Skips up to `most` values at the front of `input` that have arrived whole, up to one that
    /// has a flag of `but`; returns their number and the sum of their lengths. For values that the
    /// caller does not read. What is unusual is left to [`Self::next`].
    #[inline]
    pub fn skip_values(&mut self, input: &mut &[u8], most: u16, but: Letters) -> (u16, u64) {
        let (mut count, mut sum) = (0, 0);
        if matches!(self.expect, Expect::Line) && self.lines.at_start() {
            // Letters are not looked at where heads are compared.
            self.skipped = self.skipped.filter(|skipped| !skipped.letters.has_any(but));
            while count < most
                && let Some((bytes, rest)) = skip_alike(self.skipped.as_ref(), input)
                    .or_else(|| skip_whole(&mut self.skipped, input, but))
            {
                *input = rest;
                count += 1;
                sum += bytes as u64;
            }
        }
        (count, sum)
    }

    /// Skips the code that ends the answer to a read if no value does, if it is whole, has no flags
    /// and is at the front of `input`: `MN` of `several` keys, `EN` of one. False if it is not.
    #[inline]
    pub fn skip_end(&mut self, input: &mut &[u8], several: bool) -> bool {
        let code = if several { b"MN\r\n" } else { b"EN\r\n" };
        if matches!(self.expect, Expect::Line)
            && self.lines.at_start()
            && let Some(rest) = input.strip_prefix(code)
        {
            *input = rest;
            return true;
        }
        false
    }

    /// True if the stream stands between answers: no line is partly read and no value is open.
    pub fn is_idle(&self) -> bool {
        matches!(self.expect, Expect::Line) && self.lines.is_idle()
    }

    /// Checks the beginning of a line whose end has not arrived. An error if no answer can begin
    /// like this.
    #[inline]
    pub fn check_partial(&self) -> Result<(), Malformed> {
        match self.lines.partial() {
            Some(partial) if !may_become_answer(partial, self.refuses_classic) => {
                Err(Malformed::UnknownAnswer { line: Excerpt::of(partial) })
            }
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn next_line<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        flags: &mut Flags<'a>,
    ) -> Result<Option<Reply<'a>>, Malformed> {
        if self.lines.at_start()
            && let Some((reply, rest)) = usual(input, flags)
        {
            *input = rest;
            self.expect = Expect::after(&reply);
            return Ok(Some(reply));
        }
        self.next_unusual_line(input, flags)
    }

    /// Reads a line that is none of the usual ones, or that arrives in pieces. A function of its
    /// own, so that the usual lines do not pay for it.
    #[inline(never)]
    fn next_unusual_line<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        flags: &mut Flags<'a>,
    ) -> Result<Option<Reply<'a>>, Malformed> {
        let Some(line) = self.lines.take(input)? else { return Ok(None) };
        let answer = match parse_line(line)? {
            Some(answer) => answer,
            None => parse_classic(line, self.refuses_classic)?,
        };
        self.expect = Expect::after(&answer.reply);
        *flags = answer.flags;
        Ok(Some(answer.reply))
    }
}

impl<'a> From<Reply<'a>> for Answer<'a> {
    /// An answer without flags.
    #[inline(always)]
    fn from(reply: Reply<'a>) -> Self {
        Self { reply, flags: Flags::default() }
    }
}

/// Reads the lines that make up most traffic in one pass: a code without flags, or the head of a
/// value, whose flags it writes. Returns the reply and the rest; `None` for every other line, which
/// the general parser reads.
#[inline(always)]
fn usual<'a, 'i: 'a>(input: &'i [u8], flags: &mut Flags<'a>) -> Option<(Reply<'a>, &'i [u8])> {
    if let Some(rest) = input.strip_prefix(b"VA ") {
        let (bytes, rest) = scan::short_decimal(rest)?;
        let (value, at) = Returned::read(rest)?;
        let [b'\r', b'\n', after @ ..] = &rest[at..] else { return None };
        *flags = Flags::seen(&rest[..at], value.letters);
        return Some((value.reply(bytes as usize), after));
    }
    let (code, rest) = input.split_first_chunk::<4>()?;
    let reply = match code {
        b"HD\r\n" => Reply::Done,
        b"EN\r\n" => Reply::End,
        b"MN\r\n" => Reply::Noop,
        _ => return None,
    };
    Some((reply, rest))
}

/// The head of a value that returns its key.
#[derive(Clone, Copy, Debug)]
struct KeyedHead {
    /// What stands before its key: code, length, flags, and the letter `k`.
    lead: u128,
    /// The bytes of `lead` that count.
    mask: u128,
    lead_bytes: usize,
    letters: Letters,
    /// The rest of it.
    value: ValueHead,
}

/// The length of a value at the front of `input` whose head differs from that of the one `skipped`
/// last by no more than the letters of the key, and the bytes behind it; `None` if it does, or if
/// the value is not whole.
#[inline(always)]
fn skip_alike<'i>(skipped: Option<&KeyedHead>, input: &'i [u8]) -> Option<(usize, &'i [u8])> {
    let skipped = skipped?;
    let lead = u128::from_le_bytes(*input.first_chunk()?);
    if (lead ^ skipped.lead) & skipped.mask != 0 {
        return None;
    }
    let rest = skipped.value.skip_alike(input.get(skipped.lead_bytes..)?)?;
    Some((skipped.value.bytes(), rest))
}

/// The length of a value that has arrived whole and has no flag of `but`, and the bytes behind it.
/// If it has a key, its head becomes `skipped`.
#[inline]
fn skip_whole<'i>(
    skipped: &mut Option<KeyedHead>,
    input: &'i [u8],
    but: Letters,
) -> Option<(usize, &'i [u8])> {
    let (bytes, mut rest) = scan::short_decimal(input.strip_prefix(b"VA ")?)?;
    let bytes = bytes as usize;
    let (mut letters, mut key) = (Letters::default(), None);
    while let [b' ', letter @ b'A'..=b'z', token @ ..] = rest {
        letters = letters.with(*letter);
        let within = &token[..token.len().min(KEY_BYTES_MAX + 1)];
        let end = scan::find_end_of_key(within)?;
        if *letter == KEY {
            key = Some((token, end));
        }
        rest = &token[end..];
    }
    let rest = rest.strip_prefix(b"\r\n")?;
    let behind = rest.get(bytes..)?.strip_prefix(b"\r\n")?;
    if letters.has_any(but) {
        return None;
    }
    if let Some((from_key, key_bytes)) = key {
        let lead_bytes = input.len() - from_key.len();
        let tail_bytes = from_key.len() - key_bytes - rest.len();
        *skipped =
            input.first_chunk().filter(|lead| lead_bytes <= lead.len()).map(|lead| KeyedHead {
                lead: u128::from_le_bytes(*lead),
                mask: front_of_chunk(lead_bytes),
                lead_bytes,
                letters,
                value: ValueHead::of(from_key, key_bytes, tail_bytes, bytes),
            });
    }
    Some((bytes, behind))
}

/// The flags of a value that have a place in [`Reply::Value`].
#[derive(Default)]
struct Returned<'a> {
    key: &'a [u8],
    flags: u32,
    cas: Option<u64>,
    letters: Letters,
}

const KEY: u8 = Flag::Key as u8;
const CLIENT_FLAGS: u8 = Flag::ReturnFlags as u8;
const CAS: u8 = Flag::ReturnCas as u8;

impl<'a> Returned<'a> {
    /// Reads flags, each after one space, up to a byte that is no part of a word; returns them and
    /// the number of bytes. `None` if one has no letter, has a number that is none, or is long.
    #[inline(always)]
    fn read(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let mut found = Self::default();
        let mut at = 0;
        while let [b' ', letter, rest @ ..] = &bytes[at..] {
            let within = &rest[..rest.len().min(KEY_BYTES_MAX + 1)];
            let token = &within[..scan::find_end_of_key(within)?];
            found.note(*letter, token)?;
            at += 2 + token.len();
        }
        Some((found, at))
    }

    /// Takes a flag into account. `None` if its number is none.
    #[inline(always)]
    fn note(&mut self, letter: u8, token: &'a [u8]) -> Option<()> {
        self.letters = self.letters.with(letter);
        match letter {
            KEY => self.key = token,
            CLIENT_FLAGS => self.flags = u32::try_from(scan::decimal(token)?).ok()?,
            CAS => self.cas = Some(scan::decimal(token)?),
            ..=b' ' => return None,
            _ => {}
        }
        Some(())
    }

    #[inline(always)]
    fn reply(self, bytes: usize) -> Reply<'a> {
        let Self { key, flags, cas, .. } = self;
        Reply::Value { key, flags, bytes, cas }
    }
}

/// True if a line that begins with `partial` can be an answer, or a classic reply that is not
/// refused.
fn may_become_answer(partial: &[u8], refuses_classic: bool) -> bool {
    const CODES: [&[u8]; 8] = [b"VA ", b"HD", b"EN", b"NS", b"EX", b"NF", b"MN\r\n", b"ME "];
    const ERRORS: [&[u8]; 3] = [b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR"];
    let may_be_classic = match refuses_classic {
        true => ERRORS.iter().any(|error| scan::agree(error, partial)),
        false => text::may_become_reply(partial),
    };
    CODES.iter().any(|code| scan::agree(code, partial)) || may_be_classic
}

/// Reads one line with its CRLF; `None` if it has no code of the meta protocol.
fn parse_line(line: &[u8]) -> Result<Option<Answer<'_>>, Malformed> {
    let unknown = || Malformed::UnknownAnswer { line: Excerpt::of(line) };
    let text = line.strip_suffix(b"\r\n").ok_or_else(unknown)?;
    let (code, words) = match text.split_first_chunk::<2>() {
        Some((code, words @ ([] | [b' ', ..]))) => (code, words),
        _ => return Ok(None),
    };
    let reply = match code {
        b"VA" => {
            return parse_value(words).map(Some).ok_or(Malformed::BadNumber {
                line: Excerpt::of(line),
                expected: "VA, a size of at most 1 GiB and flags, in which f is 32 bits and c is \
                           64 bits",
            });
        }
        b"ME" => {
            let rest = words.strip_prefix(b" ").ok_or_else(unknown)?;
            let at = scan::find(b' ', rest).unwrap_or(rest.len());
            let (key, figures) = rest.split_at(at);
            let figures = figures.strip_prefix(b" ").unwrap_or(figures);
            return Ok(Some(Reply::Item { key, figures }.into()));
        }
        b"HD" => Reply::Done,
        b"EN" => Reply::End,
        b"NS" => Reply::NotStored,
        b"EX" => Reply::Exists,
        b"NF" => Reply::NotFound,
        b"MN" => Reply::Noop,
        // `OK` is a classic reply.
        _ => return Ok(None),
    };
    Ok(Some(Answer { reply, flags: Flags::spaced(words) }))
}

/// `<size> <flags>*` of "Meta Get".
fn parse_value(words: &[u8]) -> Option<Answer<'_>> {
    let mut rest = words;
    let bytes = scan::decimal(scan::word(&mut rest)?)?;
    if bytes > VALUE_BYTES_MAX {
        return None;
    }
    let mut found = Returned::default();
    for word in Flags::spaced(rest) {
        found.note(word.letter, word.token)?;
    }
    let flags = Flags::seen(rest, found.letters);
    Some(Answer { reply: found.reply(usize::try_from(bytes).ok()?), flags })
}

/// Reads a classic reply, such as VERSION or an error; all but errors are malformed if they are
/// refused.
fn parse_classic(line: &[u8], is_refused: bool) -> Result<Answer<'_>, Malformed> {
    match text::parse_line(line) {
        Ok(reply @ Reply::Error(_)) => Ok(reply.into()),
        Ok(reply) if !is_refused => Ok(reply.into()),
        Ok(_) | Err(Malformed::UnknownReply { .. }) => {
            Err(Malformed::UnknownAnswer { line: Excerpt::of(line) })
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
