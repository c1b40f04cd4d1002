//! Places of points, and what is no place.

use super::*;

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
    for (word, said) in [
        ("h:8086", "needs a URL"),
        ("http:///write?db=x", "has no host"),
        ("http://h/", "does not accept points"),
        ("http://h/write", "db=NAME is missing"),
        ("http://h/write?db=", "db=NAME is missing"),
        ("http://h/api/v2/write?org=o", "bucket=NAME is missing"),
        ("http://u:p@h/write?db=x", "must not contain a password"),
        ("http://h/write?db=x&p=secret", "would show a secret"),
        ("http://h/write?db=x&precision=s", "must be precision=ns"),
        ("http://h/write?db=x#what=y", "is none of"),
        ("http://h/write?db=x#run=", "needs a name"),
        ("http://h/write?db=x#server=kind", "kind and server of a point cannot both be"),
        ("http://h/write?db=x#step=run&share=a", "run and step of a point cannot both be"),
        ("http://h/write?db=x#kind=time", "is a name that InfluxDB reserves"),
    ] {
        let error = InfluxPlace::parse(word).unwrap_err();
        assert!(error.contains(said), "{word}: {error}");
        assert!(!error.contains("secret@") && !error.contains("=secret"), "{error}");
    }
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
