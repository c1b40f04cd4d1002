//! HTTP client of a database: posts batches, and classifies answers by what to do next.

use super::delivery::{Answer, Post};
use crate::ending::OutputStop;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use memtide_scenario::{InfluxPlace, InfluxVersion};
use std::io::ErrorKind;
use std::time::Duration;
use std::{env, fs};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, http::Response};

/// Longest time of a connect.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// Largest part of an answer that is read, in bytes, and that is printed, in characters.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
const SHOWN_MAX: usize = 200;
/// The status of a write (InfluxDB 1.8, 2 and 3, "Troubleshoot issues writing data").
const WRITTEN: u16 = 204;
/// File with the certificates of this system's trusted authorities.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// A connection to a database.
pub(super) struct Http {
    agent: Agent,
    url: String,
    authorization: Option<String>,
}

impl Http {
    /// A client for `place`, with the credentials in the environment.
    pub(super) fn new(place: &InfluxPlace) -> Result<Self, OutputStop> {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .tls_config(tls())
            .user_agent(concat!("memtide/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT_MAX))
            .build()
            .new_agent();
        Ok(Self { agent, url: place.url.clone(), authorization: authorization(place.version)? })
    }
}

/// Trusts the authorities in `SSL_CERT_FILE`, or the system's; without either, those that browsers
/// trust.
fn tls() -> TlsConfig {
    let path = env::var("SSL_CERT_FILE").unwrap_or_else(|_| AUTHORITIES.to_owned());
    let pem = fs::read(path).unwrap_or_default();
    let found = parse_pem(&pem).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let authorities: Vec<Certificate<'static>> = found.collect();
    let builder = TlsConfig::builder();
    match authorities.is_empty() {
        true => builder.build(),
        false => builder.root_certs(RootCerts::new_with_certs(&authorities)).build(),
    }
}

/// The authorization header for the credentials in the environment.
fn authorization(version: InfluxVersion) -> Result<Option<String>, OutputStop> {
    let user = env::var("MEMTIDE_INFLUX_USER").unwrap_or_default();
    let password = secret("MEMTIDE_INFLUX_PASSWORD")?;
    let token = secret("MEMTIDE_INFLUX_TOKEN")?;
    Ok(match (token, version) {
        (Some(token), InfluxVersion::V3) => Some(format!("Bearer {token}")),
        (Some(token), _) => Some(format!("Token {token}")),
        // Version 1 takes no token; later versions accept this form, too.
        (None, _) if !user.is_empty() => {
            let pair = format!("{user}:{}", password.unwrap_or_default());
            Some(format!("Basic {}", BASE64_STANDARD.encode(pair)))
        }
        (None, _) => None,
    })
}

/// A secret from the environment, or from the file that the environment names.
fn secret(name: &str) -> Result<Option<String>, OutputStop> {
    if let Ok(word) = env::var(name) {
        return Ok(Some(word).filter(|word| !word.is_empty()));
    }
    let file = format!("{name}_FILE");
    let Ok(path) = env::var(&file) else { return Ok(None) };
    let text = fs::read_to_string(&path)
        .map_err(|error| OutputStop::usage(format!("{file} '{path}' cannot be read: {error}")))?;
    Ok(Some(text.trim_end().to_owned()).filter(|word| !word.is_empty()))
}

impl Post for Http {
    fn post(&mut self, zipped: &[u8], limit: Duration) -> Answer {
        let request = self
            .agent
            .post(&self.url)
            .header("Content-Type", "text/plain; charset=utf-8")
            .header("Content-Encoding", "gzip")
            .config()
            .timeout_global(Some(limit))
            .build();
        let request = match &self.authorization {
            Some(proof) => request.header("Authorization", proof),
            None => request,
        };
        match request.send(zipped) {
            Ok(mut response) => answer(&mut response),
            Err(error) => Answer::Unreachable(format!("it cannot be reached: {}", why(&error))),
        }
    }
}

/// Why a database cannot be reached. A fault of TLS comes as invalid data, in words of a library.
fn why(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) if error.kind() == ErrorKind::InvalidData => {
            "its TLS or its certificate is not accepted; name the file of its CA in SSL_CERT_FILE, \
             and the host as in the certificate's subjectAltName"
                .to_owned()
        }
        error => error.to_string(),
    }
}

/// The meaning of an answer.
fn answer(response: &mut Response<Body>) -> Answer {
    let status = response.status().as_u16();
    let [after, words] = ["Retry-After", "X-Influxdb-Error"]
        .map(|name| response.headers().get(name)?.to_str().ok().map(str::to_owned));
    let after = after.and_then(|seconds| seconds.trim().parse().ok());
    let words = words.unwrap_or_default();
    let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).lossy_utf8(true);
    let text = match body.read_to_string() {
        Ok(text) => text,
        Err(error) if status == WRITTEN => {
            return Answer::Unreachable(format!("its answer was incomplete: {error}"));
        }
        Err(_) => String::new(),
    };
    // Every version of InfluxDB answers 204 to a write. Another server, such as a proxy with a page
    // to log in, may answer 200.
    if status == WRITTEN {
        return Answer::Taken;
    }
    let text = if text.trim().is_empty() { words } else { text };
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = plain.chars().filter(|c| !c.is_control()).take(SHOWN_MAX).collect();
    let said = |remedy: &str| match shown.is_empty() {
        true => format!("it answered {status}{remedy}"),
        false => format!("it answered {status} ({shown}){remedy}"),
    };
    match status {
        413 => Answer::TooLong(said("")),
        // Of a write that is partial, some versions say 201.
        201 | 400 | 422 => Answer::unfit(said(""), &text),
        401 | 403 => Answer::Refused(said(
            ": set MEMTIDE_INFLUX_TOKEN, or MEMTIDE_INFLUX_USER and MEMTIDE_INFLUX_PASSWORD",
        )),
        404 => Answer::Refused(said(": create the database, or name another one in the URL")),
        200..300 => Answer::Refused(said(
            " and not 204, as a database does: check that the URL leads to InfluxDB itself",
        )),
        429 | 500..600 => Answer::Busy { said: said(""), after: after.map(Duration::from_secs) },
        _ => Answer::Refused(said("")),
    }
}
