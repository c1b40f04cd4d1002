//! The programs that the tests use, and their Debian packages.

use super::*;

#[test]
fn programs_are_found_by_name() {
    assert!(find("sh").is_some());
    assert!(find("no-program-has-this-name").is_none());
}

#[test]
fn the_command_to_type_names_every_package() {
    assert!(by_hand(&["memcached", "other"]).contains("memcached other"));
}
