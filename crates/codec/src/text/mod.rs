//! The classic text protocol: lines that end in CRLF, and values whose length a line gave.
//! Encoding appends to a buffer; decoding borrows from the input wherever it can.

pub mod encode;
mod reply_decoder;
mod request_decoder;

pub use reply_decoder::ReplyDecoder;
pub use request_decoder::{RequestDecoder, item_bytes};
