//! A batch of points: lines that are posted together.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{self, Read, Write};

/// Lines that are posted together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) lines: Vec<u8>,
    pub(super) points: u64,
}

impl Batch {
    /// A batch of these lines, each of which is a point.
    pub(super) fn of(lines: Vec<u8>) -> Self {
        let points = lines.iter().filter(|byte| ends_line(byte)).count() as u64;
        Self { lines, points }
    }

    /// True if each line looks like a point: names, fields, and an instant behind the last blank.
    pub(super) fn has_points(&self) -> bool {
        let lines = self.lines.strip_suffix(b"\n");
        lines.is_some_and(|lines| lines.split(ends_line).all(is_point))
    }

    /// The two halves of the batch, in whole lines; `None` for a single point.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        let middle = self.lines.len() / 2;
        let behind = self.lines[middle..].iter().position(ends_line)? + middle + 1;
        let end = match behind == self.lines.len() {
            // The last line is longer than all lines before it together.
            true => self.lines[..middle].iter().rposition(ends_line)? + 1,
            false => behind,
        };
        let (first, second) = self.lines.split_at(end);
        Some([first, second].map(|lines| Self::of(lines.to_vec())))
    }

    /// The lines, compressed with gzip.
    pub(super) fn zipped(&self) -> Vec<u8> {
        let room = Vec::with_capacity(self.lines.len() / 4);
        let mut encoder = GzEncoder::new(room, Compression::fast());
        let written = encoder.write_all(&self.lines).and_then(|()| encoder.finish());
        written.expect("memory takes all that is written")
    }

    /// The batch with these compressed lines.
    pub(super) fn unzipped(zipped: &[u8]) -> io::Result<Self> {
        let mut lines = Vec::new();
        GzDecoder::new(zipped).read_to_end(&mut lines)?;
        Ok(Self::of(lines))
    }
}

/// True for the byte that ends a line.
const fn ends_line(byte: &u8) -> bool {
    *byte == b'\n'
}

/// True if `line` has names, fields, and an instant behind the last blank.
fn is_point(line: &[u8]) -> bool {
    let Some(at) = line.iter().rposition(|byte| *byte == b' ') else { return false };
    let (head, instant) = (&line[..at], &line[at + 1..]);
    let is_digits = !instant.is_empty() && instant.iter().all(u8::is_ascii_digit);
    is_digits && head.contains(&b' ') && head.contains(&b'=')
}

#[cfg(test)]
mod tests;
