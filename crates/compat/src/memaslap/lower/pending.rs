//! What a command line may ask for and this version cannot do: all of it, and nothing else. A row
//! goes when its ability comes.

use crate::memaslap::options::{Options, Transport};

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
        option: "--facebook (-a)",
        what: "UDP beside TCP",
        is_asked: |options| options.target.transport == Transport::Split,
    },
    Pending {
        option: "--reconnect (-R)",
        what: "telling how long a server was away",
        is_asked: |options| options.target.is_reconnecting,
    },
];

/// The sentence about the first thing of this kind that `options` ask for.
pub(super) fn find(options: &Options) -> Option<String> {
    let asked = PENDING.iter().find(|row| (row.is_asked)(options))?;
    Some(format!("{}: {} is not in this version", asked.option, asked.what))
}
