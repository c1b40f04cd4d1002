//! The fields of runs that agents on other machines carry out for a master.
//!
//! Rows of the table only; a row parses and shows, and decides nothing.

use super::parse::{count, given, one, parsed, span};
use super::{Field, Section, Set, Show};
use crate::scenario::{parse_switch, span_word};

pub(super) const AGENTS: Field = Field {
    name: "agents",
    short: None,
    value: Some("N|LIST"),
    default: "",
    help: "Let agents on other machines make the load: their number or addresses",
    long: "With a number, this command waits until so many agents (`memtide agent`) have dialled \
           it; with a list, such as `lab1,lab2:11299`, it dials agents that were started with \
           `--listen`. They carry out one run: each has a share, as with `shard`, all begin at one \
           instant, and their records become one record. `rate`, `connections` and `ops-max` are \
           those of the whole run; `threads` is 1 by default and is per agent. Needs the key that \
           `memtide key new` makes, except for the user's own agents on this machine. See \
           docs/cluster.md.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.agents.which = if word.is_empty() { None } else { Some(parsed(word)?) };
        Ok(())
    }),
    show: Show::Placement(|placement| given(&placement.agents.which)),
};

pub(super) const KEY: Field = Field {
    name: "key",
    short: None,
    value: Some("DIR"),
    default: "",
    help: "Folder with the master's key, made by memtide key new",
    long: "Agents obey only the master that has this key. Without this field, the key in the \
           user's own state folder is used, which agents without a join file know; they work on \
           this machine alone. Needs `agents`.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.agents.key = (!word.is_empty()).then(|| word.to_owned());
        Ok(())
    }),
    show: Show::Placement(|placement| given(&placement.agents.key)),
};

pub(super) const EXPECT: Field = Field {
    name: "expect",
    short: None,
    value: Some("TIME"),
    default: "30s",
    help: "How long to wait for the agents",
    long: "A time with its unit, above 0 and at most 24h. If agents are missing after it, nothing \
           is sent, and those that are missing are named. Needs `agents`.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.agents.expect = span(word)?;
        Ok(())
    }),
    show: Show::Placement(|placement| one(span_word(placement.agents.expect))),
};

pub(super) const MASTER_SHARE: Field = Field {
    name: "master-share",
    short: None,
    value: None,
    default: "false",
    help: "Make a share of the load on this machine, too",
    long: "The run then has one share more than agents. Needs `agents`.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.agents.master_share = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Placement(|placement| one(placement.agents.master_share)),
};

pub(super) const ALLOW_LOST: Field = Field {
    name: "allow-lost",
    short: None,
    value: Some("N"),
    default: "0",
    help: "Go on when up to N agents are lost",
    long: "By default the run ends when an agent is lost, and its record is partial. Otherwise the \
           others go on at their own rates, nothing is given to them in its place, and the record \
           names what is missing. Needs `agents`.",
    section: Section::Placement,
    many: false,
    set: Set::Placement(|placement, word| {
        placement.agents.allow_lost = count(word)?;
        Ok(())
    }),
    show: Show::Placement(|placement| one(placement.agents.allow_lost)),
};
