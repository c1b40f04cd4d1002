//! Documents equal what the sources say. Several crates' tests share it.
#![allow(dead_code)] // No crate needs all of it.

use serde_json::Value;
use std::path::Path;

/// Asserts that `text` is the content of `docs/{name}`, or writes it there.
pub fn expect_document(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == text,
        "docs/{name} is not what the sources say: render it with \
         cargo xtask docs"
    );
}

/// Asserts that `docs/{name}` explains each member of each of `objects`.
pub fn expect_explained(name: &str, objects: &[&Value]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let page = std::fs::read_to_string(path).unwrap();
    for member in objects.iter().flat_map(|object| object.as_object().unwrap().keys()) {
        assert!(page.contains(&format!("`{member}`")), "docs/{name} does not explain {member}");
    }
}
