//! A client's bytes that were not read yet, kept while too many answers wait.

/// Received bytes, and how many of them were read.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    bytes: Vec<u8>,
    read: usize,
}

impl Rest {
    /// True if everything was read.
    pub fn is_empty(&self) -> bool {
        self.read == self.bytes.len()
    }

    /// Passes the kept bytes and then `bytes` to `read`, which removes what it reads from the
    /// front; keeps the rest.
    pub fn feed<T>(&mut self, bytes: &[u8], read: impl FnOnce(&mut &[u8]) -> T) -> T {
        if self.is_empty() {
            let mut input = bytes;
            let outcome = read(&mut input);
            if !input.is_empty() {
                *self = Self { bytes: input.to_vec(), read: 0 };
            }
            return outcome;
        }
        self.bytes.extend_from_slice(bytes);
        let mut input = &self.bytes[self.read..];
        let outcome = read(&mut input);
        debug_assert!(input.len() <= self.bytes.len() - self.read, "reading makes no bytes");
        self.read = self.bytes.len() - input.len();
        if self.is_empty() {
            self.clear();
        }
        outcome
    }

    /// Drops the bytes.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
