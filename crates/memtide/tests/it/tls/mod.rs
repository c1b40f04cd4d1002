//! TLS: against Debian's memcached, the embedded server, and servers that break or refuse it.

mod agents;
mod drivers;
mod material;
mod recipes;
mod storm;

use crate::operations::every_kind;
use crate::prelude::*;
use material::Ca;
use std::net::TcpListener;

const VALID: (i32, i32) = (2020, 2100);

/// A memcached over TLS for 127.0.0.1, with these further options of `-o`; its CA.
fn memcached(more: &str) -> (Peer, Ca) {
    let ca = Ca::new();
    (Peer::memcached_tls(&files(&ca, more)), ca)
}

/// What a memcached over TLS for 127.0.0.1 is started with.
fn files(ca: &Ca, more: &str) -> String {
    let (cert, key) = ca.sign("127.0.0.1", VALID);
    let more = more.replace("CA.PEM", &ca.own());
    format!("-o ssl_chain_cert={cert},ssl_key={key}{more}")
}

/// The embedded server with a certificate for `name`, valid in these years; its CA.
fn embedded(name: &str, years: (i32, i32)) -> (Peer, Ca) {
    let ca = Ca::new();
    let (cert, key) = ca.sign(name, years);
    (Peer::embedded(&format!("--tls --tls-cert {cert} --tls-key {key}")), ca)
}

#[test]
fn counters_are_equal_over_tls_in_every_protocol() {
    let (peer, ca) = memcached("");
    for protocol in ["text", "binary", "meta"] {
        let flags = format!("--tls --tls-ca {} --protocol {protocol}", ca.own());
        let record = every_kind(&peer, &flags);
        let connections = &record.totals.connections;
        let handshakes = connections.handshakes_full + connections.handshakes_resumed;
        assert_eq!(handshakes, connections.opened, "{protocol}");
    }
}

#[test]
fn counters_are_equal_over_tls_and_every_driver() {
    // A memcached does not answer what follows a long value in the same record (docs/tls.md).
    let (peer, ca) = embedded("127.0.0.1", VALID);
    let line = format!(
        "run -s {} --tls --tls-ca {} --keys 400 --ops-max 6k --depth 8 --timeout 50s --json -",
        peer.name,
        ca.own()
    );
    for flags in ["--value-size 40KiB --verify 1", "--rate 20k --verify 1 --tls-min 1.3"] {
        for io in ["epoll", "uring"] {
            let run = memtide(&format!("{line} {flags} --io {io}"));
            if io == "uring" && run.code == Some(2) && run.err.contains("cannot be used") {
                continue;
            }
            let record = run.exits(0).record();
            assert_eq!(record.totals.answered, 6_000);
            assert_eq!(record.totals.verification.corrupt, 0);
            assert_counters_equal(&record);
        }
    }
    let (peer, ca) = memcached("");
    let line = format!("run -s {} --tls --tls-ca {} --depth 1", peer.name, ca.own());
    let line = format!("{line} --keys 200 --ops-max 2k --value-size 40KiB --timeout 50s --json -");
    assert_counters_equal(&memtide(&line).exits(0).record());
}

#[test]
fn handshakes_are_full_or_resumed_as_asked() {
    let (peer, ca) = memcached("");
    for resume in ["on", "off"] {
        let line = format!(
            "run -s {} --tls --tls-ca {} --tls-resume {resume} --connection-rate 200 --calls 3 \
             --connections-total 200 --threads 1 --keys 100 --timeout 50s --json -",
            peer.name,
            ca.own()
        );
        let record = memtide(&line).exits(0).record();
        let connections = &record.totals.connections;
        let (full, resumed) = (connections.handshakes_full, connections.handshakes_resumed);
        assert_eq!(full + resumed, 200);
        match resume {
            "on" => assert!(resumed > 50, "{resumed} of 200"),
            _ => assert_eq!(resumed, 0),
        }
        let churn = record.churn.as_ref().expect("connections are the load");
        assert_eq!((churn.handshake.count, churn.connect_tcp.count), (200, 200));
        assert_eq!(churn.first_reply.count, 200);
        let sum = churn.handshake.mean_ns.unwrap() + churn.connect_tcp.mean_ns.unwrap();
        assert!((sum / churn.connect_service.mean_ns.unwrap() - 1.0).abs() < 0.01);
        assert_counters_equal(&record);
    }
}

#[test]
fn a_client_shows_its_certificate_if_it_has_one() {
    let (peer, ca) = memcached(",ssl_ca_cert=CA.PEM,ssl_verify_mode=2");
    let run =
        format!("run -s {} --tls --tls-ca {} --ops-max 100 --keys 10 --quiet", peer.name, ca.own());
    memtide(&run).complains(3, &["wants a certificate of its client", "--tls-cert and --tls-key"]);
    let (cert, key) = ca.sign("client", VALID);
    let shown = format!("{run} --tls-cert {cert} --tls-key {key}");
    // Without kept sessions, this memcached fails when one is resumed (docs/tls.md).
    memtide(&format!("{shown} --tls-resume off")).exits(0);
    let (cert, key) = Ca::new().sign("client", VALID);
    let stranger = memtide(&format!("{run} --tls-cert {cert} --tls-key {key}"));
    assert_eq!(stranger.code, Some(2), "the files are gone: {stranger}");
    let other = Ca::new();
    let (cert, key) = other.sign("client", VALID);
    memtide(&format!("{run} --tls-cert {cert} --tls-key {key}"))
        .complains(3, &["refused the client's certificate with", "check --tls-cert and --tls-key"]);
}

#[test]
fn a_first_run_needs_no_server() {
    for protocol in ["text", "binary", "meta"] {
        let line = format!("run --tls --ops-max 500 --keys 50 --protocol {protocol} --json -");
        let record = memtide(&line).exits(0).record();
        assert_eq!(record.totals.answered, 500);
        assert_counters_equal(&record);
    }
}

#[test]
fn unchecked_certificates_are_a_warning() {
    // openssl makes a certificate of version 1, which cannot even be read.
    let ca = Ca::new();
    ca.openssl("req -new -newkey rsa:2048 -nodes -keyout a.key -out a.csr -subj /CN=a");
    ca.openssl("x509 -req -in a.csr -signkey a.key -out a.pem");
    let [cert, key] = ["a.pem", "a.key"].map(|file| ca.path(file));
    let peer = Peer::memcached_tls(&format!("-o ssl_chain_cert={cert},ssl_key={key}"));
    for min in ["1.2", "1.3"] {
        let line = format!("run -s {} --tls --tls-min {min} --ops-max 100 --keys 10", peer.name);
        memtide(&format!("{line} --tls-ca {cert}")).complains(3, &["X.509 version 1", "-extfile"]);
        let record = memtide(&format!("{line} --tls-insecure --json -")).exits(0).record();
        assert_eq!(record.warnings[0].code, "tls_unchecked");
    }
}

#[test]
fn what_is_wrong_with_a_certificate_is_said() {
    let cases = [
        ("127.0.0.1", (2001, 2011), "", &["expired on 2011-01-01", "--tls-insecure"][..]),
        ("127.0.0.1", (2090, 2100), "", &["not valid before 2090-01-01"]),
        (
            "cache.example.com",
            VALID,
            "",
            &["other names: 'cache.example.com'", "IP:ADDRESS", "--tls-server-name"],
        ),
        ("127.0.0.1", VALID, "--tls-ca OTHER", &["a CA that is not trusted here", "--tls-ca"]),
    ];
    let other = Ca::new();
    for (name, years, flags, words) in cases {
        let (peer, ca) = embedded(name, years);
        let flags = match flags {
            "" => format!("--tls-ca {}", ca.own()),
            flags => flags.replace("OTHER", &other.own()),
        };
        let line = format!("run -s {} --tls {flags} --ops-max 100 --quiet", peer.name);
        let words: Vec<&str> = [peer.name.as_str()].iter().chain(words).copied().collect();
        memtide(&line).complains(3, &words);
    }
    let (peer, ca) = embedded("cache.example.com", VALID);
    let name = format!("--tls-ca {} --tls-server-name cache.example.com", ca.own());
    memtide(&format!("run -s {} --tls {name} --ops-max 100 --keys 10", peer.name)).exits(0);
}

/// A server that answers the first bytes of each connection with `bytes`, and then closes it if
/// there are any.
fn answering(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut room = [0; 4096];
            let _ = stream.read(&mut room);
            match bytes {
                b"silence" => silent.push(stream),
                b"end" => {}
                bytes => stream.write_all(bytes).unwrap_or_default(),
            }
        }
    });
    name
}

#[test]
fn servers_without_tls_and_those_that_refuse_it_are_told_apart() {
    let cases: [(&[u8], &[&str]); 8] = [
        (b"ERROR\r\n", &["does not speak TLS", "memcached's text protocol", "leave --tls out"]),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", &["does not speak TLS", "HTTP", "check the port"]),
        (b"\x00\x00garbage", &["does not speak TLS", "check the port"]),
        (b"\x15\x03\x03\x00\x02\x02\x46", &["no version of TLS in common", "--tls-min"]),
        (b"\x15\x03\x03\x00\x02\x02\x28", &["refused the handshake of TLS", "--tls-cert"]),
        (b"\x15\x03\x03\x00\x02\x02\x50", &["failed in the handshake of TLS", "--tls-resume off"]),
        (b"end", &["closed the connection within the handshake of TLS", "leave --tls out"]),
        (b"silence", &["did not end the handshake of TLS in time", "leave --tls out"]),
    ];
    let ca = Ca::new();
    for (bytes, words) in cases {
        let name = answering(bytes);
        let flags = format!("--tls --tls-ca {} --timeout 5s --quiet", ca.own());
        let words: Vec<&str> = [name.as_str()].iter().chain(words).copied().collect();
        memtide(&format!("run -s {name} {flags} --ops-max 100")).complains(3, &words);
    }
}

#[test]
fn a_server_with_tls_that_is_asked_without_it_is_named() {
    let (peer, _ca) = memcached("");
    let (own, _other) = embedded("127.0.0.1", VALID);
    for name in [&peer.name, &own.name] {
        memtide(&format!("run -s {name} --ops-max 100 --quiet")).complains(3, &[name, "--tls"]);
    }
}

/// Planted time in the server is service time, and memtide's own encryption is not.
#[test]
fn a_slow_server_is_slow_over_tls_too() {
    let ca = Ca::new();
    let (cert, key) = ca.sign("127.0.0.1", VALID);
    let tls = format!("--tls --tls-cert {cert} --tls-key {key}");
    let peer = Peer::embedded(&format!("{tls} --behaviour fixed:2ms"));
    let line = format!(
        "run -s {} --tls --tls-ca {} --rate 200 --ops-max 200 --connections 4 --keys 10 --json -",
        peer.name,
        ca.own()
    );
    let record = memtide(&line).exits(0).record();
    let least = record.service[&Kind::All].min_ns.expect("operations were answered");
    assert!(least >= 2_000_000, "{least} ns");
}

/// Long values take time to encrypt, and short requests do not: the difference is in the lag, and
/// is not there without TLS. The least of many lags has none of the machine's pauses.
#[test]
fn encrypting_long_values_is_memtides_own_delay() {
    let _turn = shared();
    let longer = |tls: &str| {
        let line = format!(
            "run {tls} --mix get=1,set=1 --value-size 64KiB --rate 500 --ops-max 500 --keys 10 \
             --connections 2 --threads 1 --wait spin --json -"
        );
        let record = memtide(&line).exits(0).record();
        let least = |kind| record.lag[&kind].min_ns.expect("operations were answered");
        least(Kind::Set) as i64 - least(Kind::Get) as i64
    };
    let (sealed, plain) = (longer("--tls"), longer(""));
    assert!(sealed > 3 * plain.max(500), "{sealed} ns over TLS, {plain} ns without");
}

/// What each error advises is enough for the next try; the third one succeeds.
#[test]
fn a_server_is_reached_in_three_tries_by_the_errors_advice_alone() {
    let (peer, ca) = memcached("");
    let mut line = format!("run -s {} --ops-max 500 --keys 50 --quiet --json -", peer.name);
    for (flag, value) in [("--tls", String::new()), ("--tls-ca", ca.own())] {
        memtide(&line).complains(3, &[&peer.name, flag]);
        line = format!("{line} {flag} {value}");
    }
    assert_counters_equal(&memtide(&line).exits(0).record());
}
