//! The fields of the data: keys, values, operations on them, and the fill.
//!
//! Rows of the table only; a row parses and formats a value, and decides nothing.

use super::parse::{bits, count, given, one, parsed};
use super::{Field, Section, Set, Show};
use crate::scenario::parse_switch;
use memtide_base::units;
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

/// Largest size of a key prefix in bytes; leaves room in a key for any number.
const PREFIX_BYTES_MAX: usize = 200;

pub(super) const KEYS: Field = Field {
    name: "keys",
    short: None,
    value: Some("N"),
    default: "100k",
    help: "Number of different keys",
    long: "From 1 to `1000G`, such as `500`, `100k` or `1G`. The seed and the number of a key \
           determine the key, its size and its value, so even a large number of keys costs no \
           memory. incr and decr use additional numeric keys.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.keys = count(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.keys)),
};

pub(super) const KEY_SIZE: Field = Field {
    name: "key-size",
    short: None,
    value: Some("LAW"),
    default: "fixed:30",
    help: "Distribution of key lengths",
    long: concat!(
        "A number of bytes such as `30`, or a distribution. ",
        size_laws!(),
        " A key is at most 250 bytes long, and never shorter than it must be to be unique: four \
         bytes for 100k keys."
    ),
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.key_size = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(&scenario.key_size)),
};

pub(super) const KEY_FORM: Field = Field {
    name: "key-form",
    short: None,
    value: Some("FORM"),
    default: "base32",
    help: "How a key is derived from its number",
    long: "`base32`: the number in base 32 (0-9, a-v), as short as the number of keys allows, then \
           random filler. `decimal`: the number in decimal, padded with zeros on the left. These \
           are mutilate's keys, so mutilate can fill a server for memtide and the reverse; the \
           length of a key follows from its number as in mutilate, not from the seed. `hex`: the \
           number in hexadecimal (0-9, a-f), padded with zeros, with lengths drawn by the seed. \
           `bytes`: the number in eight bytes, mostly unprintable, then filler: keys like \
           memaslap's, which servers accept and some proxies refuse. Decimal and hexadecimal keys \
           are at least as long as the largest number and at most 250 bytes.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.key_shape.form = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.key_shape.form)),
};

pub(super) const KEY_PREFIX: Field = Field {
    name: "key-prefix",
    short: None,
    value: Some("TEXT"),
    default: "",
    help: "Text that every key starts with",
    long: "Up to 200 bytes without spaces and control characters, such as `user:`. The prefix is \
           part of the key and counts in its length.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        let strange = |letter: char| letter.is_whitespace() || letter.is_control();
        if word.len() > PREFIX_BYTES_MAX || word.contains(strange) {
            return Err(format!(
                "{word:?} cannot be a key prefix: use at most {PREFIX_BYTES_MAX} bytes without \
                 spaces and control characters"
            ));
        }
        scenario.key_shape.prefix = word.to_owned();
        Ok(())
    }),
    show: Show::Scenario(|scenario| match scenario.key_shape.prefix.is_empty() {
        true => Vec::new(),
        false => one(&scenario.key_shape.prefix),
    }),
};

pub(super) const KEY_FIRST: Field = Field {
    name: "key-first",
    short: None,
    value: Some("N"),
    default: "0",
    help: "Number of the first key",
    long: "Up to `1000G`. A run uses the keys from this number on. Use it to give runs in parallel \
           their own keys.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.key_shape.first = count(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.key_shape.first)),
};

pub(super) const VALUE_SIZE: Field = Field {
    name: "value-size",
    short: None,
    value: Some("LAW"),
    default: "fixed:200",
    help: "Distribution of value lengths",
    long: concat!(
        "A number of bytes such as `200` or `4KiB`, or a distribution. ",
        size_laws!(),
        " `ascending:FIRST`: the value of key n is FIRST + n bytes long, rounded. `value-max` cuts \
         unbounded distributions; a distribution that names a longer value is an error."
    ),
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.value_size = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(&scenario.value_size)),
};

pub(super) const VALUE_DRAWS: Field = Field {
    name: "value-draws",
    short: None,
    value: Some("DRAWS"),
    default: "seed",
    help: "Random numbers for the lengths of values",
    long: "`seed`: derived from the key's number and the seed. `rand48:LOW,MIDDLE,HIGH`: from \
           erand48 of the C library, with these three words (0 to 65535) as its initial state, \
           whatever the seed; key n uses draw n. The amounts of incr and decr use the same draws. \
           With `popularity sequential`, operations use the draws in order.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.value_draws = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.value_draws)),
};

pub(super) const VALUE_FILL: Field = Field {
    name: "value-fill",
    short: None,
    value: Some("FILL"),
    default: "drawn",
    help: "Content of values: drawn, or one repeated character",
    long: "`drawn`: random letters, digits, - and _. One printable ASCII character, such as `0`: \
           only that character. With a digit, every value is a number for incr and decr. Not \
           available with `verify`, which could not tell such values apart.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.value_fill = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.value_fill)),
};

pub(super) const VALUE_MAX: Field = Field {
    name: "value-max",
    short: None,
    value: Some("SIZE"),
    default: "1MiB",
    help: "Longest value to send",
    long: "From 1 byte to 1GiB, such as `64k` or `4MiB`. Above 1MiB, start memcached with a larger \
           `-I` as well.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.value_max = units::parse_size(word).map_err(|e| e.to_string())?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.value_max)),
};

pub(super) const POPULARITY: Field = Field {
    name: "popularity",
    short: None,
    value: Some("LAW"),
    default: "uniform",
    help: "Which keys are requested how often",
    long: "`uniform`; `zipf:S` (the key of rank r is requested in proportion to r^−S); \
           `sequential` (all keys in order, again and again); `hotspot:KEYS,OPS` (this fraction of \
           the keys gets that fraction of the operations, such as `hotspot:20%,80%`); or \
           `walk:CAPACITY[,PASSES,FRACTION][@LAW]`, as in mcperf: each connection walks through \
           its own list of at most CAPACITY keys in the order 1, 2, …, 0, again and again. The \
           list holds the first keys, or with a LAW (a distribution such as \
           `walk:10k@uniform:0,1M`) keys drawn from it, modulo the number of keys. After every \
           PASSES walks, every k-th key is drawn again, with k such that at least this FRACTION is \
           replaced. Additional keys of a multiget are any keys of the list. With a shared \
           schedule, and in a closed loop, operations are assigned to the walks in turn, whichever \
           connection sends them.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.popularity = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(&scenario.popularity)),
};

macro_rules! mix_long {
    ($first:ident $name:literal $action:ident $doc:literal,
     $($others:ident $names:literal $actions:ident $docs:literal,)*) => {
        concat!(
            "Operations are `", $name, $(" ", $names,)*
            "`; only the proportions of their weights count. A cas is one operation: a gets, then \
             a cas with the number that it returned (see `cas-unique`). incr and decr use numeric \
             keys (see `numeric-keys`). Example: `get=30,set=1,delete=0.5`."
        )
    };
}

pub(super) const MIX: Field = Field {
    name: "mix",
    short: None,
    value: Some("OP=WEIGHT,…"),
    default: "get=9,set=1",
    help: "Operations and their weights",
    long: op_kinds!(mix_long),
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.mix = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(&scenario.mix)),
};

pub(super) const DELTA: Field = Field {
    name: "delta",
    short: None,
    value: Some("LAW"),
    default: "fixed:1",
    help: "Amount by which incr and decr change a number",
    long: "A distribution as in `value-size`, of whole numbers up to `1G`. Operation n uses draw \
           n.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.delta = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(&scenario.delta)),
};

pub(super) const NUMERIC_KEYS: Field = Field {
    name: "numeric-keys",
    short: None,
    value: Some("WHOSE"),
    default: "own",
    help: "Keys that incr and decr use: own or shared",
    long: "`own`: additional keys, as many as `keys`, filled with numbers. `shared`: the keys of \
           all other operations. A value that is not a number is then an error reply. With a digit \
           as `value-fill`, short values are numbers.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.numeric_keys = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.numeric_keys)),
};

pub(super) const CAS_UNIQUE: Field = Field {
    name: "cas-unique",
    short: None,
    value: Some("N"),
    default: "the number that gets returned",
    help: "Send this number with cas instead of reading it first",
    long: "A whole number from 1 to 2^64 - 1. A cas is then a single request that `noreply` can \
           apply to, and the reply is exists or not_found unless the number happens to be right. \
           Not available with `verify`.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        let number = bits(word)?;
        if number == 0 {
            return Err("'0' is not a cas number; use 1 or more".to_owned());
        }
        scenario.wire.cas_unique = Some(number);
        Ok(())
    }),
    show: Show::Scenario(|scenario| given(&scenario.wire.cas_unique)),
};

pub(super) const MULTIGET: Field = Field {
    name: "multiget",
    short: None,
    value: Some("N"),
    default: "1",
    help: "Keys per get or gets",
    long: "From 1 to 65535. A get of several keys is one operation; its response time ends with \
           the last value. Hits and misses count keys.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.multiget = count(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.multiget)),
};

pub(super) const MULTIGET_SHARE: Field = Field {
    name: "multiget-share",
    short: None,
    value: Some("FRACTION"),
    default: "1",
    help: "Fraction of get and gets that request multiget keys",
    long: "From 0 to 1, such as `0.25` or `5%`. The rest request one key.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.multiget_share = units::parse_fraction(word.trim()).map_err(|e| e.to_string())?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.multiget_share)),
};

pub(super) const EXPIRY: Field = Field {
    name: "expiry",
    short: None,
    value: Some("SECONDS"),
    default: "0",
    help: "Expiry of every stored or touched item, in seconds",
    long: "As in memcached: 0 never expires; up to 2592000 (30 days) counts from the store; a \
           larger number is a Unix time; a negative number is expired at once.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        let number = word.trim().parse();
        scenario.expiry = number
            .map_err(|_| format!("'{word}' is not a whole number of seconds, such as 0 or 3600"))?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.expiry)),
};

pub(super) const EXPIRY_SHARE: Field = Field {
    name: "expiry-share",
    short: None,
    value: Some("FRACTION"),
    default: "1",
    help: "Fraction of the keys that are stored with the expiry",
    long: "From 0 to 1, such as `0.05` or `5%`. The seed determines which keys; the others are \
           stored with expiry 0.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.expiry_share = units::parse_fraction(word.trim()).map_err(|e| e.to_string())?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.expiry_share)),
};

pub(super) const FLAGS: Field = Field {
    name: "flags",
    short: None,
    value: Some("N"),
    default: "0",
    help: "Flags that are stored with every item",
    long: "From 0 to 4294967295. The server stores the flags and returns them with the value; \
           memtide does not use them.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.flags = count(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.flags)),
};

pub(super) const NOREPLY: Field = Field {
    name: "noreply",
    short: None,
    value: None,
    default: "off",
    help: "Send noreply, for operations that allow it",
    long: "Stores, delete, incr, decr and touch then end as `unacknowledged` when they are sent. \
           They have no response time, and their error replies can be taken for replies of other \
           operations. Reads and cas are answered as always; so is touch over `protocol binary`, \
           which has no quiet touch.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.noreply = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.noreply)),
};

pub(super) const LOAD: Field = Field {
    name: "load",
    short: None,
    value: Some("WHEN"),
    default: "auto",
    help: "Whether to fill the servers before the run: auto, always, never",
    long: "`auto`: if the mix reads, memtide requests 1 000 sampled keys and fills a server if \
           some are missing or have values of other lengths than the scenario says. It does not \
           fill a remote server that holds other items, and the run ends. `always`: fill in any \
           case. `never`: do not fill; if `value-size` is not the default and sampled values have \
           other lengths, the run ends. Values of numeric keys are not compared, and none are with \
           append or prepend in the mix. memtide never flushes a server.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.load = parsed(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.load)),
};

pub(super) const LOAD_PARTIAL: Field = Field {
    name: "load-partial",
    short: None,
    value: None,
    default: "off",
    help: "Accept a fill that leaves keys out",
    long: "Without it, the run ends if sampled keys are missing after the fill (the message names \
           the `-m` that the server needs), if the server refused stores, or if connections were \
           lost. With it, the run continues with a warning that counts the missing keys. It also \
           accepts values of other lengths with `load never`.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.load_partial = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.load_partial)),
};
