//! Splits a record into parts that fit into messages, and joins the parts again.

use crate::message::RecordPart;
use ring::digest::{SHA256, digest};

/// The length of a part; a message holds at most 4 MiB.
const PART_BYTES: usize = 1 << 20;
/// The longest record accepted. Records are far shorter, because the number of their rows over time
/// is bounded.
pub(crate) const RECORD_BYTES_MAX: u64 = 512 << 20;

/// The parts of a record, in order. An empty record has one empty part.
pub(crate) fn parts(run: &[u8], record: &[u8]) -> impl Iterator<Item = RecordPart> {
    let sum = digest(&SHA256, record).as_ref().to_vec();
    let bytes_total = record.len() as u64;
    let starts = (0..record.len().max(1)).step_by(PART_BYTES);
    starts.map(move |start| {
        let data = record[start..record.len().min(start + PART_BYTES)].to_vec();
        RecordPart { run: run.to_vec(), data, bytes_total, digest: sum.clone() }
    })
}

/// A record that arrives in parts.
#[derive(Debug, Default)]
pub struct Assembly {
    bytes: Vec<u8>,
}

impl Assembly {
    /// The number of bytes that have arrived.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Adds the next part of the record of `run`; returns the record once it is complete.
    ///
    /// # Errors
    /// If the parts do not belong to one record.
    pub fn add(&mut self, run: &[u8], part: &RecordPart) -> Result<Option<Vec<u8>>, String> {
        if part.run != run {
            return Err("it sent a record of another run".to_owned());
        }
        if part.bytes_total > RECORD_BYTES_MAX {
            let bytes = part.bytes_total;
            return Err(format!("its record has {bytes} bytes; {RECORD_BYTES_MAX} are allowed"));
        }
        let length = self.bytes.len() as u64 + part.data.len() as u64;
        if length > part.bytes_total {
            return Err("its record is longer than it said".to_owned());
        }
        self.bytes.extend_from_slice(&part.data);
        assert!(self.bytes.len() as u64 <= RECORD_BYTES_MAX, "a longer record is an error");
        if length < part.bytes_total {
            return Ok(None);
        }
        let record = std::mem::take(&mut self.bytes);
        match digest(&SHA256, &record).as_ref() == part.digest {
            true => Ok(Some(record)),
            false => Err("its record was damaged on the way: the digest differs".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
