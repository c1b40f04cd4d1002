//! A server's bytes in, replies out, in the protocol of the plan. What a reply belongs to is the
//! connection's business.

use crate::driver::PeerError;
use crate::plan::Protocol;
use memtide_codec::binary::{self, Opcode, Status};
use memtide_codec::text;
use memtide_codec::{Malformed, Reply};

/// The reading end of a connection.
#[derive(Debug)]
pub(crate) enum Wire {
    /// Lines.
    Text(text::ReplyDecoder),
    /// Frames.
    Binary(binary::ReplyDecoder),
}

/// What a frame says of the request that it answers; a line says nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) opcode: Opcode,
    pub(crate) opaque: u32,
    pub(crate) status: Status,
}

impl Wire {
    /// At the beginning of a stream.
    pub(crate) fn new(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Text => Self::Text(text::ReplyDecoder::new()),
            Protocol::Binary => Self::Binary(binary::ReplyDecoder::new()),
        }
    }

    /// What it reads.
    pub(crate) fn protocol(&self) -> Protocol {
        match self {
            Self::Text(_) => Protocol::Text,
            Self::Binary(_) => Protocol::Binary,
        }
    }

    /// Once there is no further reply in what came: an error when what is left of it cannot become
    /// one. The decoder of frames says so by itself.
    #[inline]
    pub(crate) fn check_partial(&self) -> Result<(), PeerError> {
        match self {
            Self::Text(decoder) => {
                decoder.check_partial().map_err(|error| PeerError::of(error, &[]))
            }
            Self::Binary(_) => Ok(()),
        }
    }

    /// Takes the next reply from the front of `input`. `None` means that more bytes are needed;
    /// `input` is then empty.
    pub(crate) fn next<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Next<'a> {
        match self {
            Self::Text(_) => Lines::next(self, input),
            Self::Binary(_) => Frames::next(self, input),
        }
    }
}

/// A protocol that is known where replies are read, so that the loop over them asks once.
pub(crate) trait Tongue {
    /// As [`Wire::next`], of a wire in this protocol.
    fn next<'a, 'i: 'a>(wire: &'a mut Wire, input: &mut &'i [u8]) -> Next<'a>;
}

/// A reply and what it says of its request, if it is there whole.
type Next<'a> = Result<Option<(Reply<'a>, Option<Mark>)>, Malformed>;

/// The text protocol.
pub(crate) struct Lines;

/// The binary protocol.
pub(crate) struct Frames;

impl Tongue for Lines {
    #[inline(always)]
    fn next<'a, 'i: 'a>(wire: &'a mut Wire, input: &mut &'i [u8]) -> Next<'a> {
        let Wire::Text(decoder) = wire else { unreachable!("a wire keeps its protocol") };
        Ok(decoder.next(input)?.map(|reply| (reply, None)))
    }
}

impl Tongue for Frames {
    fn next<'a, 'i: 'a>(wire: &'a mut Wire, input: &mut &'i [u8]) -> Next<'a> {
        let Wire::Binary(decoder) = wire else { unreachable!("a wire keeps its protocol") };
        Ok(decoder.next(input)?.map(|answer| {
            let binary::Answer { opcode, opaque, status, reply } = answer;
            (reply, Some(Mark { opcode, opaque, status }))
        }))
    }
}
