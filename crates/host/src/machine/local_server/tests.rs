//! The process that listens at an address, found on this machine.

use super::*;
use std::net::TcpListener;

#[test]
fn the_process_that_listens_is_found_and_its_threads_wait() {
    for address in ["127.0.0.1:0", "0.0.0.0:0"] {
        let listener = TcpListener::bind(address).expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let server = LocalServer::at(SocketAddr::from(([127, 0, 0, 1], port)));
        let server = server.expect("this process may see itself");
        assert_eq!(server.process, std::process::id());
        assert_eq!(server.cpus(), pin::inherited());
        let before = server.waits();
        assert!(server.longest_since(&before).is_none_or(|wait| wait < Span::from_s(60)));
        drop(listener);
        assert_eq!(LocalServer::at(SocketAddr::from(([127, 0, 0, 1], port))), None);
    }
}

#[test]
fn only_what_listens_at_the_address_counts() {
    let list = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n\
         0: 0100007F:2BCB 00000000:0000 01 0:0 00:0 0 0 0 11 1\n\
         1: 0100007F:2BCB 00000000:0000 0A 0:0 00:0 0 0 0 12 1\n\
         2: 00000000:2BCC 00000000:0000 0A 0:0 00:0 0 0 0 13 1\n";
    let at = |text: &str| listener(list.as_bytes(), text.parse().expect("an address"));
    if cfg!(target_endian = "little") {
        assert_eq!(at("127.0.0.1:11211"), Some(12));
        assert_eq!(at("10.0.0.1:11211"), None);
    }
    assert_eq!((at("127.0.0.1:11212"), at("[::1]:11212")), (Some(13), Some(13)));
    assert_eq!((at("10.0.0.1:11212"), at("127.0.0.1:11213")), (None, None));
}
