//! The binary protocol: frames of a 24-byte header, extras, key and value, as memcached's
//! `protocol_binary.h` and the document "BinaryProtocolRevamped" describe them.
//!
//! Answers come in order here, too, but quiet commands are answered only when something is to be
//! told; that is why an answer says which command it belongs to.

pub mod encode;
mod reply_decoder;
mod request_decoder;
mod frame;
mod opcode;

pub use frame::{Answer, Extras, NEVER_CREATE, Request, expiry};
pub use opcode::{Opcode, Status};
pub use reply_decoder::ReplyDecoder;
pub use request_decoder::{Refused, RequestDecoder};
