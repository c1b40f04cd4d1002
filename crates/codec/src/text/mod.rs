//! The classic text protocol: lines that end in CRLF, and values whose length a line announces.
//! Encoding appends to a buffer; decoding borrows from the input where it can.

pub mod encode;
mod reply_decoder;
mod request_decoder;

pub use reply_decoder::ReplyDecoder;
pub(crate) use reply_decoder::{may_become_reply, parse_line};
pub use request_decoder::{RequestDecoder, item_bytes};
