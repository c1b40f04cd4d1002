//! Datagrams ("UDP protocol"): a header of eight bytes before a request, and before each part of an
//! answer. What is asked and answered stands behind it, in lines or in frames, and is nothing to
//! this module; sending, and sending again, is not either.

mod reassembler;

pub use reassembler::{Message, Reassembler, Taken};

use std::fmt;

/// Bytes of the header.
const HEADER_BYTES: usize = 8;
/// The longest datagram, header included: what fits through an Ethernet. Servers send none that is
/// longer, and read no request in several, so a request that does not fit must not be sent.
pub const DATAGRAM_BYTES_MAX: usize = 1400;
/// What the header leaves of it.
pub const BODY_BYTES_MAX: usize = DATAGRAM_BYTES_MAX - HEADER_BYTES;
/// Datagrams of one answer at most: their number has 16 bits.
const DATAGRAMS_MAX: usize = u16::MAX as usize;

/// What stands before a request or a part of an answer. Of its eight bytes the last two are
/// reserved: written as zero, and not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The client's number for the request, which all of its answer repeats.
    pub request: u16,
    /// Which part of the answer it is, from 0; of a request 0.
    pub sequence: u16,
    /// How many parts there are; of a request 1.
    pub total: u16,
}

impl Header {
    /// Of a request, which is always one datagram.
    pub const fn of_request(request: u16) -> Self {
        Self { request, sequence: 0, total: 1 }
    }

    /// Takes the header off a datagram; `None` if it has none.
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

/// What is longer than datagrams allow, and would not be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// How long it is, in bytes.
    pub bytes: usize,
    /// How long it may be.
    pub bytes_max: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, bytes_max } = self;
        write!(f, "{bytes} bytes do not fit where UDP has room for {bytes_max}; use TCP for them")
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
