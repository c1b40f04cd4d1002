//! Certificates of every wrong kind, and the fault that each is.

use super::{Ends, said};
use crate::{ClientOptions, Material, ServerOptions, client, server};
use memtide_base::choice::TlsVersion;
use memtide_world::{PeerError, SendBuffer, TlsFault};
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};

/// A CA: its certificate, and what signs.
fn ca() -> (String, Issuer<'static, KeyPair>) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let own = params.self_signed(&key).unwrap().pem();
    (own, Issuer::new(params, key))
}

/// A certificate for `localhost` that `change` makes wrong, and its key.
fn signed(by: &Issuer<'static, KeyPair>, change: impl Fn(&mut CertificateParams)) -> Material {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let chain = params.signed_by(&key, by).unwrap().pem().into_bytes();
    Material { chain, key: key.serialize_pem().into_bytes() }
}

/// What the client says of a server with this certificate, if it trusts this CA.
fn fault(trusted: &str, own: Material, name: &str) -> Option<TlsFault> {
    let options = ClientOptions {
        trusted: trusted.as_bytes().to_vec(),
        own: None,
        least: TlsVersion::V1_2,
        resumes: false,
        unchecked: false,
    };
    let clients = client(&options, &[("one".to_owned(), name.to_owned())]).unwrap();
    let servers = server(&ServerOptions { own, clients: None, least: TlsVersion::V1_2 }).unwrap();
    let mut ends = Ends { client: clients.make("one"), server: servers.make("") };
    let hello = said(&mut *ends.client, b"");
    ends.server.handle_bytes(&hello, &mut Vec::new()).unwrap();
    let mut plain = Vec::new();
    let heard = ends.client.handle_bytes(&said(&mut *ends.server, b""), &mut plain);
    assert!(plain.is_empty());
    let error = heard.err()?;
    // The server hears why, by an alert.
    let mut out = SendBuffer::with_capacity(0, 0);
    ends.client.poll_close(&mut out);
    assert!(ends.server.handle_bytes(out.bytes_mut(), &mut Vec::new()).is_err());
    match error {
        PeerError::Tls(fault) => Some(fault),
        error => panic!("{error:?}"),
    }
}

#[test]
fn each_wrong_certificate_is_its_own_fault() {
    let (own, issuer) = ca();
    let (other, stranger) = ca();
    let of =
        |change: &dyn Fn(&mut CertificateParams)| fault(&own, signed(&issuer, change), "localhost");
    assert_eq!(of(&|_| {}), None);
    let expired = of(&|it| it.not_after = date_time_ymd(2011, 1, 1));
    assert_eq!(expired, Some(TlsFault::Expired(1_293_840_000)));
    let early = of(&|it| it.not_before = date_time_ymd(2090, 1, 1));
    assert_eq!(early, Some(TlsFault::NotYetValid(3_786_912_000)));
    let names = of(&|it| it.subject_alt_names.clear());
    assert!(matches!(names, Some(TlsFault::WrongName(names)) if names.bytes().is_empty()));
    let purpose = of(&|it| it.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth]);
    assert!(matches!(purpose, Some(TlsFault::BadCertificate(_))), "{purpose:?}");
    let is_ca = of(&|it| it.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    assert!(matches!(is_ca, Some(TlsFault::BadCertificate(_))), "{is_ca:?}");
    let unknown = fault(&own, signed(&stranger, |_| {}), "localhost");
    assert_eq!(unknown, Some(TlsFault::UnknownCa));
    let unknown = fault(&other, signed(&issuer, |_| {}), "localhost");
    assert_eq!(unknown, Some(TlsFault::UnknownCa));
    let address = fault(&own, signed(&issuer, |_| {}), "127.0.0.1");
    assert!(matches!(address, Some(TlsFault::WrongName(names)) if names.bytes() == b"localhost"));
}

/// The last byte of a certificate is one of its signature.
#[test]
fn a_changed_certificate_is_not_believed() {
    let (own, issuer) = ca();
    let right = signed(&issuer, |_| {});
    let text = String::from_utf8(right.chain.clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.len() - 2;
    let other = if lines[last].starts_with('A') { "B" } else { "A" };
    let changed = format!("{other}{}", &lines[last][1..]);
    let chain = text.replace(lines[last], &changed).into_bytes();
    let fault = fault(&own, Material { chain, ..right }, "localhost");
    assert!(matches!(fault, Some(TlsFault::UnknownCa | TlsFault::BadCertificate(_))), "{fault:?}");
}
