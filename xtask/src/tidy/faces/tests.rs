//! Texts with flags, in sources that faces share, and in those of faces.

use super::*;

/// The flags that the rule finds in one source, beside a face's table of options.
fn found(path: &str, text: &str) -> Vec<String> {
    let rows = Source::new("crates/compat/src/mutilate/rows.rs", r#"fn it() { "update"; }"#);
    let source = Source::new(path, format!("fn it() {{ \"{text}\"; }}"));
    let findings = check(&[rows, source]).into_iter();
    // Without the sources that they are about, all excuses are idle.
    findings.filter(|it| it.path == path && it.line > 0).map(|it| it.what).collect()
}

#[test]
fn a_flag_of_memtide_is_found_wherever_a_face_can_print_it() {
    for (path, text, is_found) in [
        ("crates/run/src/fill.rs", "7 keys are missing; use --load always", true),
        ("crates/world/src/driver.rs", "see --timeout", true),
        ("crates/run/src/fill.rs", "7 keys are missing -- all", false),
        ("crates/cluster/src/master.rs", "call 'memtide key new --agents A' there", false),
        ("crates/cluster/src/master.rs", "call 'memtide key new' with --agents", true),
        ("crates/compat/src/words.rs", "; lower --update", false),
        ("crates/compat/src/words.rs", "; lower --rate", true),
        ("crates/memtide/src/cmd/face/mutilate/fleet.rs", "--allow-target", true),
        // Only memtide's own commands print these.
        ("crates/memtide/src/cmd/merge.rs", "add --force", false),
        ("crates/sinks/src/kinds.rs", "--verify-details", false),
    ] {
        assert_eq!(!found(path, text).is_empty(), is_found, "{path}: {text}");
    }
}
