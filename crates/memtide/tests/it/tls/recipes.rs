//! Certificates as people make them with openssl: memtide accepts what openssl accepts, or says in
//! one sentence what is lacking and which option of openssl adds it.

use super::material::Ca;
use crate::prelude::*;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// A way to make a server's certificate, and what is to be said of it.
struct Recipe {
    /// The commands, each the arguments of openssl. `KEY` makes a new key for P-256.
    made: &'static [&'static str],
    /// The files of the server's certificate and key, without their endings.
    server: &'static str,
    /// The file for `--tls-ca` and `-CAfile`.
    trusted: &'static str,
    /// The server's name.
    name: &'static str,
    /// True if openssl accepts it.
    openssl: bool,
    /// What memtide says of it; nothing if it accepts it.
    refused: &'static [&'static str],
}

const NAMED: &str = "subjectAltName=DNS:localhost\n";
const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

/// Self-signed certificates; `-x509` makes each that of a CA (CA:TRUE).
const ALONE: &[Recipe] = &[
    Recipe {
        made: &["req -x509 KEY -keyout a.key -out a.pem -subj /CN=localhost \
                 -addext subjectAltName=DNS:localhost"],
        server: "a",
        trusted: "a.pem",
        name: "localhost",
        openssl: true,
        refused: &[],
    },
    Recipe {
        made: &["req -x509 KEY -keyout a.key -out a.pem -subj /CN=localhost"],
        server: "a",
        trusted: "a.pem",
        name: "localhost",
        openssl: true,
        refused: &["without subjectAltName", "-addext subjectAltName=DNS:localhost"],
    },
    Recipe {
        made: &["req -x509 KEY -keyout a.key -out a.pem -subj /CN=cache \
                 -addext subjectAltName=IP:127.0.0.1"],
        server: "a",
        trusted: "a.pem",
        name: "127.0.0.1",
        openssl: true,
        refused: &[],
    },
    Recipe {
        made: &["req -x509 KEY -keyout a.key -out a.pem -subj /CN=cache \
                 -addext subjectAltName=DNS:127.0.0.1"],
        server: "a",
        trusted: "a.pem",
        name: "127.0.0.1",
        openssl: false,
        refused: &["without this name", "-addext subjectAltName=IP:ADDRESS"],
    },
    Recipe {
        made: &["req -x509 KEY -keyout a.key -out a.pem -subj /CN=cache \
                 -addext subjectAltName=DNS:*.example.com"],
        server: "a",
        trusted: "a.pem",
        name: "a.example.com",
        openssl: true,
        refused: &[],
    },
    Recipe {
        made: &["req -x509 KEY -keyout a.key -out a.pem -subj /CN=cache \
                 -addext subjectAltName=DNS:*.example.com"],
        server: "a",
        trusted: "a.pem",
        name: "a.b.example.com",
        openssl: false,
        refused: &["for other names: '*.example.com'", "-addext subjectAltName=DNS:NAME"],
    },
    Recipe {
        made: &["req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-384 -nodes -keyout a.key \
                 -out a.pem -subj /CN=cache -addext subjectAltName=DNS:localhost"],
        server: "a",
        trusted: "a.pem",
        name: "localhost",
        openssl: true,
        refused: &[],
    },
    Recipe {
        made: &[
            "req -new KEY -keyout a.key -out a.csr -subj /CN=localhost",
            "x509 -req -in a.csr -signkey a.key -out a.pem -days -1 -extfile named.ext",
        ],
        server: "a",
        trusted: "a.pem",
        name: "localhost",
        openssl: false,
        refused: &["has a certificate that expired on 2", " UTC; renew it", "-days"],
    },
    Recipe {
        made: &["req -x509 -newkey rsa:1024 -nodes -keyout a.key -out a.pem -subj /CN=localhost \
                 -addext subjectAltName=DNS:localhost"],
        server: "a",
        trusted: "a.pem",
        name: "localhost",
        openssl: false,
        refused: &["an RSA key of 1024 bits", "-newkey rsa:2048"],
    },
];

/// Certificates of `localhost` that the CA of the folder signs.
const SIGNED: &[Recipe] = &[
    Recipe {
        made: &["x509 -req -in a.csr -CA ca.pem -CAkey ca.key -out a.pem -extfile named.ext"],
        server: "a",
        trusted: "ca.pem",
        name: "localhost",
        openssl: true,
        refused: &[],
    },
    Recipe {
        // Of version 1, for want of extensions.
        made: &["x509 -req -in a.csr -CA ca.pem -CAkey ca.key -out a.pem"],
        server: "a",
        trusted: "ca.pem",
        name: "localhost",
        openssl: true,
        refused: &["of X.509 version 1", "-extfile FILE"],
    },
    Recipe {
        // openssl accepts it with -partial_chain.
        made: &["x509 -req -in a.csr -CA ca.pem -CAkey ca.key -out a.pem -extfile named.ext"],
        server: "a",
        trusted: "a.pem",
        name: "localhost",
        openssl: false,
        refused: &[],
    },
    Recipe {
        made: &[
            "req -new KEY -keyout between.key -out between.csr -subj /CN=Between",
            "x509 -req -in between.csr -CA ca.pem -CAkey ca.key -out between.pem -extfile ca.ext",
            "x509 -req -in a.csr -CA between.pem -CAkey between.key -out a.pem -extfile named.ext",
        ],
        server: "a",
        trusted: "ca.pem",
        name: "localhost",
        openssl: false,
        refused: &["a CA that is not trusted here: 'Between'", "-cert_chain", "--tls-ca"],
    },
    Recipe {
        made: &["x509 -req -sha1 -in a.csr -CA ca.pem -CAkey ca.key -out a.pem -extfile named.ext"],
        server: "a",
        trusted: "ca.pem",
        name: "localhost",
        openssl: false,
        refused: &["signed with SHA-1", "-sha256"],
    },
    Recipe {
        made: &["x509 -req -in a.csr -CA ca.pem -CAkey ca.key -out a.pem -extfile named.ext"],
        server: "a",
        trusted: "other.pem",
        name: "localhost",
        openssl: false,
        refused: &["names a trusted CA which did not sign it", "-CAkey"],
    },
];

#[test]
fn self_signed_certificates_of_openssl_are_accepted_or_explained() {
    for recipe in ALONE {
        recipe.holds();
    }
}

#[test]
fn certificates_that_openssl_signs_are_accepted_or_explained() {
    for recipe in SIGNED {
        recipe.holds();
    }
}

impl Recipe {
    fn holds(&self) {
        let Self { server, name, .. } = self;
        let folder = Ca::new();
        folder.write("named.ext", NAMED);
        folder.write("ca.ext", "basicConstraints=critical,CA:TRUE\n");
        for at in ["ca", "other"] {
            let made = "req -x509 KEY -keyout AT.key -out AT.pem -subj /CN=Root".replace("AT", at);
            folder.openssl(&made.replace("KEY", KEY));
        }
        folder.openssl(
            &"req -new KEY -keyout a.key -out a.csr -subj /CN=localhost".replace("KEY", KEY),
        );
        for made in self.made {
            folder.openssl(&made.replace("KEY", KEY));
        }
        let trusted = folder.path(self.trusted);
        let [cert, key] = ["pem", "key"].map(|end| folder.path(&format!("{server}.{end}")));
        let line = format!("--tls --tls-server-name {name} --ops-max 100 --keys 10 --quiet");
        let _turn = shared();
        // openssl refuses to serve with the weakest keys unless it is asked to.
        let weak = WeakServer::start(&cert, &key);
        assert_eq!(weak.is_accepted_by_openssl(name, &trusted), self.openssl, "{:?}", self.made);
        if !self.refused.is_empty() {
            let words: Vec<&str> = [&*weak.name].iter().chain(self.refused).copied().collect();
            memtide(&format!("run -s {} {line} --tls-ca {trusted}", weak.name))
                .complains(3, &words);
            return;
        }
        let peer = Peer::memcached_tls(&format!("-o ssl_chain_cert={cert},ssl_key={key}"));
        memtide(&format!("run -s {} {line} --tls-ca {trusted}", peer.name)).exits(0);
    }
}

/// `openssl s_server` with a certificate, also with one that is too weak for memcached.
struct WeakServer {
    child: Child,
    name: String,
}

impl WeakServer {
    fn start(cert: &str, key: &str) -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let name = free.local_addr().unwrap().to_string();
        drop(free);
        let child = openssl(&["s_server", "-accept", &name, "-cert", cert, "-key", key, "-quiet"])
            .args(["-cipher", "DEFAULT@SECLEVEL=0"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("openssl is installed");
        let mut server = Self { child, name };
        while TcpStream::connect(&server.name).is_err() {
            assert!(server.child.try_wait().unwrap().is_none(), "it ended at once");
            thread::sleep(Duration::from_millis(5));
        }
        server
    }

    /// What `openssl s_client` says of it, if it checks the name.
    fn is_accepted_by_openssl(&self, name: &str, trusted: &str) -> bool {
        let check = match name.parse::<Ipv4Addr>() {
            Ok(_) => "-verify_ip",
            Err(_) => "-verify_hostname",
        };
        openssl(&["s_client", "-connect", &self.name, "-verify_return_error", "-CAfile", trusted])
            .args([check, name])
            .stdin(Stdio::null())
            .status()
            .unwrap()
            .success()
    }
}

impl Drop for WeakServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn openssl(arguments: &[&str]) -> Command {
    let mut command = Command::new("openssl");
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
