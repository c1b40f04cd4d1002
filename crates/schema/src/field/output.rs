//! The fields of the output: where results go, and what is shown on the way.
//!
//! Rows of the table only; a row parses and shows, and decides nothing.

use super::parse::{given, one, place};
use super::{Field, Section, Set, Show};
use crate::scenario::{parse_switch, parse_tags};

pub(super) const JSON: Field = Field {
    name: "json",
    short: None,
    value: Some("FILE"),
    default: "",
    help: "Write the record, as JSON; - replaces the report on stdout",
    long: "The whole result in the shape `memtide.record/2`, which docs/record.md explains and \
           docs/record.schema.json defines. `-` writes it to stdout instead of the report. A \
           regular file is replaced when the new record is whole, and keeps its mode; until \
           then, and when the disk is full, it is what it was. Pipes and devices are written \
           directly.",
    section: Section::Output,
    many: false,
    set: Set::Outputs(|outputs, word| {
        outputs.json = place(word)?;
        Ok(())
    }),
    show: Show::Outputs(|outputs| given(&outputs.json)),
};

pub(super) const PLOT: Field = Field {
    name: "plot",
    short: None,
    value: Some("FILE"),
    default: "",
    help: "Draw a picture: FILE.svg or FILE.png",
    long: "Of a run: how many operations took how long, response times on a logarithmic axis. Of a \
           search or a scan: the 50th, 95th and 99th percentile over the rate, with the goal. The \
           name's end says which form: `.svg` or `.png`.",
    section: Section::Output,
    many: false,
    set: Set::Outputs(|outputs, word| {
        if !word.ends_with(".svg") && !word.ends_with(".png") {
            return Err(format!("'{word}' must end with .svg or .png"));
        }
        outputs.plot = place(word)?;
        Ok(())
    }),
    show: Show::Outputs(|outputs| given(&outputs.plot)),
};

pub(super) const SAMPLES: Field = Field {
    name: "samples",
    short: None,
    value: Some("FILE.csv"),
    default: "",
    help: "Write a row for each measured operation, as CSV",
    long: "Columns: `intended_ns,sent_ns,received_ns,op,outcome,bytes,connection`; a cell is empty \
           where an operation never came so far. Rows are written beside the load by another \
           thread, directly and at least once a second, so they can be read during the run and \
           after a kill. What the thread cannot keep up with is counted and warned of; a reader \
           that takes nothing for 2s is not waited for. `-` writes to stdout.",
    section: Section::Output,
    many: false,
    set: Set::Outputs(|outputs, word| {
        outputs.samples = place(word)?;
        Ok(())
    }),
    show: Show::Outputs(|outputs| given(&outputs.samples)),
};

pub(super) const VERIFY_DETAILS: Field = Field {
    name: "verify-details",
    short: None,
    value: Some("FILE"),
    default: "",
    help: "Write a line of JSON for each wrong value that `verify` finds",
    long: "Each line is an object with `op` (the operation's position in the run's sequence), \
           `server`, `key`, `class`, `version_min` (the oldest version that was allowed, 0 for \
           any), `version` (the one that came, null if it says none) and `offset` (the first wrong \
           byte). At most 100000 are kept; the last line then says how many are `not_listed`. `-` \
           writes to stdout.",
    section: Section::Output,
    many: false,
    set: Set::Outputs(|outputs, word| {
        outputs.verify_details = place(word)?;
        Ok(())
    }),
    show: Show::Outputs(|outputs| given(&outputs.verify_details)),
};

pub(super) const TAG: Field = Field {
    name: "tag",
    short: None,
    value: Some("KEY=VALUE"),
    default: "",
    help: "Label the run: the record and every output carry the tags",
    long: "A label of your own, such as `--tag build=42 --tag host=a`; repeat it, or give a comma \
           list. Keys consist of letters, digits and `_.-`; values have at most 256 bytes and no \
           comma. A run has at most 32 tags. They change nothing of the load.",
    section: Section::Output,
    many: true,
    set: Set::Outputs(|outputs, word| {
        outputs.tags = parse_tags(word)?;
        Ok(())
    }),
    show: Show::Outputs(|outputs| {
        outputs.tags.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }),
};

pub(super) const PLAN: Field = Field {
    name: "plan",
    short: None,
    value: None,
    default: "off",
    help: "Print what would be done, and stop",
    long: "Every decision that a run of this scenario would make here, with its reason; no load is \
           made.",
    section: Section::Output,
    many: false,
    set: Set::Outputs(|outputs, word| {
        outputs.plan = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Outputs(|outputs| one(outputs.plan)),
};

pub(super) const QUIET: Field = Field {
    name: "quiet",
    short: None,
    value: None,
    default: "off",
    help: "Show no progress",
    long: "Progress is shown on a terminal only; this switch hides it there too. The report, \
           warnings and the line that says that an embedded server is measured stay.",
    section: Section::Output,
    many: false,
    set: Set::Outputs(|outputs, word| {
        outputs.quiet = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Outputs(|outputs| one(outputs.quiet)),
};
