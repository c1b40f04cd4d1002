//! What a command line may ask for and this version cannot do: all of it, and nothing else. A row
//! goes when its ability comes.

use crate::memaslap::options::{Length, Options, Transport};

/// An option, what it needs, and whether a command line asks for it.
struct Pending {
    option: &'static str,
    what: &'static str,
    is_asked: fn(&Options) -> bool,
}

const PENDING: &[Pending] = &[
    Pending {
        option: "--rep_write (-p)",
        what: "writing to several servers at once",
        is_asked: |options| options.target.writers.is_some(),
    },
    Pending {
        option: "--udp (-U)",
        what: "UDP",
        is_asked: |options| options.target.transport == Transport::Udp,
    },
    Pending {
        option: "--facebook (-a)",
        what: "UDP beside TCP",
        is_asked: |options| options.target.transport == Transport::Split,
    },
    Pending {
        option: "--conn_sock (-n)",
        what: "a client with several connections",
        is_asked: |options| options.connections_each > 1,
    },
    Pending {
        option: "--exp_verify (-e)",
        what: "watching objects expire",
        is_asked: |options| options.shares.expiring > 0.0,
    },
    Pending {
        option: "--overwrite (-o)",
        what: "a share of sets that overwrite",
        is_asked: |options| options.shares.overwriting > 0.0,
    },
    Pending {
        option: "--verbose (-b)",
        what: "telling of each failed verification on stderr",
        is_asked: |options| options.output.is_verbose && options.shares.verified > 0.0,
    },
    Pending {
        option: "--reconnect (-R)",
        what: "telling how long a server was away",
        is_asked: |options| options.target.is_reconnecting,
    },
    Pending {
        option: "--raw-keys",
        what: "a key of unprintable bytes",
        is_asked: |options| options.is_raw_keys,
    },
    Pending {
        option: "--execute_number (-x) with --division (-d)",
        what: "counting the keys of a multi-get",
        is_asked: |options| options.division > 1 && matches!(options.length, Length::Operations(_)),
    },
    Pending { option: "--win_size (-w)", what: "a task window", is_asked: |_| true },
];

/// The sentence about the first thing of this kind that `options` ask for.
pub(super) fn find(options: &Options) -> Option<String> {
    let asked = PENDING.iter().find(|row| (row.is_asked)(options))?;
    Some(format!("{}: {} is not in this version", asked.option, asked.what))
}
