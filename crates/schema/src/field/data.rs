//! The fields of the data: keys, values, what is asked of them, and the fill.
//!
//! Rows of the table only; a row parses and shows, and decides nothing.

use super::parse::{bits, count, given, one, parsed};
use super::{Field, Section, Set, Show};
use crate::scenario::parse_switch;
use memtide_base::units;
use memtide_workload::op_kinds;

/// The grammar of sizes, shared by the rows of keys and values.
macro_rules! size_laws {
    () => {
        "`fixed:N` or just `N`, `uniform:A,B`, `uniform-real:A,B` (evenly from A up to B and then \
         rounded, so that both ends are half as likely), `normal:MEAN,SD`, `mutilate-normal:MEAN,\
         SD` (as mutilate draws it), `exponential:MEAN`, `pareto:LOC,SCALE,SHAPE`, \
         `gev:LOC,SCALE,SHAPE`, `etc-key` and `etc-value` (Facebook's ETC pool), or \
         `table:SIZE=WEIGHT,…`; sizes are bytes and may carry `k`, `KiB`, `MiB`."
    };
}

/// Bytes of a prefix at most; what is left has room for any number.
const PREFIX_BYTES_MAX: usize = 200;

pub(super) const KEYS: Field = Field {
    name: "keys",
    short: None,
    value: Some("N"),
    default: "100k",
    help: "How many different keys there are",
    long: "A count from 1 to `1000G`, such as `500`, `100k` or `1G`. The size and the bytes of a \
           key and of its value \
           are functions of the key's number and the seed, so no number of keys costs memory. \
           incr and decr have numeric keys of their own beside these.",
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
    help: "The law of key lengths",
    long: concat!(
        "A law of lengths: ",
        size_laws!(),
        " A key is at most 250 bytes long, and at least as long as it must be to differ from all \
         others: four bytes for 100k keys."
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
    help: "How a key is made of its number",
    long: "`base32`: the number in base 32 (0-9, a-v), as short as all keys allow, then filler \
           drawn by the seed. `decimal`: the number in decimal, padded with zeros from the left up \
           to the key's length: the keys of mutilate, so that a server filled by one can be \
           measured with the other. `hex`: the same in hexadecimal (0-9, a-f), with lengths drawn \
           by the seed. `bytes`: the number in eight bytes, most of which nobody can print, then \
           filler as of `base32`: keys like those of memaslap, which servers take and some proxies \
           refuse. The length of a decimal key does not depend on the seed but \
           follows from the number as in mutilate. Decimal and hexadecimal keys are never shorter \
           than the largest number has digits nor longer than 250 bytes, whatever the law.",
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
    help: "What every key begins with",
    long: "Up to 200 bytes without blanks and control characters, such as `user:`. It is a part of \
           the key, and so of its length.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        let strange = |letter: char| letter.is_whitespace() || letter.is_control();
        if word.len() > PREFIX_BYTES_MAX || word.contains(strange) {
            return Err(format!(
                "{word:?} is not a beginning of keys: at most {PREFIX_BYTES_MAX} bytes without \
                 blanks and control characters"
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
    help: "The number of the first key",
    long: "A count up to `1000G`. The keys of a run have this number and those that follow it, so \
           that runs beside each other can have keys of their own.",
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
    help: "The law of value lengths",
    long: concat!(
        "A law of lengths: ",
        size_laws!(),
        " `ascending:FIRST`: the value of key n is FIRST + n bytes long, rounded. No value is \
         longer than `value-max`: laws without an end are cut there, and a law that names a \
         longer value is refused."
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
    help: "How the lengths of values are drawn",
    long: "`seed`: the length of key n's value is a function of n and the seed. \
           `rand48:LOW,MIDDLE,HIGH`: it is made of draw n of C's erand48, whose state begins with \
           these three words from 0 to 65535, whatever the seed; so is what incr and decr change a \
           number by. `popularity sequential` then asks for the draws in their order.",
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
    help: "What values consist of: drawn, or one letter",
    long: "`drawn`: letters, digits, - and _ by the seed. Any one printable ASCII letter or digit, \
           such as `0`: nothing but that, so that with a digit every value is a number for incr \
           and decr. Not with verify, which could not tell such values apart.",
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
    help: "The longest value that may be sent",
    long: "A size from 1 byte to 1GiB, such as `64k` or `4MiB`. Beyond memcached's own limit of \
           1MiB the server must be told as well, with its `-I`.",
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
    help: "Which keys are asked for how often",
    long: "`uniform`; `zipf:S` (rank r has a share in proportion to r^−S, drawn exactly); \
           `sequential` (one after the other, round and round); `hotspot:KEYS,OPS`: this \
           fraction of the keys gets that fraction of the operations, as in `hotspot:20%,80%`; or \
           `walk:CAPACITY[,PASSES,FRACTION][@LAW]`, as mcperf asks: each connection goes through a \
           cache of its own, of at most CAPACITY keys, in the order 1, 2, …, 0, again and again. \
           The cache holds the first keys; with a LAW (one of sizes, such as \
           `walk:10k@uniform:0,1M`) it holds keys drawn from it, modulo the number of keys, and \
           after every PASSES walks every k-th of them is drawn anew, k such that it is at least \
           this FRACTION. Further keys of a multiget are any of the cache. With one shared \
           schedule, and in a closed loop, operations are dealt to the walks in turn, whatever \
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
            "Weights over `", $name, $(" ", $names,)*
            "`; only their proportions count. A cas is a gets and then a cas with what it \
             brought: one operation; see `cas-unique`. incr and decr use numeric keys of their \
             own; see `numeric-keys`. Example: `get=30,set=1,delete=0.5`."
        )
    };
}

pub(super) const MIX: Field = Field {
    name: "mix",
    short: None,
    value: Some("OP=WEIGHT,…"),
    default: "get=9,set=1",
    help: "The kinds of operation and their weights",
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
    help: "What incr and decr change a number by",
    long: "A law like that of `value-size`, of whole numbers up to `1G`. Operation n has draw n.",
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
    help: "Which keys incr and decr work on: own or shared",
    long: "`own`: as many keys again as there are others, filled with numbers. `shared`: the same \
           keys as everything else; what is stored there may be no number, and the server then \
           says so. With `value-fill` a digit, short values are numbers.",
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
    default: "what a gets brought",
    help: "The number that a cas sends without reading first",
    long: "A whole number from 1 to 2^64 - 1. A cas is then one request, which can be sent \
           without wanting an answer, and is answered with exists or not_found unless the number \
           happens to be right. Not with verify.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        let number = bits(word)?;
        if number == 0 {
            return Err("'0' is no number of a value; they begin at 1".to_owned());
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
    help: "Keys in one get or gets",
    long: "A count from 1 to 65535. A get of several keys is one operation, and its response ends \
           with the last of them; hits and misses count keys.",
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
    help: "The fraction of get and gets that ask for many keys",
    long: "A fraction from 0 to 1, such as `0.25` or `5%`: this part of get and gets asks for \
           `multiget` keys, the others for one.",
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
    help: "The expiry sent with every operation that stores or touches",
    long: "In memcached's sense: 0 never expires, up to 2592000 (30 days) counts seconds from the \
           store, more is a time in seconds since 1970, and a negative number has expired \
           already.",
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
    help: "The fraction of the keys that are stored with the expiry",
    long: "A fraction from 0 to 1, such as `0.05` or `5%`. Which keys these are follows from the \
           seed; the others are stored with expiry 0 and never expire.",
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
    help: "The flags sent with every store",
    long: "A whole number from 0 to 4294967295, kept by the server and handed back with the \
           value; memtide gives it no meaning.",
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
    help: "Ask for no answer where an operation can do without",
    long: "Stores, delete, incr, decr and touch then end as `unacknowledged` when they are sent; \
           they have no response time, and errors of theirs may upset other answers. Reads and \
           cas are answered as always, and so is touch over `protocol binary`, which has no quiet \
           form of it.",
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
    help: "Whether the server is filled before the run",
    long: "`auto`: when the mix reads, 1 000 sampled keys are asked for, and the server is filled \
           only if some are missing or have values of another length than the scenario says; a \
           server that is not on this machine and holds other items is refused. `always`: it is \
           filled in any case. `never`: it is not filled; with a `value-size` other than the \
           default `run` refuses it when sampled values have other lengths. Lengths of numeric \
           keys are not compared, nor are any with append or prepend. Nothing is ever flushed.",
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
    help: "Accept a fill that did not store or keep every key",
    long: "Without this switch a run ends when its fill leaves keys out: sampled keys are missing \
           (the message names the `-m` that the server would need), the server refused stores, or \
           connections were lost. With it the run goes on, and a warning says how many keys are \
           missing. The switch also accepts values of other lengths with `--load never`.",
    section: Section::Data,
    many: false,
    set: Set::Scenario(|scenario, word| {
        scenario.load_partial = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Scenario(|scenario| one(scenario.load_partial)),
};
