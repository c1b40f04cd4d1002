//! The types of messages in the tree are those that `proto/cluster.proto` describes.
//!
//! `UPDATE_DOCS=1 cargo test -p memtide-cluster --test messages` writes them again.
#![expect(clippy::disallowed_methods, reason = "tests use files")]

use std::path::Path;
use std::{env, fs, process};

#[test]
fn the_types_of_messages_are_generated_from_their_description() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let files = protox::compile([folder.join("cluster.proto")], [&folder]).unwrap();
    let out = env::temp_dir().join(format!("memtide-messages-{}", process::id()));
    fs::create_dir_all(&out).unwrap();
    // The transport makes both calls with one function, by their paths.
    let generator = tonic_prost_build::configure().build_client(false).build_server(false);
    let generator = generator.out_dir(&out);
    generator.compile_fds(files).unwrap();
    let generated = fs::read_to_string(out.join("memtide.cluster.v1.rs")).unwrap();
    fs::remove_dir_all(&out).unwrap();
    let kept = folder.join("cluster.rs");
    if env::var_os("UPDATE_DOCS").is_some() {
        return fs::write(&kept, generated).unwrap();
    }
    assert!(
        fs::read_to_string(&kept).unwrap() == generated,
        "{} is not what cluster.proto describes; write it again with\n    \
         UPDATE_DOCS=1 cargo test -p memtide-cluster --test messages",
        kept.display()
    );
}
