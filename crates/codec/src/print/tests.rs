//! A line of a trace is one line, whatever its bytes are.

use crate::{Keys, Reply, Request, Verb};

#[test]
fn bytes_that_cannot_be_printed_are_escaped() {
    let request =
        Request::Retrieve { verb: Verb::Get, expiry: None, keys: Keys::spaced(b"\xff a") };
    assert_eq!(request.to_string(), "get \\xff a");
    let request = Request::Store {
        verb: Verb::Cas,
        key: b"k\t",
        flags: 1,
        expiry: -1,
        value: b"\r\n",
        cas: Some(7),
        noreply: true,
    };
    assert_eq!(request.to_string(), "cas k\\t flags=1 expiry=-1 cas=7 value=2 bytes noreply");
    assert_eq!(Reply::Version(b"1\n2").to_string(), "VERSION 1\\n2");
    assert_eq!(Reply::Data { bytes: b"abc", ends: false }.to_string(), "data 3 bytes");
    assert_eq!(Reply::Data { bytes: b"", ends: true }.to_string(), "data 0 bytes, the last");
}
