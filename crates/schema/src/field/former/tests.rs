//! Former names lead to the present ones wherever they can stand.

use super::super::{FIELDS, Layer, Origin, unknown};
use super::*;
use crate::file::from_toml;

#[test]
fn a_former_name_is_no_field_and_its_present_one_is() {
    let is_field = |name: &str| FIELDS.iter().any(|field| field.name == name);
    for (former, present) in NAMES {
        assert!(!is_field(former) && is_field(present), "{former} and {present}");
        assert_eq!(present_name(&former.replace('-', "_")), Some(present));
    }
    assert_eq!(present_name("rate"), None);
}

#[test]
fn an_error_names_the_present_field_as_its_origin_spells_it() {
    let flag = unknown("pick", Origin::Flag).to_string();
    assert_eq!(flag, "--pick: this field is now called window-pick; use --window-pick");
    let variable = ("MEMTIDE_TRAILING_BLANK".to_owned(), "1".to_owned());
    assert_eq!(
        Layer::from_environment([variable]).unwrap_err().to_string(),
        "MEMTIDE_TRAILING_BLANK: this field is now called trailing-space; use \
         MEMTIDE_TRAILING_SPACE"
    );
    assert_eq!(
        from_toml("rate = 1\ntrailing_blank = true\n", "s.toml").unwrap_err().to_string(),
        "trailing_blank in s.toml line 2: this field is now called trailing-space; use \
         trailing-space"
    );
}
