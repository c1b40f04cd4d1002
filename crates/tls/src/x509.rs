//! A few facts of a certificate for messages and for the dates of trusted ones: reads DER (X.690)
//! and verifies nothing. Signatures, names and chains are webpki's work.

use memtide_base::calendar::days_since_1970;
use rustls::pki_types::CertificateDer;
use std::ops::RangeInclusive;

const SEQUENCE: u8 = 0x30;
const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// The lengths of RSA keys whose signatures can be verified, in bits.
pub(crate) const KEY_BITS: RangeInclusive<u32> = 2048..=8192;
/// The tags of a certificate's version and extensions.
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

/// Object identifiers: `rsaEncryption`, and the attributes and the extension that are read.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];

/// What the fields of a certificate say (RFC 5280, 4.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    /// The issuer and the subject, each the content of a `Name`.
    pub(crate) issuer: &'a [u8],
    pub(crate) subject: &'a [u8],
    /// The first and the last second of validity, since 1970.
    pub(crate) not_before: u64,
    pub(crate) not_after: u64,
    /// The content of the public key's field.
    key: &'a [u8],
    /// True if it has the right to sign others: by its extension, or because it is of version 1,
    /// which has none.
    pub(crate) is_ca: bool,
}

impl<'a> Facts<'a> {
    /// The facts of a certificate; none if its fields are not those of X.509.
    pub(crate) fn of(certificate: &'a CertificateDer<'_>) -> Option<Self> {
        let whole = Values(certificate.as_ref()).next()?.content;
        let signed = Values(whole).next()?.content;
        let mut fields = Values(signed).peekable();
        let has_version = fields.next_if(|field| field.tag == VERSION).is_some();
        // The serial number and the algorithm of the signature.
        let mut fields = fields.skip(2).map(|field| field.content);
        let (issuer, validity) = (fields.next()?, fields.next()?);
        let (subject, key) = (fields.next()?, fields.next()?);
        let mut dates = Values(validity).filter_map(seconds);
        let (not_before, not_after) = (dates.next()?, dates.next()?);
        let is_ca = !has_version || may_sign(signed);
        Some(Self { issuer, subject, not_before, not_after, key, is_ca })
    }

    /// The number of bits of the public key; none unless it is an RSA key (RFC 8017, A.1.1).
    pub(crate) fn rsa_bits(&self) -> Option<u32> {
        let mut parts = Values(self.key);
        let algorithm = parts.next()?.of(SEQUENCE)?;
        if Values(algorithm).next()?.of(OBJECT)? != RSA {
            return None;
        }
        // The first byte is the number of unused bits.
        let bits = parts.next()?.of(BIT_STRING)?.get(1..)?;
        let numbers = Values(bits).next()?.of(SEQUENCE)?;
        let modulus = Values(numbers).next()?.of(INTEGER)?;
        let zeros = modulus.iter().take_while(|&&byte| byte == 0).count();
        let first = modulus.get(zeros)?;
        Some((modulus.len() - zeros) as u32 * 8 - first.leading_zeros())
    }
}

/// The common name in the content of a `Name`, or else its last attribute; empty if it has none.
pub(crate) fn common_name(name: &[u8]) -> &[u8] {
    let attributes = Values(name).flat_map(|set| Values(set.content)).filter_map(|attribute| {
        let mut parts = Values(attribute.content);
        Some((parts.next()?.content, parts.next()?.content))
    });
    let mut found: &[u8] = &[];
    for (kind, value) in attributes {
        found = value;
        if kind == COMMON_NAME {
            break;
        }
    }
    found
}

/// True if the signed part of a certificate has basic constraints with `CA:TRUE`.
fn may_sign(signed: &[u8]) -> bool {
    let extensions = Values(signed).find_map(|field| field.of(EXTENSIONS));
    let list = Values(extensions.unwrap_or_default()).next().map(|list| list.content);
    let found = Values(list.unwrap_or_default()).find_map(|extension| {
        let is_it = Values(extension.content).next()?.content == BASIC_CONSTRAINTS;
        let value = Values(extension.content).find_map(|part| part.of(OCTET_STRING))?;
        is_it.then_some(value)
    });
    let constraints = found.and_then(|value| Values(value).next()?.of(SEQUENCE));
    let ca = constraints.and_then(|content| Values(content).next()?.of(BOOLEAN));
    ca.is_some_and(|ca| ca != [0])
}

/// The seconds since 1970 of a `Time` (RFC 5280, 4.1.2.5).
fn seconds(time: Value<'_>) -> Option<u64> {
    let digits = std::str::from_utf8(time.content).ok()?.strip_suffix('Z')?;
    let (year, rest) = match time.tag {
        UTC_TIME => {
            let (year, rest) = digits.split_at_checked(2)?;
            let year: i64 = year.parse().ok()?;
            (year + if year < 50 { 2000 } else { 1900 }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = digits.split_at_checked(4)?;
            (year.parse().ok()?, rest)
        }
        _ => return None,
    };
    let parts = [0, 2, 4, 6, 8].map(|at| rest.get(at..at + 2)?.parse::<i64>().ok());
    let [Some(month), Some(day), Some(hour), Some(minute), Some(second)] = parts else {
        return None;
    };
    let second = hour * 3_600 + minute * 60 + second;
    // Nothing is compared with an instant before 1970.
    Some((days_since_1970(year, month, day) * 86_400 + second).max(0) as u64)
}

/// A value in DER.
#[derive(Clone, Copy)]
struct Value<'a> {
    tag: u8,
    content: &'a [u8],
}

impl<'a> Value<'a> {
    /// The content, if the value has this tag.
    fn of(self, tag: u8) -> Option<&'a [u8]> {
        (self.tag == tag).then_some(self.content)
    }
}

/// The values that follow each other in DER; ends at what is none.
#[derive(Clone, Copy)]
struct Values<'a>(&'a [u8]);

impl<'a> Iterator for Values<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let [tag, first, rest @ ..] = self.0 else { return None };
        let (length, rest) = match first {
            0..=0x7f => (usize::from(*first), rest),
            0x81..=0x83 => {
                let (size, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (size.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(Value { tag: *tag, content })
    }
}
