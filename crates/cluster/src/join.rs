//! Join files, with which an agent finds its master, recognises it, and proves itself to it.
//!
//! Text in, text out; the files themselves are opened elsewhere. A join file holds a secret, so no
//! error and no `Debug` of this module shows its token.

use crate::law::{LIMITS, LawWords, Limit};
use memtide_base::hex::{from_hex, to_hex};
use ring::rand::SecureRandom;
use std::fmt::{self, Write};
use subtle::ConstantTimeEq;
use toml::{Table, Value};

/// The version of the format.
const VERSION: i64 = 1;
const TOKEN_BYTES: usize = 16;
const DIGEST_BYTES: usize = 32;
/// Runs of this many or more hexadecimal digits are not quoted in an error.
const QUOTED_HEX_MAX: usize = 12;
const NO_TARGETS: &str = "limits: allow-target: not a list of strings in quotes";

/// A secret of 128 bits that an agent shares with its master.
#[derive(Clone)]
pub struct Token([u8; TOKEN_BYTES]);

impl Token {
    /// Makes a new token.
    ///
    /// # Errors
    /// If `random` fails.
    pub fn make(random: &dyn SecureRandom) -> Result<Self, String> {
        let mut bytes = [0; TOKEN_BYTES];
        random.fill(&mut bytes).map_err(|_| "the system returned no random bytes".to_owned())?;
        Ok(Self(bytes))
    }

    /// True if `bytes` are this token, compared in constant time.
    #[must_use]
    pub fn matches(&self, bytes: &[u8]) -> bool {
        self.0.as_slice().ct_eq(bytes).into()
    }

    /// The token's bytes, for the message that proves the agent to the master.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.matches(&other.0)
    }
}

impl Eq for Token {}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The contents of a join file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// SHA-256 of the master's certificate (DER). The master proves that it has the key.
    pub master: [u8; DIGEST_BYTES],
    /// The secret by which the master recognises its agents.
    pub token: Token,
    /// The address at which agents dial the master: `host:port`.
    pub address: String,
    /// Limits of the agent that reads the file.
    pub limits: LawWords,
}

impl Join {
    /// Parses the text of a join file.
    ///
    /// # Errors
    /// A sentence that names the key, its fault and the allowed values. It never shows the token.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse(text).map_err(|error| without_secrets(&error))
    }

    /// The text of this join file, which `parse` reads back.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::from(
            "# A memtide join file. An agent that reads it obeys the master below, and can join \
             its runs.\n# Keep it secret: chmod 600.\n",
        );
        line(&mut text, "memtide_join", Value::Integer(VERSION));
        line(&mut text, "master", digest_text(&self.master).into());
        line(&mut text, "token", to_hex(&self.token.0).into());
        line(&mut text, "address", self.address.as_str().into());
        if self.limits != LawWords::default() {
            text.push_str("\n[limits]\n");
            let LawWords { allow_target, most } = &self.limits;
            if !allow_target.is_empty() {
                line(&mut text, "allow-target", allow_target.clone().into());
            }
            for Limit { name, .. } in &LIMITS {
                if let Some(word) = most.get(name) {
                    line(&mut text, name, word.as_str().into());
                }
            }
        }
        text
    }
}

fn line(text: &mut String, key: &str, value: Value) {
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "{key} = {value}");
}

/// A certificate's digest as join files and messages write it: `sha256:` and 64 digits.
#[must_use]
pub fn digest_text(digest: &[u8; DIGEST_BYTES]) -> String {
    format!("sha256:{}", to_hex(digest))
}

/// True if `address` is `host:port` with a port from 1 to 65 535.
fn is_address(address: &str) -> bool {
    let Some((host, port)) = address.rsplit_once(':') else {
        return false;
    };
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').filter(|inner| inner.contains(':')),
        None => Some(host).filter(|host| !host.contains(':')),
    };
    let host = host.is_some_and(|host| !host.is_empty() && host.chars().all(is_plain));
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    host && digits && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// True if a host's name or address may contain this letter.
fn is_plain(letter: char) -> bool {
    !letter.is_whitespace() && !letter.is_control() && !"/@[]\"".contains(letter)
}

/// Returns `address` if it is `host:port`.
///
/// # Errors
/// A sentence that shows the address and the required form.
pub(crate) fn checked_address(address: &str) -> Result<&str, String> {
    if is_address(address) {
        return Ok(address);
    }
    Err(format!(
        "'{address}' is not HOST:PORT; write for example '10.0.0.1:7411', 'master.lab:7411' or \
         '[fd00::1]:7411'"
    ))
}

fn parse(text: &str) -> Result<Join, String> {
    let mut table = toml_table(text)?;
    match table.remove("memtide_join") {
        Some(Value::Integer(VERSION)) => {}
        Some(Value::Integer(other)) => {
            return Err(format!(
                "memtide_join: version {other} is unknown, and this memtide reads version \
                 {VERSION}; use the memtide that wrote the file, or make new files with memtide \
                 key new"
            ));
        }
        Some(_) => return Err("memtide_join: not a number; write memtide_join = 1".to_owned()),
        None => {
            return Err("it is not a join file: memtide_join = 1 is missing; memtide key new \
                        writes join files"
                .to_owned());
        }
    }
    let master = word(&mut table, "master")?;
    let token = word(&mut table, "token")?;
    let address = word(&mut table, "address")?;
    let limits = match table.remove("limits") {
        Some(Value::Table(limits)) => law_words(limits)?,
        Some(_) => return Err("limits: not a table; write [limits] above its keys".to_owned()),
        None => LawWords::default(),
    };
    no_more(&table, "", "memtide_join, master, token, address, [limits]")?;
    let master =
        master.strip_prefix("sha256:").and_then(from_hex).and_then(|it| it.try_into().ok()).ok_or(
            "master: not sha256: and 64 hexadecimal digits; copy the whole line from the file that \
         memtide key new wrote",
        )?;
    let token = from_hex(&token).and_then(|token| token.try_into().ok()).ok_or(
        "token: not 32 hexadecimal digits; copy the whole line from the file that memtide key new \
         wrote",
    )?;
    checked_address(&address).map_err(|error| format!("address: {error}"))?;
    Ok(Join { master, token: Token(token), address, limits })
}

/// Parses the text as TOML. The parser's own message is dropped, because it quotes the line.
fn toml_table(text: &str) -> Result<Table, String> {
    text.parse::<Table>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line} is not TOML; write KEY = \"VALUE\", each key once")
    })
}

fn word(table: &mut Table, key: &str) -> Result<String, String> {
    match table.remove(key) {
        Some(Value::String(word)) => Ok(word),
        Some(_) => Err(format!("{key}: not a string in quotes")),
        None => Err(format!("{key} is missing; memtide key new writes complete join files")),
    }
}

fn law_words(mut table: Table) -> Result<LawWords, String> {
    let mut words = LawWords::default();
    for Limit { name, .. } in LIMITS {
        let word = match table.remove(name) {
            None => continue,
            Some(Value::String(word)) => word,
            Some(Value::Integer(number)) => number.to_string(),
            Some(_) => {
                return Err(format!("limits: {name}: not a string in quotes or a whole number"));
            }
        };
        words.most.insert(name, word);
    }
    match table.remove("allow-target") {
        None => {}
        Some(Value::String(target)) => words.allow_target.push(target),
        Some(Value::Array(targets)) => {
            for target in targets {
                words.allow_target.push(target.as_str().ok_or(NO_TARGETS)?.to_owned());
            }
        }
        Some(_) => return Err(NO_TARGETS.to_owned()),
    }
    let keys = LIMITS.map(|limit| limit.name).join(", ");
    no_more(&table, "limits: ", &format!("allow-target, {keys}"))?;
    Ok(words)
}

fn no_more(table: &Table, place: &str, allowed: &str) -> Result<(), String> {
    match table.keys().next() {
        None => Ok(()),
        Some(key) => Err(format!("{place}'{key}' is unknown; allowed: {allowed}")),
    }
}

/// Replaces words that may be a token in the wrong place.
fn without_secrets(error: &str) -> String {
    let mut clean = String::with_capacity(error.len());
    let mut rest = error;
    while let Some(first) = rest.chars().next() {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let taken = digits.max(first.len_utf8());
        clean.push_str(if digits > QUOTED_HEX_MAX { "(hidden)" } else { &rest[..taken] });
        rest = &rest[taken..];
    }
    clean
}

#[cfg(test)]
mod tests;
