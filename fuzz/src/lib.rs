//! Fuzz targets: plain functions that take any bytes and panic if a property does not hold.
//!
//! `cargo test -p memtide-fuzz` gives each target a bounded number of generated inputs, on stable
//! Rust; `MEMTIDE_FUZZ_SEED` and `MEMTIDE_FUZZ_ROUNDS` choose others, and `MEMTIDE_FUZZ_ROUNDS=0`
//! runs until stopped. For coverage-guided runs make a target of `cargo fuzz` (nightly) whose
//! whole body is `libfuzzer_sys::fuzz_target!(|data: &[u8]| memtide_fuzz::reply_decoder(data));`.
#![forbid(unsafe_code)]

pub mod spoken;
mod codec;
mod conversation;
mod join;
mod law;
mod scenario;
mod server;
mod tls;
pub mod generate;

pub use codec::{answer_frames, meta_answers, reply_decoder, request_decoder, request_frames};
pub use conversation::{from_agent, to_agent};
pub use join::join_file;
pub use law::law_words;
pub use scenario::scenario_toml;
pub use server::{frames_session, meta_session, session};
pub use tls::{tls_client, tls_damaged, tls_server};
