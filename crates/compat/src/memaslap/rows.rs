//! memaslap's options, in the order of its page: that order also decides what an abbreviation
//! means. Describes them, and reads nothing.

/// One option.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) long: &'static str,
    pub(super) short: Option<char>,
    /// True if an argument follows it.
    pub(super) takes: bool,
    /// True if memaslap does not have it.
    pub(super) added: bool,
    pub(super) text: &'static str,
}

const fn word(long: &'static str, short: char, text: &'static str) -> Row {
    Row { long, short: Some(short), takes: true, added: false, text }
}

const fn flag(long: &'static str, short: char, text: &'static str) -> Row {
    Row { takes: false, ..word(long, short, text) }
}

const fn added(long: &'static str, takes: bool, text: &'static str) -> Row {
    Row { long, short: None, takes, added: true, text }
}

/// Every option.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    word("servers", 's', "The servers to load, with commas between them: host or host:port, an \
        IPv6 address with a port in brackets. Without it the variable MEMCACHED_SERVERS names \
        them."),
    word("threads", 'T', "Threads that make load. Default 1."),
    word("concurrency", 'c', "Virtual clients over all threads, a multiple of --threads. Each has \
        one operation under way. Default 16."),
    word("conn_sock", 'n', "Connections of each virtual client, used in turn. Default 1."),
    word("execute_number", 'x', "Operations to carry out, every key of a multi-get counted. Goes \
        before --time. Default: none, the time decides."),
    word("time", 't', "How long to run: a number with s, m, h or d behind it. Default 600s."),
    word("cfg_cmd", 'F', "File with the lengths of keys and values and the shares of set and get. \
        Without it ~/.memslap.cnf or ~/.memaslap.cnf, if there is one."),
    word("win_size", 'w', "Objects in the task window of each virtual client: a number with k, m \
        or g behind it, which are powers of 1024. Default 10k."),
    word("fixed_size", 'X', "Bytes in every value, 1 to 1048576, whatever the file says."),
    word("verify", 'v', "Share of gets whose values are compared with what was set, above 0, at \
        most 1."),
    word("division", 'd', "Keys in one get. Default 1."),
    word("stat_freq", 'S', "How often statistics are printed: a number with s, m, h or d behind \
        it. Also prints them at the end. Default: never."),
    word("exp_verify", 'e', "Share of objects that are set to expire and watched for it, above 0, \
        at most 1."),
    word("overwrite", 'o', "Share of sets that overwrite an object of the window, above 0, at \
        most 1."),
    flag("reconnect", 'R', "Open lost connections again."),
    flag("udp", 'U', "Speak UDP, to the ports of the same numbers."),
    flag("facebook", 'a', "Set by TCP and get by UDP; needs a --division of at least 2."),
    flag("binary", 'B', "Speak the binary protocol; the text protocol otherwise."),
    word("tps", 'P', "Operations per second at most, every key of a multi-get counted: a number \
        with k, m or g behind it, which are powers of 1024."),
    word("rep_write", 'p', "Servers that are written to, the first so many; gets go to the others. \
        Needs at least two servers, and opens lost connections again."),
    flag("verbose", 'b', "Tell on stderr of every verification that fails."),
    flag("help", 'h', "Show this page and exit."),
    flag("version", 'V', "Show name and version and exit."),

    added("json", true, "File for the whole record of the run, as JSON."),
    added("seed", true, "Seed of keys, values and choices. Default 1."),
    added("raw-keys", false, "Begin keys with memaslap's eight bytes, which no one can print and \
        some proxies refuse, in place of eight printable ones."),
    added("fail-on-error", false, "Exit with 1 when a verification failed."),
    added("plain", false, "Print no escape sequences."),
    added("notes", false, "Tell on stderr what differs from memaslap, and what came of the run, \
        even if stderr is no terminal."),
];
