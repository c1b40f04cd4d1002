//! Sets `cfg(loom)` for this crate alone: set for all, everything would be compiled again.

fn main() {
    println!("cargo::rustc-cfg=loom");
}
