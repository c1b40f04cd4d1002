//! The bytes of a send: its own, and between them parts of a pool of values that are referred to
//! and not copied. It knows no protocol and sends nothing.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

/// Values of at least this many bytes are referred to. For smaller ones a copy costs less than one
/// more slice for the kernel (figures in `docs/performance.md`).
pub const SPLICE_BYTES_MIN: usize = 8 * 1024;

/// Bytes to send; several slices if large values are among them.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    bytes: &'a [u8],
    splices: &'a [Splice],
    /// The offset that is subtracted from the positions of the splices.
    base: usize,
    pool: Option<&'a Arc<[u8]>>,
}

/// A stretch of the pool within a message.
#[derive(Clone, Debug)]
struct Splice {
    /// The number of the buffer's own bytes before it.
    at: usize,
    /// Its range in the pool.
    pooled: Range<usize>,
}

/// A part of a message that is one slice.
enum Stretch<'a> {
    Own(&'a [u8]),
    Pooled(Range<usize>),
}

impl<'a> Message<'a> {
    /// A message without references.
    #[inline]
    pub const fn plain(bytes: &'a [u8]) -> Self {
        Self { bytes, splices: &[], base: 0, pool: None }
    }

    /// The number of its bytes.
    #[inline]
    pub fn len(&self) -> usize {
        let pooled = self.splices.iter().map(|splice| splice.pooled.len());
        self.bytes.len() + pooled.sum::<usize>()
    }

    /// True if it has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of it, if it is one slice because nothing is referred to.
    #[inline]
    pub const fn as_plain(&self) -> Option<&'a [u8]> {
        if self.splices.is_empty() { Some(self.bytes) } else { None }
    }

    /// The slices of it that follow its first `skip` bytes, in order; none is empty.
    pub fn slices(self, skip: usize) -> impl Iterator<Item = &'a [u8]> {
        self.stretches(skip).map(move |stretch| self.slice(stretch))
    }

    /// The whole message as one slice. If it consists of several, it is copied to `room`, whose
    /// content is replaced.
    pub fn flat<'b>(self, room: &'b mut Vec<u8>) -> &'b [u8]
    where
        'a: 'b,
    {
        if let Some(bytes) = self.as_plain() {
            return bytes;
        }
        room.clear();
        self.slices(0).for_each(|slice| room.extend_from_slice(slice));
        room
    }

    fn slice(&self, stretch: Stretch<'a>) -> &'a [u8] {
        match stretch {
            Stretch::Own(bytes) => bytes,
            Stretch::Pooled(place) => &self.pool.expect("splices are of a pool")[place],
        }
    }

    fn stretches(self, mut skip: usize) -> impl Iterator<Item = Stretch<'a>> {
        let mut splices = self.splices.iter().peekable();
        let mut own = 0;
        iter::from_fn(move || {
            loop {
                let until = splices.peek().map_or(self.bytes.len(), |next| next.at - self.base);
                if own < until {
                    let skipped = skip.min(until - own);
                    let bytes = &self.bytes[own + skipped..until];
                    own = until;
                    skip -= skipped;
                    if !bytes.is_empty() {
                        return Some(Stretch::Own(bytes));
                    }
                    continue;
                }
                let mut place = splices.next()?.pooled.clone();
                let skipped = skip.min(place.len());
                place.start += skipped;
                skip -= skipped;
                if !place.is_empty() {
                    return Some(Stretch::Pooled(place));
                }
            }
        })
    }
}

/// Collects messages, or keeps the unsent rest of several. It allocates only to grow.
#[derive(Debug, Default)]
pub struct SendBuffer {
    bytes: Vec<u8>,
    splices: Vec<Splice>,
    /// Bytes that are referred to.
    pooled: usize,
    pool: Option<Arc<[u8]>>,
}

/// A position between two messages in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct BufferPosition {
    bytes: usize,
    splices: usize,
}

impl SendBuffer {
    /// An empty buffer with room for this many bytes of its own and this many references.
    pub fn with_capacity(bytes: usize, references: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            splices: Vec::with_capacity(references),
            pooled: 0,
            pool: None,
        }
    }

    /// The number of bytes of its messages.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() + self.pooled
    }

    /// True if it has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of its references to values.
    #[inline]
    pub fn references(&self) -> usize {
        self.splices.len()
    }

    /// The buffer to append copied bytes to.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Appends the bytes of `pool` in a range: as a reference, or copied if the buffer already
    /// refers to another pool.
    #[inline]
    pub fn push_pooled(&mut self, pool: &Arc<[u8]>, place: Range<usize>) {
        assert!(place.end <= pool.len(), "a splice lies within its pool");
        let same = self.pool.as_ref().is_some_and(|own| Arc::ptr_eq(own, pool));
        if !same {
            if !self.splices.is_empty() {
                self.bytes.extend_from_slice(&pool[place]);
                return;
            }
            self.pool = Some(Arc::clone(pool));
        }
        self.pooled += place.len();
        self.splices.push(Splice { at: self.bytes.len(), pooled: place });
    }

    /// Appends `message` without its first `skip` bytes.
    #[inline]
    pub fn append(&mut self, message: Message<'_>, skip: usize) {
        if let Some(bytes) = message.as_plain() {
            self.bytes.extend_from_slice(&bytes[skip..]);
            return;
        }
        for stretch in message.stretches(skip) {
            match stretch {
                Stretch::Own(bytes) => self.bytes.extend_from_slice(bytes),
                Stretch::Pooled(place) => {
                    self.push_pooled(message.pool.expect("splices are of a pool"), place);
                }
            }
        }
    }

    /// Its content as one message.
    #[inline]
    pub fn message(&self) -> Message<'_> {
        Message { bytes: &self.bytes, splices: &self.splices, base: 0, pool: self.pool.as_ref() }
    }

    /// The position at which the next message begins.
    #[inline]
    pub fn end(&self) -> BufferPosition {
        BufferPosition { bytes: self.bytes.len(), splices: self.splices.len() }
    }

    /// The bytes appended between two positions, as one message.
    #[inline]
    pub fn between(&self, range: &Range<BufferPosition>) -> Message<'_> {
        Message {
            bytes: &self.bytes[range.start.bytes..range.end.bytes],
            splices: &self.splices[range.start.splices..range.end.splices],
            base: range.start.bytes,
            pool: self.pool.as_ref(),
        }
    }

    /// Empties it.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.splices.clear();
        self.pooled = 0;
    }

    /// Frees memory beyond what `bytes` bytes of its own need.
    pub fn shrink_to(&mut self, bytes: usize) {
        self.bytes.shrink_to(bytes);
    }
}

#[cfg(test)]
mod tests;
