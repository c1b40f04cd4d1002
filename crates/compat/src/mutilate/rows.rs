//! The options of every face, in the order of the originals' pages, which also decides the meaning
//! of an abbreviation. Describes them, and parses nothing.

use Had::{Everywhere, InDynamic, InMcperfs, InMutilate};
use Section::{Advanced, Agent, Basic, General, Ours};
use Takes::{Double, Float, Int, Nothing, Word};

/// One of the three programs of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// mutilate 0.1, with the options of its improved fork.
    Mutilate,
    /// mcperf 0.3.
    Mcperf,
    /// mcperf with dynamic load; its version is 0.3, too.
    McperfDynamic,
}

impl Face {
    /// True for mutilate, false for its mcperf descendants.
    pub fn is_mutilate(self) -> bool {
        self == Self::Mutilate
    }
}

/// The argument of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Int,
    Float,
    Double,
    /// A word, with its name on the page.
    Word(&'static str),
}

/// The headings of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    General,
    Basic,
    Advanced,
    Agent,
    Ours,
}

/// The faces that have an option on their page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Had {
    Everywhere,
    InMutilate,
    InMcperfs,
    InDynamic,
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) section: Section,
    pub(super) long: &'static str,
    pub(super) short: Option<char>,
    pub(super) takes: Takes,
    pub(super) default: Option<&'static str>,
    /// True if it may be repeated, and takes lists.
    pub(super) many: bool,
    pub(super) had: Had,
    /// True if memtide added it to the program's page.
    pub(super) added: bool,
    pub(super) text: &'static str,
}

impl Row {
    /// True if the option is on the page of `face`.
    pub(super) fn is_of(&self, face: Face) -> bool {
        match self.had {
            Everywhere => true,
            InMutilate => face == Face::Mutilate,
            InMcperfs => face != Face::Mutilate,
            InDynamic => face == Face::McperfDynamic,
        }
    }

    const fn default(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    const fn many(self) -> Self {
        Self { many: true, ..self }
    }

    const fn had(self, had: Had) -> Self {
        Self { had, ..self }
    }

    const fn added(self) -> Self {
        Self { added: true, ..self }
    }
}

/// The option called `long`.
pub(super) fn row(long: &str) -> &'static Row {
    ROWS.iter().find(|row| row.long == long).expect("the table has every option that is asked for")
}

const fn new(
    section: Section,
    long: &'static str,
    short: Option<char>,
    takes: Takes,
    text: &'static str,
) -> Row {
    let (had, default) = (Everywhere, None);
    Row { section, long, short, takes, default, many: false, had, added: false, text }
}

const fn flag(section: Section, long: &'static str, text: &'static str) -> Row {
    new(section, long, None, Nothing, text)
}

const STRING: Takes = Word("STRING");

/// Every option of every face.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    new(General, "help", Some('h'), Nothing, "Show this page and exit"),
    flag(General, "version", "Show name and version and exit"),
    new(General, "verbose", Some('v'), Nothing, "Say more on stderr; twice for still more.").many(),
    flag(General, "quiet", "Say nothing but errors on stderr."),

    new(Basic, "server", Some('s'), STRING, "A server to load: host, host:port, or \
        host:first-last for one server on each of these ports. An IPv6 address with a port goes \
        into brackets. Can be given again, or as a list with commas.").many(),
    flag(Basic, "binary", "Speak the binary protocol; the text protocol otherwise."),
    new(Basic, "qps", Some('q'), Int, "Operations per second in all; 0 is as many as possible.")
        .default("0"),
    new(Basic, "time", Some('t'), Int, "Seconds to measure.").default("5"),
    new(Basic, "profile", None, Int, "A ready-made load, 1 to 4, described below.").had(InMcperfs),
    new(Basic, "keysize", Some('K'), STRING, "Bytes in a key (distribution).").default("30"),
    new(Basic, "keyorder", None, STRING, "Which keys are asked for (distribution); with none, one \
        after the other.").default("none").had(InMcperfs),
    new(Basic, "valuesize", Some('V'), STRING, "Bytes in a value (distribution).").default("200"),
    new(Basic, "records", Some('r'), Int, "Keys in use over all servers; each has its equal part.")
        .default("10000"),
    new(Basic, "update", Some('u'), Float, "Share of sets, 0.0 to 1.0; the others are gets.")
        .default("0.0"),

    new(Advanced, "qps_interval", None, Double, "Seconds that each rate lasts. Giving it turns \
        dynamic load on.").default("1.0").had(InDynamic),
    new(Advanced, "qps_max", None, Int, "Highest rate of the random waveform.")
        .default("10000").had(InDynamic),
    new(Advanced, "qps_min", None, Int, "Lowest rate of the random waveform.")
        .default("1000").had(InDynamic),
    new(Advanced, "qps_target", None, Int, "The rate of one interval; given again for each next, \
        or as a list with commas. Their number decides how long the run is.")
        .many().had(InDynamic),
    new(Advanced, "qps_seed", None, Int, "Seed of the random waveform; 0 draws another waveform \
        each time.").default("0").had(InDynamic),
    new(Advanced, "username", Some('U'), STRING, "User to log in as: by SASL with --binary, by \
        text authentication without."),
    new(Advanced, "password", Some('P'), STRING, "Password of that user."),
    new(Advanced, "threads", Some('T'), Int, "Threads that make load.").default("1"),
    flag(Advanced, "affinity", "Pin each thread to a processor, one after the other"),
    new(Advanced, "connections", Some('c'), Int, "Connections from each thread to each server, 1 \
        to 512.").default("1"),
    new(Advanced, "depth", Some('d'), Int, "Requests that may await their answers on one \
        connection.").default("1"),
    new(Advanced, "roundrobin", Some('R'), Nothing, "Deal the servers out to the threads; \
        otherwise each thread loads all of them."),
    new(Advanced, "iadist", Some('i'), STRING, "Gaps between the requests of a connection \
        (distribution). Only its shape counts: --qps decides the mean.").default("exponential"),
    new(Advanced, "skip", Some('S'), Nothing, "Drop requests that are over 5 ms late on a \
        connection whose depth is used up, instead of sending them late."),
    flag(Advanced, "moderate", "Keep at least 250 us between an answer and the next request."),
    flag(Advanced, "noload", "Do not fill the servers first."),
    flag(Advanced, "loadonly", "Fill the servers, and no more."),
    new(Advanced, "blocking", Some('B'), Nothing, "Sleep between events instead of spinning: \
        frees processors, and may add a little to the times."),
    flag(Advanced, "no_nodelay", "Leave Nagle's algorithm on."),
    new(Advanced, "warmup", Some('w'), Int, "Seconds of load before measuring."),
    new(Advanced, "wait", Some('W'), Int, "Seconds from the start of the program before \
        measuring begins."),
    new(Advanced, "save", None, STRING, "File for the time and duration of every get."),
    new(Advanced, "search", None, Word("N:X"), "Find the rate at which a percentile N stays below \
        X us: 95:1000 for the 95th below 1 ms, 999:1000 for p99.9, 9999:1000 for p99.99, avg:1000 \
        for the mean."),
    new(Advanced, "scan", None, Word("min:max:step"), "Run once at each rate from min to max; with \
        step 0, at min for ever."),
    new(Advanced, "trace", Some('e'), Nothing, "Send start_trace before the run and stop_trace \
        after it, for servers that know them.").had(InMcperfs),
    new(Advanced, "getq_size", Some('G'), Int, "Keys of one multiget.")
        .default("100").had(InMcperfs),
    new(Advanced, "getq_freq", Some('g'), Float, "Probability, 0.0 to 1.0, that a get is a \
        multiget.").default("0.0").had(InMcperfs),
    new(Advanced, "keycache_capacity", None, Int, "Keys that a connection draws beforehand and \
        goes through in order.").default("10000").had(InMcperfs),
    new(Advanced, "keycache_reuse", None, Int, "Rounds through these keys before some are drawn \
        anew; needs --keycache_capacity.").default("100").had(InMcperfs),
    new(Advanced, "keycache_regen", None, Int, "Percent of them that are drawn anew; needs \
        --keycache_capacity.").default("1").had(InMcperfs),
    flag(Advanced, "plot_all", "Draw the histograms of all rows, not only of read").had(InMcperfs),

    new(Agent, "agentmode", Some('A'), Nothing, "Wait for a master and make load for it."),
    new(Agent, "masterless_agentmode", Some('M'), Nothing, "Make load without a master, and print \
        nothing on stdout.").had(InMutilate).added(),
    new(Agent, "sin", None, Int, "Let the rate swing around --qps, with a period of this many ms.")
        .default("500").had(InMutilate).added(),
    new(Agent, "push_lat_influx", None, Word("host:port"), "Send every duration to an InfluxDB, \
        into its database mutilate.")
        .had(InMutilate).added(),
    new(Agent, "agent", Some('a'), Word("host"), "A machine whose agent makes load, too.").many(),
    new(Agent, "agent_port", Some('p'), STRING, "Port of the agents.").default("5556"),
    new(Agent, "lambda_mul", Some('l'), Int, "Weight of this process's share of the rate.")
        .default("1"),
    new(Agent, "measure_connections", Some('C'), Int, "Connections of this process, in place of \
        --connections."),
    new(Agent, "measure_qps", Some('Q'), Int, "Rate of the master alone."),
    new(Agent, "measure_depth", Some('D'), Int, "Depth of the master alone."),
    new(Agent, "poll_freq", Some('m'), Int, "Seconds between looks for an agent's answer.")
        .default("1").had(InMcperfs),
    new(Agent, "poll_max", Some('M'), Int, "Seconds after which a silent agent is given up.")
        .default("120").had(InMcperfs),

    new(Ours, "seed", None, Int, "Seed of keys, sizes and gaps; the same in every run otherwise.")
        .added(),
    new(Ours, "sin_amplitude", None, Float, "How far --sin swings, as a part of --qps.")
        .default("0.5").had(InMutilate).added(),
    new(Ours, "save_all", None, STRING, "File for the time and duration of every operation.")
        .added(),
    new(Ours, "format", None, STRING, "Print as mutilate, mutilate-2012, mcperf or mcperf-dynamic \
        prints.").added(),
    flag(Ours, "response", "Show response times, from the instant when a request was due, in \
        place of service times, from its sending.").added(),
    new(Ours, "json", None, STRING, "File for the whole record of the run, as JSON.").added(),
    flag(Ours, "original-normal", "Draw normal sizes of keys and values, and normal key orders, as \
        the original does, which are not quite normal: for keys that it has to find, or stored.")
        .added(),
    flag(Ours, "notes", "Say on stderr what differs from the original, and what came of the run, \
        even if stderr is no terminal.").added(),
];
