//! Remedies and fields in memtide's own words. A face of an older load generator uses its own.

use memtide_base::{Remedy, Sentence, Words};

/// Formats `sentence` in memtide's own words.
pub fn natively(sentence: &Sentence) -> String {
    sentence.in_words(&Native)
}

/// Formats remedies with memtide's flags.
#[derive(Clone, Copy, Debug)]
struct Native;

impl Words for Native {
    fn remedy(&self, remedy: Remedy) -> &'static str {
        match remedy {
            Remedy::SeeTimeout => " (see --timeout)",
            Remedy::AllowTime => " (--timeout allows it more time)",
            Remedy::OrFewerConnections => " or lower --connections",
            Remedy::FewerConnectionsOrTime => {
                "; lower --connections or allow more time with --timeout"
            }
            Remedy::MorePorts => {
                "; lower --connections, give more source addresses with --bind, or widen \
                 net.ipv4.ip_local_port_range"
            }
            Remedy::LocalSource => " from the --bind address, which this machine does not have",
            Remedy::CheckCredentials => "; check --user and --password",
            Remedy::LeaveCredentials => {
                "; leave out --user and --password, or start it with authentication (memcached -S \
                 for --protocol binary, -Y FILE for --protocol text)"
            }
            Remedy::GiveCredentials => "; give it --user and --password",
            Remedy::SpeakText => "; use --protocol text, or check the port",
            Remedy::SpeakBinary => "; use --protocol binary, or check the port",
            Remedy::SpeakTls => "; give it --tls, or check the port",
            Remedy::PerhapsTls => " (if it speaks TLS, give it --tls)",
            Remedy::LeaveTls => " (or leave --tls out)",
            Remedy::TrustCa => {
                "; name the file of its CA with --tls-ca, or let the server send that CA's \
                 certificate as well (ssl_chain_cert, openssl s_server's -cert_chain)"
            }
            Remedy::TrustCertificate => "; name its file with --tls-ca",
            Remedy::NameServer => "; give one of them with --tls-server-name",
            Remedy::OrUnchecked => ", or do not check it (--tls-insecure)",
            Remedy::NoResumption => ", or resume no sessions (--tls-resume off)",
            Remedy::LowerTls => "; allow an older one with --tls-min, or raise the server's",
            Remedy::GiveCertificate => "; give it one with --tls-cert and --tls-key",
            Remedy::CheckCertificate => "; check --tls-cert and --tls-key, and the server's CA",
            Remedy::FewerThreads => "; lower --threads",
            Remedy::ReadLog => "; check the server's log",
            Remedy::CheckPort => "; check the port, and connect to the server without a proxy",
            Remedy::CheckMachine => "; check that its machine runs and can be reached",
            Remedy::CheckAnswers => {
                "; check that it answers other clients, or wait longer with --timeout"
            }
            Remedy::LookUpError => "; look the number up with `errno`",
            Remedy::OtherIo => "; try the other --io",
            Remedy::AllowTarget => {
                "; measure another server, or start the agent with --allow-target for this one"
            }
            Remedy::MatchOrder => {
                "; find out what stands between memtide and the server, or use --match order"
            }
            Remedy::FixedWindow => ", or give --warmup and --duration fixed lengths",
            Remedy::AskStats => "; leave --no-stats out if it answers stats",
            Remedy::RelaxCondition => "; lower the highest rate, or relax the condition",
            Remedy::WaitForWindow => "; let it run until its warm-up is over",
            Remedy::Reconnect => " with reconnect never",
            Remedy::SmallerWindows => {
                "; use a smaller --window or fewer --clients, or accept it with --load-partial"
            }
            Remedy::AcceptPartial => " (--load-partial accepts it)",
            Remedy::ChooseLoad => {
                ": use --load always to fill it all the same, or --load never to leave it as it is"
            }
            Remedy::RefillOrAccept => {
                "; --load never does not fill it: use --load auto, give the --value-size that it \
                 was filled with, or accept it with --load-partial"
            }
            Remedy::FewerKeys => ", use fewer or smaller --keys, or accept it with --load-partial",
        }
    }

    fn field(&self, name: &str) -> String {
        format!("--{name}")
    }
}
