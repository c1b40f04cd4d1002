//! Certificates of every wrong kind, and the fault that each is.

use super::{Ends, said};
use crate::end::End;
use crate::{ClientOptions, Material, ServerOptions, client, server};
use memtide_base::choice::TlsVersion;
use memtide_world::{CertificateFault, Filter, PeerError, SendBuffer, TlsFault};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection};
use std::sync::Arc;

/// A CA of this name that `change` makes different: its certificate, and what signs.
fn ca_of(
    name: &str,
    change: impl Fn(&mut CertificateParams),
) -> (String, Issuer<'static, KeyPair>) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let own = params.self_signed(&key).unwrap().pem();
    (own, Issuer::new(params, key))
}

fn ca() -> (String, Issuer<'static, KeyPair>) {
    ca_of("Root", |_| {})
}

/// A certificate for `localhost` that `change` makes wrong, and its key.
fn signed(by: &Issuer<'static, KeyPair>, change: impl Fn(&mut CertificateParams)) -> Material {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let chain = params.signed_by(&key, by).unwrap().pem().into_bytes();
    Material { chain, key: key.serialize_pem().into_bytes() }
}

/// A certificate for `localhost` that signs itself, unless `change` makes it wrong, and its key.
fn self_signed(change: impl Fn(&mut CertificateParams)) -> Material {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let chain = params.self_signed(&key).unwrap().pem().into_bytes();
    Material { chain, key: key.serialize_pem().into_bytes() }
}

/// The end of a client for `name` that trusts these certificates, or any.
fn client_end(trusted: &str, name: &str, unchecked: bool) -> Box<dyn Filter> {
    let trusted = trusted.as_bytes().to_vec();
    let least = TlsVersion::V1_2;
    let options = ClientOptions { trusted, own: None, least, resumes: false, unchecked };
    client(&options, &[("one".to_owned(), name.to_owned())]).unwrap().make("one")
}

/// What the client says of a server with this certificate, if it trusts this CA.
fn fault(trusted: &str, own: Material, name: &str) -> Option<CertificateFault> {
    let servers = server(&ServerOptions { own, clients: None, least: TlsVersion::V1_2 }).unwrap();
    let ends = Ends { client: client_end(trusted, name, false), server: servers.make("") };
    fault_between(ends)
}

/// What the client says of the server's certificate.
fn fault_between(mut ends: Ends) -> Option<CertificateFault> {
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
        PeerError::Tls(TlsFault::Certificate(fault)) => Some(fault),
        error => panic!("{error:?}"),
    }
}

#[test]
fn each_wrong_certificate_is_its_own_fault() {
    let (own, issuer) = ca();
    let (other, stranger) = ca_of("Stranger", |_| {});
    let of =
        |change: &dyn Fn(&mut CertificateParams)| fault(&own, signed(&issuer, change), "localhost");
    let is_unusable = |fault: Option<CertificateFault>, option: &str| match fault {
        Some(CertificateFault::Unusable(why)) => assert!(why.contains(option), "{why}"),
        fault => panic!("{fault:?} instead of {option}"),
    };
    assert_eq!(of(&|_| {}), None);
    let expired = of(&|it| it.not_after = date_time_ymd(2011, 1, 1));
    assert_eq!(expired, Some(CertificateFault::Expired(1_293_840_000)));
    let early = of(&|it| it.not_before = date_time_ymd(2090, 1, 1));
    assert_eq!(early, Some(CertificateFault::NotYetValid(3_786_912_000)));
    // openssl's -days -1 makes a certificate that never was valid.
    let never = of(&|it| {
        it.not_before = date_time_ymd(2012, 1, 1);
        it.not_after = date_time_ymd(2011, 1, 1);
    });
    assert_eq!(never, Some(CertificateFault::Expired(1_293_840_000)));
    let names = of(&|it| it.subject_alt_names.clear());
    let Some(CertificateFault::NoName(wanted)) = names else { panic!("{names:?}") };
    assert_eq!(wanted.bytes(), b"DNS:localhost");
    let purpose = of(&|it| it.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth]);
    is_unusable(purpose, "extendedKeyUsage=serverAuth");
    let is_ca = of(&|it| it.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    is_unusable(is_ca, "basicConstraints=critical,CA:FALSE");
    for unknown in [
        fault(&own, signed(&stranger, |_| {}), "localhost"),
        fault(&other, signed(&issuer, |_| {}), "localhost"),
    ] {
        assert!(matches!(unknown, Some(CertificateFault::UnknownCa(_))), "{unknown:?}");
    }
    let address = fault(&own, signed(&issuer, |_| {}), "127.0.0.1");
    let Some(CertificateFault::WrongName { names, address: true }) = address else {
        panic!("{address:?}")
    };
    assert_eq!(names.bytes(), b"localhost");
    // A CA with the same name and another key.
    is_unusable(fault(&ca().0, signed(&issuer, |_| {}), "localhost"), "-CAkey");
}

#[test]
fn a_ca_must_be_one_and_be_valid() {
    let (old, issuer) = ca_of("Old", |it| it.not_after = date_time_ymd(2011, 1, 1));
    let expired = fault(&old, signed(&issuer, |_| {}), "localhost");
    assert_eq!(expired, Some(CertificateFault::CaExpired(1_293_840_000)));
    for is_ca in [IsCa::NoCa, IsCa::ExplicitNoCa] {
        let (none, issuer) = ca_of("None", |it| it.is_ca = is_ca);
        let fault = fault(&none, signed(&issuer, |_| {}), "localhost");
        let Some(CertificateFault::Unusable(why)) = fault else { panic!("{fault:?}") };
        assert!(why.contains("basicConstraints=critical,CA:TRUE"), "{why}");
    }
}

/// A chain needs its intermediate certificates, of which the first that is missing is named.
#[test]
fn a_missing_certificate_of_a_chain_is_named() {
    let (root, issuer) = ca();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "Between");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let between = params.signed_by(&key, &issuer).unwrap().pem();
    let own = signed(&Issuer::new(params, key), |_| {});
    let missing = fault(&root, own.clone(), "localhost");
    let Some(CertificateFault::UnknownCa(issuer)) = missing else { panic!("{missing:?}") };
    assert_eq!(issuer.bytes(), b"Between");
    let chain = [own.chain.as_slice(), between.as_bytes()].concat();
    let whole = Material { chain, ..own.clone() };
    assert_eq!(fault(&root, whole.clone(), "localhost"), None);
    let unknown = fault(&ca_of("Stranger", |_| {}).0, whole, "localhost");
    let Some(CertificateFault::UnknownCa(issuer)) = unknown else { panic!("{unknown:?}") };
    assert_eq!(issuer.bytes(), b"Root");
    // The intermediate CA may be trusted itself.
    assert_eq!(fault(&between, own, "localhost"), None);
}

/// A certificate that is itself trusted needs no CA; its dates and names must be valid.
#[test]
fn a_certificate_that_is_itself_trusted_is_accepted() {
    let itself =
        |own: &Material, name| fault(std::str::from_utf8(&own.chain).unwrap(), own.clone(), name);
    let (_, issuer) = ca();
    let whole = self_signed(|_| {});
    for own in [whole.clone(), self_signed(|it| it.is_ca = IsCa::NoCa), signed(&issuer, |_| {})] {
        assert_eq!(itself(&own, "localhost"), None);
        let other = itself(&own, "other");
        assert!(matches!(other, Some(CertificateFault::WrongName { .. })), "{other:?}");
    }
    let expired = self_signed(|it| it.not_after = date_time_ymd(2011, 1, 1));
    assert_eq!(itself(&expired, "localhost"), Some(CertificateFault::Expired(1_293_840_000)));
    let early = self_signed(|it| it.not_before = date_time_ymd(2090, 1, 1));
    assert_eq!(itself(&early, "localhost"), Some(CertificateFault::NotYetValid(3_786_912_000)));
    // One with the same names and another key is another one.
    let trusted = String::from_utf8(whole.chain).unwrap();
    let other = fault(&trusted, self_signed(|_| {}), "localhost");
    assert_eq!(other, Some(CertificateFault::SelfSigned));
}

/// Shows a certificate, and signs with the key of another one.
#[derive(Debug)]
struct Impostor(Arc<CertifiedKey>);

impl ResolvesServerCert for Impostor {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

/// A certificate is public, and a server that shows it must also have its key. Only a client that
/// takes any certificate does not ask for that.
#[test]
fn the_right_certificate_with_a_wrong_key_is_refused() {
    let (root, issuer) = ca();
    let own = self_signed(|_| {});
    let itself = String::from_utf8(own.chain.clone()).unwrap();
    let wrong = self_signed(|_| {});
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    for (trusted, shown) in [(itself, own), (root, signed(&issuer, |_| {}))] {
        for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
            let (chain, _) = shown.read().unwrap();
            let key = provider.key_provider.load_private_key(wrong.read().unwrap().1).unwrap();
            let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
                .with_protocol_versions(&[version])
                .unwrap()
                .with_no_client_auth()
                .with_cert_resolver(Arc::new(Impostor(Arc::new(CertifiedKey::new(chain, key)))));
            let config = Arc::new(config);
            let ends = |unchecked| Ends {
                client: client_end(&trusted, "localhost", unchecked),
                server: Box::new(End::new(ServerConnection::new(Arc::clone(&config)).unwrap())),
            };
            assert_eq!(fault_between(ends(false)), Some(CertificateFault::WrongKey));
            assert_eq!(fault_between(ends(true)), None);
        }
    }
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
    assert!(matches!(fault, Some(CertificateFault::Unusable(_))), "{fault:?}");
}

#[test]
fn a_ca_that_was_renewed_with_its_key_is_trusted_beside_its_old_certificate() {
    let key = KeyPair::generate().unwrap();
    let root = |first, last| {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "Root");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        (params.not_before, params.not_after) =
            (date_time_ymd(first, 1, 1), date_time_ymd(last, 1, 1));
        let own = params.self_signed(&key).unwrap().pem();
        (own, params)
    };
    let (old, _) = root(2001, 2011);
    let (renewed, params) = root(2010, 2090);
    let (next, _) = root(2089, 2100);
    let issuer = Issuer::new(params, KeyPair::from_pem(&key.serialize_pem()).unwrap());
    let trusted = |by: &[&String]| {
        fault(
            &by.iter().copied().cloned().collect::<String>(),
            signed(&issuer, |_| {}),
            "localhost",
        )
    };
    assert_eq!(trusted(&[&old, &renewed]), None);
    assert_eq!(trusted(&[&renewed, &next]), None);
    assert_eq!(trusted(&[&old]), Some(CertificateFault::CaExpired(1_293_840_000)));
}
