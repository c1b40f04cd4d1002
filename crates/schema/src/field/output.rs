//! The fields of the output: where results go, and what is shown during a run.
//!
//! Rows of the table only; a row parses and formats a value, and decides nothing.

use super::parse::{given, one, output_path};
use super::{Field, Section, Set, Show};
use crate::scenario::{Output, parse_outputs, parse_switch, parse_tags};

pub(super) const JSON: Field = Field {
    name: "json",
    short: None,
    value: Some("FILE"),
    default: "",
    help: "Write the record as JSON; - for stdout",
    long: "The full result in the format `memtide.record/2`: see docs/record.md and \
           docs/record.schema.json. `-` writes it to stdout in place of the report. memtide \
           replaces an existing file only when the new record is complete, and keeps the file's \
           mode. It writes to pipes and devices directly.",
    section: Section::Output,
    many: false,
    set: Set::Outputs(|outputs, word| {
        outputs.json = output_path(word)?;
        Ok(())
    }),
    show: Show::Outputs(|outputs| given(&outputs.json)),
};

pub(super) const PLOT: Field = Field {
    name: "plot",
    short: None,
    value: Some("FILE"),
    default: "",
    help: "Write a chart to FILE.svg or FILE.png",
    long: "For a run, the response-time histogram (log axis); for a search or scan, the 50th, 95th \
           and 99th percentile against the rate, with the goal. The file name must end with `.svg` \
           or `.png`.",
    section: Section::Output,
    many: false,
    set: Set::Outputs(|outputs, word| {
        if !word.ends_with(".svg") && !word.ends_with(".png") {
            return Err(format!("'{word}' must end with .svg or .png"));
        }
        outputs.plot = output_path(word)?;
        Ok(())
    }),
    show: Show::Outputs(|outputs| given(&outputs.plot)),
};

pub(super) const SAMPLES: Field = Field {
    name: "samples",
    short: None,
    value: Some("FILE"),
    default: "",
    help: "Write a row per measured operation: .csv, .jsonl, .parquet",
    long: "Columns: `intended_ns,sent_ns,received_ns,op,outcome,bytes,connection`, then \
           `index,key,size`. Instants count from the beginning of the load, `index` is the \
           operation's position in the run, `key` its first key, `size` the length of the value \
           that it sends. A cell is empty if the operation did not get that far or sends no \
           value. The format follows the file's name: CSV, `.jsonl` for JSON Lines, `.parquet` \
           for Parquet. CSV and JSON Lines are written at least once a second, so they can be \
           read during the run and after a kill; a Parquet file is complete only when the run has \
           ended. Rows that come faster than the disk takes them are lost and counted in a \
           warning. If the reader of a pipe accepts nothing for 2s, memtide stops writing. `-` \
           writes to stdout.",
    section: Section::Output,
    many: false,
    set: Set::Outputs(|outputs, word| {
        outputs.samples = output_path(word)?;
        Ok(())
    }),
    show: Show::Outputs(|outputs| given(&outputs.samples)),
};

pub(super) const OUT: Field = Field {
    name: "out",
    short: None,
    value: Some("KIND=WHERE"),
    default: "",
    help: "Write an output, such as md=run.md; repeat it for more",
    long: "KIND=FILE; one output can have `-` for stdout, in place of the report. `json`, `plot`, \
           `samples`: as the flags of these names. `md`: the result as Markdown, also appended to \
           the file that the variable `GITHUB_STEP_SUMMARY` names. `html`: one self-contained HTML \
           page with charts. `junit`: a test case for each goal, the verdict and each class of \
           errors. `intervals`: a row per second and kind of operation (`.csv`, `.jsonl` or \
           `.parquet`). `hlog`: a histogram per second and kind, for the HDR tools. `hgrm`: the \
           percentiles of a run, for the HDR tools. `influx`: a point per operation, and the rows \
           of `intervals`, to `http://HOST:8086/write?db=NAME`. With `--agents`, `samples=agents` \
           and `influx=agents` let each agent write its own operations. An output that cannot be \
           written does not affect the other outputs; memtide reports the reason and exits with 1. \
           See docs/outputs.md.",
    section: Section::Output,
    many: true,
    set: Set::Outputs(|outputs, word| {
        outputs.out = parse_outputs(word)?;
        Ok(())
    }),
    show: Show::Outputs(|outputs| outputs.out.iter().map(Output::to_string).collect()),
};

pub(super) const SPOOL: Field = Field {
    name: "spool",
    short: None,
    value: Some("DIR,SIZE"),
    default: "",
    help: "Keep points in DIR, up to SIZE, while InfluxDB does not accept them",
    long: "For `--out influx=URL`. While the database is unreachable, busy or refuses points, \
           memtide keeps them in files of this folder, at most `SIZE` bytes (such as `1GB`), and \
           delivers them when the database accepts points again. `memtide report --from-spool DIR \
           --out influx=URL` delivers what is left after the run. Without a spool, such points \
           are lost and counted.",
    section: Section::Output,
    many: false,
    set: Set::Outputs(|outputs, word| {
        outputs.spool = Some(word.parse()?);
        Ok(())
    }),
    show: Show::Outputs(|outputs| given(&outputs.spool.as_ref().map(ToString::to_string))),
};

pub(super) const VERIFY_DETAILS: Field = Field {
    name: "verify-details",
    short: None,
    value: Some("FILE"),
    default: "",
    help: "Write one line of JSON per wrong value that verify finds",
    long: "Each line is an object with `op` (the position of the operation in the run), `server`, \
           `key`, `class`, `version_min` (the oldest version allowed, 0 for any), `version` (the \
           version received, null if it has none) and `offset` (the first wrong byte). At most \
           100000 are kept; the last line then counts the rest as `not_listed`. `-` writes to \
           stdout.",
    section: Section::Verification,
    many: false,
    set: Set::Outputs(|outputs, word| {
        outputs.verify_details = output_path(word)?;
        Ok(())
    }),
    show: Show::Outputs(|outputs| given(&outputs.verify_details)),
};

pub(super) const TAG: Field = Field {
    name: "tag",
    short: None,
    value: Some("KEY=VALUE"),
    default: "",
    help: "Label the run in its record and outputs, such as build=42",
    long: "Repeat the flag or give a comma list: `--tag build=42 --tag host=a`. Keys contain \
           letters, digits and `_.-`; values have at most 256 bytes and no comma. A run has at \
           most 32 tags. Tags do not change the load.",
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
    help: "Print what the run would do, and exit",
    long: "Lists every decision for this scenario on this machine with its reason. No load is \
           sent.",
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
    help: "Do not show progress",
    long: "Progress is shown on a terminal only; this switch hides it there too. The report, the \
           warnings and the line that announces an embedded server remain.",
    section: Section::Output,
    many: false,
    set: Set::Outputs(|outputs, word| {
        outputs.quiet = parse_switch(word)?;
        Ok(())
    }),
    show: Show::Outputs(|outputs| one(outputs.quiet)),
};
