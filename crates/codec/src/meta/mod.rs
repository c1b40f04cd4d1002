//! The meta protocol: commands of two letters whose flags say what is done and what is returned
//! ("Meta Commands"). They share connections with the classic text commands.
//!
//! Replies come in the order of requests. A quiet request (flag `q`) is answered only if there is
//! something to report, so a later `mn`, which is always answered, marks the end of the replies.

pub mod encode;
mod reply_decoder;

pub use crate::request::meta::{
    Command, Flag, Flags, Letters, Mode, OPAQUE_BYTES_MAX, Options, Request, Word,
};
pub use reply_decoder::{Answer, ReplyDecoder};
