//! Answers on their way to a client: bytes, and large values that are sent without a copy.

use std::collections::VecDeque;
use std::sync::Arc;

/// The buffer that answers are written to.
pub trait ReplyBuffer {
    /// The buffer for everything but large values.
    fn bytes(&mut self) -> &mut Vec<u8>;
    /// Appends a large value of the store.
    fn push_large(&mut self, value: &Arc<[u8]>);
    /// The number of bytes that wait in it.
    fn waiting(&self) -> usize;
}

/// A plain buffer: large values are copied.
impl ReplyBuffer for Vec<u8> {
    fn bytes(&mut self) -> &mut Vec<u8> {
        self
    }

    fn push_large(&mut self, value: &Arc<[u8]>) {
        self.extend_from_slice(value);
    }

    fn waiting(&self) -> usize {
        self.len()
    }
}

/// Answers that wait to be sent. Large values are shared with the store, not copied: a value that
/// leaves the store meanwhile is kept until it is sent.
#[derive(Debug, Default)]
pub struct Outgoing {
    bytes: Vec<u8>,
    /// The number of bytes that are sent.
    sent: usize,
    larges: VecDeque<Large>,
    /// The number of bytes of the first large value that are sent.
    large_sent: usize,
    /// The number of bytes of large values that are not sent.
    large_bytes: usize,
}

#[derive(Debug)]
struct Large {
    /// The number of bytes before it.
    at: usize,
    value: Arc<[u8]>,
}

/// A buffer that has grown beyond this is freed once it is empty.
const KEPT_BYTES_MAX: usize = 512 << 10;

impl Outgoing {
    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.larges.is_empty()
    }

    /// The waiting bytes in order, in slices that are never empty.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.larges.iter().map(|large| large.at).chain([self.bytes.len()]);
        let starts = [self.sent].into_iter().chain(self.larges.iter().map(|large| large.at));
        let between = starts.zip(ends).map(|(start, end)| &self.bytes[start..end]);
        let values = self.larges.iter().enumerate().map(|(number, large)| {
            let from = if number == 0 { self.large_sent } else { 0 };
            &large.value[from..]
        });
        let values = values.chain([&[][..]]);
        between.zip(values).flat_map(<[&[u8]; 2]>::from).filter(|slice| !slice.is_empty())
    }

    /// The bytes before the first large value, and that value.
    pub(crate) fn parts(&self) -> (&[u8], Option<&Arc<[u8]>>) {
        match self.larges.front() {
            None => (&self.bytes, None),
            Some(Large { at, value }) => (&self.bytes[..*at], Some(value)),
        }
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        empty(&mut self.bytes);
        self.larges.clear();
        (self.sent, self.large_sent, self.large_bytes) = (0, 0, 0);
    }

    /// Records that the first `count` waiting bytes are sent.
    pub fn advance(&mut self, mut count: usize) {
        while let Some(Large { at, value }) = self.larges.front() {
            let before = count.min(at - self.sent);
            self.sent += before;
            count -= before;
            if self.sent < *at {
                return;
            }
            let of_value = count.min(value.len() - self.large_sent);
            count -= of_value;
            self.large_sent += of_value;
            self.large_bytes -= of_value;
            if self.large_sent < value.len() {
                return;
            }
            self.larges.pop_front();
            self.large_sent = 0;
        }
        debug_assert!(self.sent + count <= self.bytes.len(), "more is sent than waited");
        self.sent += count;
        if self.sent == self.bytes.len() {
            empty(&mut self.bytes);
            self.sent = 0;
        }
    }
}

impl ReplyBuffer for Outgoing {
    fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    fn push_large(&mut self, value: &Arc<[u8]>) {
        self.large_bytes += value.len();
        self.larges.push_back(Large { at: self.bytes.len(), value: Arc::clone(value) });
    }

    fn waiting(&self) -> usize {
        self.bytes.len() - self.sent + self.large_bytes
    }
}

/// Empties a buffer, and frees one that has become large.
pub(crate) fn empty(bytes: &mut Vec<u8>) {
    if bytes.capacity() > KEPT_BYTES_MAX {
        *bytes = Vec::new();
    } else {
        bytes.clear();
    }
}

#[cfg(test)]
mod tests;
