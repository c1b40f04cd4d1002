//! Compares texts with files, so that a change of layout shows as a change of text.
//!
//! `UPDATE_DOCS=1 cargo test -p memtide-report` writes the files again.

use std::path::Path;

/// Asserts that `text` equals the content of the file `name`.
pub(crate) fn expect(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/expect").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{name} should be\n{expected}\nbut is\n{text}");
}
