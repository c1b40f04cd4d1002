//! The memtide program.
fn main() {}
