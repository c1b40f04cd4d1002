//! The binary protocol: frames of a 24-byte header, extras, key and value, as memcached's
//! `protocol_binary.h` and the document "BinaryProtocolRevamped" describe them.
//!
//! Answers come in the order of requests here, too, but a quiet command is answered only when there
//! is something to report. An answer therefore names its command.

pub mod encode;
mod reply_decoder;
mod request_decoder;
mod frame;
mod opcode;

pub use frame::{Answer, Extras, NEVER_CREATE, Request, expiry};
pub use opcode::{Opcode, Status};
pub use reply_decoder::ReplyDecoder;
pub use request_decoder::{Refused, RequestDecoder};
