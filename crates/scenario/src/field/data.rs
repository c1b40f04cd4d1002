//! The fields of the data: keys, values, operations on them, and the fill.
//!
//! Rows of the table only.

use super::parse::{cas_unique, count, expiry, fraction, given_text, key_prefix, parsed, size};
use super::{AgentRule, Field, Section, member};
use crate::scenario::parse_switch;
use memtide_workload::op_kinds;

/// The grammar of size distributions, shared by the rows of keys and values.
macro_rules! size_laws {
    () => {
        "Distributions: `fixed:N` or just `N`, `uniform:A,B`, `uniform-real:A,B` (rounded from \
         real numbers, so that both ends are half as likely), `normal:MEAN,SD`, \
         `mutilate-normal:MEAN,SD` (as mutilate draws it), `exponential:MEAN`, \
         `pareto:LOC,SCALE,SHAPE`, `gev:LOC,SCALE,SHAPE`, `etc-key` and `etc-value` (Facebook's \
         ETC pool), and `table:SIZE=WEIGHT,…`. Sizes are bytes and may carry `k`, `KiB`, `MiB`."
    };
}

macro_rules! mix_long {
    ($first:ident $name:literal $action:ident $doc:literal,
     $($others:ident $names:literal $actions:ident $docs:literal,)*) => {
        concat!(
            "Operations are `", $name, $(" ", $names,)*
            "`; only the proportions of their weights count. A cas is one operation: a gets, then \
             a cas with the number that it returned (see `cas-unique`). incr and decr use numeric \
             keys (see `numeric-keys`). The last three need `protocol meta`: recache reads, and \
             stores after `recache-time` if the server says that this client shall make a missing, \
             stale or ageing value anew; invalidate marks an item as stale for `stale-time`; peek \
             reads, and names the cas number of the value that it read last, so that an unchanged \
             value does not travel (memcached 1.6.40). Example: `get=30,set=1,delete=0.5`."
        )
    };
}

const DATA: Field = Field::of(Section::Data, AgentRule::Allowed);

/// The fields of the section.
pub(super) const FIELDS: &[Field] = &[
    Field {
        name: "keys",
        value: Some("N"),
        default: "100k",
        help: "Number of different keys",
        long: "From 1 to `1000G`, such as `500`, `100k` or `1G`. The seed and the number of a key \
               determine the key, its size and its value, so even a large number of keys costs no \
               memory. incr and decr use additional numeric keys.",
        member: member!(scenario.keys, count),
        ..DATA
    },
    Field {
        name: "key-size",
        value: Some("LAW"),
        default: "fixed:30",
        help: "Distribution of key lengths",
        long: concat!(
            "A number of bytes such as `30`, or a distribution. ",
            size_laws!(),
            " A key is at most 250 bytes long, and never shorter than it must be to be unique: \
             four bytes for 100k keys."
        ),
        member: member!(scenario.key_size, parsed),
        ..DATA
    },
    Field {
        name: "key-form",
        value: Some("FORM"),
        default: "base32",
        help: "How a key is derived from its number",
        long: "`base32`: the number in base 32 (0-9, a-v), as short as the number of keys allows, \
               then random filler. `decimal`: the number in decimal, padded with zeros on the \
               left. These are mutilate's keys, so mutilate can fill a server for memtide and the \
               reverse; the length of a key follows from its number as in mutilate, not from the \
               seed. `hex`: the number in hexadecimal (0-9, a-f), padded with zeros, with lengths \
               drawn by the seed. `bytes`: the number in eight bytes, mostly unprintable, then \
               filler: keys like memaslap's, which servers accept and some proxies refuse. Decimal \
               and hexadecimal keys are at least as long as the largest number and at most 250 \
               bytes.",
        member: member!(scenario.key_shape.form, parsed),
        ..DATA
    },
    Field {
        name: "key-prefix",
        value: Some("TEXT"),
        help: "Text that every key starts with",
        long: "Up to 200 bytes without spaces and control characters, such as `user:`. The prefix \
               is part of the key and counts in its length.",
        member: member!(scenario.key_shape.prefix, key_prefix, given_text),
        ..DATA
    },
    Field {
        name: "key-first",
        value: Some("N"),
        default: "0",
        help: "Number of the first key",
        long: "Up to `1000G`. A run uses the keys from this number on. Use it to give runs in \
               parallel their own keys.",
        member: member!(scenario.key_shape.first, count),
        ..DATA
    },
    Field {
        name: "value-size",
        value: Some("LAW"),
        default: "fixed:200",
        help: "Distribution of value lengths",
        long: concat!(
            "A number of bytes such as `200` or `4KiB`, or a distribution. ",
            size_laws!(),
            " `ascending:FIRST`: the value of key n is FIRST + n bytes long, rounded. `value-max` \
             cuts unbounded distributions; a distribution that names a longer value is an error. \
             No length depends on a server: one that refuses the only length of a distribution \
             ends the run before its load."
        ),
        member: member!(scenario.value_size, parsed),
        ..DATA
    },
    Field {
        name: "value-draws",
        value: Some("DRAWS"),
        default: "seed",
        help: "Random numbers for the lengths of values",
        long: "`seed`: derived from the key's number and the seed. `rand48:LOW,MIDDLE,HIGH`: from \
               erand48 of the C library, with these three words (0 to 65535) as its initial state, \
               whatever the seed; key n uses draw n. The amounts of incr and decr use the same \
               draws. With `popularity sequential`, operations use the draws in order.",
        member: member!(scenario.value_draws, parsed),
        ..DATA
    },
    Field {
        name: "value-fill",
        value: Some("FILL"),
        default: "drawn",
        help: "Content of values: drawn, or one repeated character",
        long: "`drawn`: random letters, digits, - and _. One printable ASCII character, such as \
               `0`: only that character. With a digit, every value is a number for incr and decr. \
               Not available with `verify`, which could not tell such values apart.",
        member: member!(scenario.value_fill, parsed),
        ..DATA
    },
    Field {
        name: "value-max",
        value: Some("SIZE"),
        default: "1023KiB",
        help: "Longest value to send",
        long: "From 1 byte to 1GiB, such as `64k` or `4MiB`. memcached takes 1023KiB with its \
               default `-I` of 1MiB, which includes the key. For longer values, start it with a \
               larger `-I`.",
        member: member!(scenario.value_max, size),
        ..DATA
    },
    Field {
        name: "mix",
        value: Some("OP=WEIGHT,…"),
        default: "get=9,set=1",
        help: "Operations and their weights",
        long: op_kinds!(mix_long),
        member: member!(scenario.mix, parsed),
        ..DATA
    },
    Field {
        name: "mix-order",
        value: Some("ORDER"),
        default: "drawn",
        help: "Order of the operations of the mix: drawn or turn",
        long: "`drawn`: the kind of each operation is random. `turn`: each client sends the kind \
               that is furthest behind its share, a store first if several are, so get=9,set=1 is \
               a set, nine gets, a set and so on. `turn` needs `clients` or a `window`. In a \
               window, every key of a multiget is one turn.",
        member: member!(scenario.mix_order, parsed),
        ..DATA
    },
    Field {
        name: "popularity",
        value: Some("LAW"),
        default: "uniform",
        help: "Which keys are requested how often",
        long: "`uniform`; `zipf:S` (the key of rank r is requested in proportion to r^−S); \
               `sequential` (all keys in order, again and again); `hotspot:KEYS,OPS` (this \
               fraction of the keys gets that fraction of the operations, such as \
               `hotspot:20%,80%`); or `walk:CAPACITY[,PASSES,FRACTION][@LAW]`, as in mcperf: each \
               connection walks through its own list of at most CAPACITY keys in the order 1, 2, \
               …, 0, again and again. The list holds the first keys, or with a LAW (a distribution \
               such as `walk:10k@uniform:0,1M`) keys drawn from it, modulo the number of keys. \
               After every PASSES walks, every k-th key is drawn again, with k such that at least \
               this FRACTION is replaced. Additional keys of a multiget are any keys of the list. \
               With a shared schedule, and in a closed loop, operations are assigned to the walks \
               in turn, whichever connection sends them.",
        member: member!(scenario.popularity, parsed),
        ..DATA
    },
    Field {
        name: "window",
        value: Some("N"),
        default: "none",
        help: "Objects that each client sets and reads, in place of keys",
        long: "From 1 to 1G, such as `10k`: each client stores its own objects until it has this \
               number; then each new object replaces its oldest one. It reads from the objects \
               that it has stored. Or `auto:CACHE,MISS`, such as `auto:4G,5%`: the number with \
               which a server with a cache of this size misses 0 or 5% of the reads, by the \
               formulas of memaslap's manual: CACHE / clients of a server / mean bytes of key and \
               value × 0.5 for 0, × 0.7 for 5%. The mix may contain get and set. A new object has \
               the sizes of the object that it replaces. A failed set counts as an operation and \
               does not change the window. When the mix has no set, or with `load always`, the \
               clients fill all windows before the run, outside its counts; with `load never` and \
               no set, the windows count as full. Each object costs 4 bytes of memory, 8 more with \
               `verify` and 16 more with `verify-expiry`, however long the run. `keys` and \
               `popularity` have no effect.",
        member: member!(scenario.client.window, some parsed),
        ..DATA
    },
    Field {
        name: "overwrite",
        value: Some("FRACTION"),
        default: "0",
        help: "Fraction of a window's sets that overwrite an existing object",
        long: "From 0 to 1, such as `0.2` or `20%`. These sets store a new version of an object in \
               the window; the others store a new object.",
        member: member!(scenario.client.overwrite, fraction),
        ..DATA
    },
    Field {
        name: "window-pick",
        value: Some("HOW"),
        default: "random",
        help: "Which object of a window to read or overwrite",
        long: "`random`: any object with equal probability. `sequential`: all objects in order, \
               again and again.",
        member: member!(scenario.client.pick, parsed),
        ..DATA
    },
    Field {
        name: "multiget",
        value: Some("N"),
        default: "1",
        help: "Keys per get or gets",
        long: "From 1 to 65535. A get of several keys is one operation; its response time ends \
               with the last value. Hits and misses count keys.",
        member: member!(scenario.multiget, count),
        ..DATA
    },
    Field {
        name: "multiget-share",
        value: Some("FRACTION"),
        default: "1",
        help: "Fraction of get and gets that request multiget keys",
        long: "From 0 to 1, such as `0.25` or `5%`. The rest request one key.",
        member: member!(scenario.multiget_share, fraction),
        ..DATA
    },
    Field {
        name: "delta",
        value: Some("LAW"),
        default: "fixed:1",
        help: "Amount by which incr and decr change a number",
        long: "A distribution as in `value-size`, of whole numbers up to `1G`. Operation n uses \
               draw n.",
        member: member!(scenario.delta, parsed),
        ..DATA
    },
    Field {
        name: "numeric-keys",
        value: Some("WHOSE"),
        default: "own",
        help: "Keys that incr and decr use: own or shared",
        long: "`own`: additional keys, as many as `keys`, filled with numbers. `shared`: the keys \
               of all other operations. A value that is not a number is then an error reply. With \
               a digit as `value-fill`, short values are numbers.",
        member: member!(scenario.numeric_keys, parsed),
        ..DATA
    },
    Field {
        name: "cas-unique",
        value: Some("N"),
        default: "the number that gets returned",
        help: "Send this number with cas instead of reading it first",
        long: "A whole number from 1 to 2^64 - 1. A cas is then a single request that `noreply` \
               can apply to, and the reply is exists or not_found unless the number happens to be \
               right. Not available with `verify`.",
        member: member!(scenario.wire.cas_unique, some cas_unique),
        ..DATA
    },
    Field {
        name: "recache-time",
        value: Some("LAW"),
        default: "fixed:0s",
        help: "Time that the winner of a recache takes until it stores",
        long: "`fixed:TIME` or just a time such as `5ms`, `uniform:LEAST,MOST` or \
               `exponential:MEAN`, up to 1h. The winner's operation ends when its value is stored, \
               so its response time contains this time; meanwhile it keeps its place on its \
               connection, and other clients get the old value, or none.",
        member: member!(scenario.wire.recache_time, parsed),
        ..DATA
    },
    Field {
        name: "stale-time",
        value: Some("SECONDS"),
        default: "30",
        help: "How long invalidated items stay, and how early recache stores anew",
        long: "From 0 to 2592000 (30 days). invalidate: the item expires after this time. recache: \
               a missing item is made without a value for this time, until the winner stores one; \
               and an item with less time than this until its expiry is stored anew.",
        member: member!(scenario.wire.stale_s, count),
        ..DATA
    },
    Field {
        name: "expiry",
        value: Some("SECONDS"),
        default: "0",
        help: "Expiry of every stored or touched item, in seconds",
        long: "As in memcached: 0 never expires; up to 2592000 (30 days) counts from the store; a \
               larger number is a Unix time; a negative number is expired at once.",
        member: member!(scenario.expiry, expiry),
        ..DATA
    },
    Field {
        name: "expiry-share",
        value: Some("FRACTION"),
        default: "1",
        help: "Fraction of the keys that are stored with the expiry",
        long: "From 0 to 1, such as `0.05` or `5%`. The seed determines which keys; the others are \
               stored with expiry 0.",
        member: member!(scenario.expiry_share, fraction),
        ..DATA
    },
    Field {
        name: "flags",
        value: Some("N"),
        default: "0",
        help: "Flags that are stored with every item",
        long: "From 0 to 4294967295. The server stores the flags and returns them with the value; \
               memtide does not use them.",
        member: member!(scenario.flags, count),
        ..DATA
    },
    Field {
        name: "noreply",
        default: "off",
        help: "Send noreply, for operations that allow it",
        long: "Stores, delete, incr, decr and touch then end as `unacknowledged` when they are \
               sent. They have no response time, and their error replies can be taken for replies \
               of other operations. Reads and cas are answered as always; so is touch over \
               `protocol binary` and `meta`, which have no quiet touch.",
        member: member!(scenario.noreply, parse_switch),
        ..DATA
    },
    Field {
        name: "load",
        value: Some("WHEN"),
        default: "auto",
        help: "Whether to fill the servers before the run: auto, always, never",
        long: "`auto`: if the mix reads, memtide requests 1 000 sampled keys (fewer if they hold \
               more than 64 MiB) and fills a server if some are missing or have values of other \
               lengths than the scenario says. It does not fill a remote server that holds other \
               items, and the run ends. `always`: fill in any case. `never`: do not fill; if \
               `value-size` is given and sampled values have other lengths, the run \
               ends. Values of numeric keys are not compared, and none are with append or prepend \
               in the mix. memtide never flushes a server.",
        member: member!(scenario.load, parsed),
        ..DATA
    },
    Field {
        name: "load-partial",
        default: "off",
        help: "Accept a fill that leaves keys out",
        long: "Without it, the run ends if sampled keys are missing after the fill (the message \
               names the `-m` that the server needs), if the server refused stores, or if \
               connections were lost. With it, the run continues with a warning that counts the \
               missing keys. It also accepts values of other lengths with `load never`.",
        member: member!(scenario.load_partial, parse_switch),
        ..DATA
    },
];
