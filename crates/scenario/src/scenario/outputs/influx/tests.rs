//! Places of points, and what is no place.

use super::*;
use crate::table::assert_refused;

const WORDS: &str = include_str!("../../tests/words.txt");

#[test]
fn a_place_names_its_version_and_its_precision() {
    let place = InfluxPlace::parse("http://h:8086/write?db=x").unwrap();
    assert_eq!(
        (&*place.url, place.version),
        ("http://h:8086/write?db=x&precision=ns", InfluxVersion::V1)
    );
    let place = InfluxPlace::parse("https://h/api/v2/write?org=o&bucket=b").unwrap();
    assert_eq!(place.version, InfluxVersion::V2);
    let place = InfluxPlace::parse("http://[::1]:8181/api/v3/write_lp?db=x").unwrap();
    assert!(place.url.ends_with("&precision=nanosecond"), "{}", place.url);
    let named = InfluxPlace::parse("http://h/write?db=x&precision=ns#operations=ops&kind=op");
    let named = named.unwrap();
    assert_eq!((&*named.names.operations, &*named.names.kind), ("ops", "op"));
    assert!(!named.url.contains('#'));
}

#[test]
fn what_is_no_place_is_refused_with_what_is() {
    assert_refused(WORDS, "places of points that are none", |word| {
        let error = InfluxPlace::parse(word).unwrap_err();
        assert!(!error.contains("secret@") && !error.contains("=secret"), "{error}");
        Err::<(), _>(error)
    });
}

#[test]
fn a_tag_has_no_name_that_points_already_have() {
    let said = |names: &str, tag: &str| {
        let tags = [(tag.to_owned(), "x".to_owned())].into();
        names_of(names).unwrap().check(&tags).err().unwrap_or_default()
    };
    for (names, tag) in [
        ("", "build"),
        ("", "run"),
        ("run=r", "run"),
        ("kind=op", "kind"),
        ("kind=kind", "op"),
        ("kind=run&run=r", "run"),
    ] {
        assert_eq!(said(names, tag), "", "#{names} and --tag {tag}=x");
    }
    for (names, tag, words) in [
        ("", "kind", "#kind=other'"),
        ("kind=kind", "kind", "#kind=other'"),
        ("kind=op", "op", "#kind=other'"),
        ("run=r", "r", "--tag run=WORD"),
        ("", "time", "InfluxDB reserves"),
        ("", "_field", "InfluxDB reserves"),
    ] {
        let said = said(names, tag);
        let named = said.starts_with(&format!("tag {tag}: "));
        assert!(named && said.contains(words), "#{names} and --tag {tag}=x: {said}");
    }
}
