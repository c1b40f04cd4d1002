//! Datagrams ("UDP protocol"): a header of eight bytes before a request and before each part of an
//! answer. This module does not read the body, which is text or frames, and neither sends nor
//! retransmits.

mod reassembler;

pub use reassembler::{Message, Reassembler, Taken};

use std::fmt;

/// Bytes of the header.
const HEADER_BYTES: usize = 8;
/// The longest datagram with its header, which fits an Ethernet frame. Servers send no longer
/// datagrams and read no request from several datagrams, so a longer request must not be sent.
pub const DATAGRAM_BYTES_MAX: usize = 1400;
/// The longest body of a datagram.
pub const BODY_BYTES_MAX: usize = DATAGRAM_BYTES_MAX - HEADER_BYTES;
/// The most datagrams of one answer: their number has 16 bits.
const DATAGRAMS_MAX: usize = u16::MAX as usize;

/// The header of a request or of a part of an answer. The last two of its eight bytes are reserved:
/// written as zero, and ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The client's number of the request, repeated in every part of its answer.
    pub request: u16,
    /// The part's number from 0; 0 in a request.
    pub sequence: u16,
    /// The number of parts; 1 in a request.
    pub total: u16,
}

impl Header {
    /// The header of a request, which is always one datagram.
    pub const fn of_request(request: u16) -> Self {
        Self { request, sequence: 0, total: 1 }
    }

    /// Splits a datagram into header and body; `None` if it is too short.
    #[inline]
    pub fn read(datagram: &[u8]) -> Option<(Self, &[u8])> {
        let (header, body) = datagram.split_first_chunk::<HEADER_BYTES>()?;
        let [r0, r1, s0, s1, t0, t1, _, _] = *header;
        let [request, sequence, total] = [[r0, r1], [s0, s1], [t0, t1]].map(u16::from_be_bytes);
        Some((Self { request, sequence, total }, body))
    }

    /// The header's bytes.
    #[inline]
    pub fn bytes(self) -> [u8; HEADER_BYTES] {
        let [r, s, t] = [self.request, self.sequence, self.total].map(u16::to_be_bytes);
        [r[0], r[1], s[0], s[1], t[0], t[1], 0, 0]
    }
}

/// The error for a request that is too long for a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// The request's length in bytes.
    pub bytes: usize,
    /// The longest length allowed, in bytes.
    pub bytes_max: usize,
}

impl fmt::Display for TooLong {
    /// Writes the sentence without its full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, bytes_max } = self;
        write!(f, "{bytes} bytes do not fit into a datagram of {bytes_max}; use TCP for them")
    }
}

impl std::error::Error for TooLong {}

/// The datagrams of the answer to `request`, in order, each as header and body; none for an empty
/// answer.
pub fn split(
    request: u16,
    answer: &[u8],
) -> Result<impl Iterator<Item = (Header, &[u8])>, TooLong> {
    let bodies = answer.chunks(BODY_BYTES_MAX);
    let Ok(total) = u16::try_from(bodies.len()) else {
        let bytes_max = DATAGRAMS_MAX * BODY_BYTES_MAX;
        return Err(TooLong { bytes: answer.len(), bytes_max });
    };
    Ok((0..total).zip(bodies).map(move |(sequence, body)| {
        let header = Header { request, sequence, total };
        (header, body)
    }))
}
