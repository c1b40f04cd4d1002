//! The fields of the output: where results go, and what is shown during a run.
//!
//! Rows of the table only.

use super::parse::{
    chart_path, given, output_path, parsed, samples_path, span, tag_words, untrimmed,
};
use super::{AgentRule, Field, Section, member};
use crate::scenario::{parse_outputs, parse_switch, parse_tags, parse_web};

const OUTPUT: Field = Field::of(Section::Output, AgentRule::Output);

/// The fields of the section.
pub(super) const FIELDS: &[Field] = &[
    Field {
        name: "json",
        value: Some("FILE"),
        help: "Write the result as JSON; - for stdout",
        long: "The full result: `memtide.record/2` of a run (docs/record.md), `memtide.steps/1` of \
               a search or scan (docs/search.md), `memtide.ab/1` of `ab`, `memtide.repeats/1` of \
               `--repeat`. `-` writes it to stdout in place of the report. memtide \
               replaces an existing file only when the new record is complete, and keeps the \
               file's mode. It writes to pipes and devices directly.",
        member: member!(outputs.json, output_path, given),
        ..OUTPUT
    },
    Field {
        name: "plot",
        value: Some("FILE"),
        help: "Write a chart to FILE.svg or FILE.png",
        long: "For a run, the response-time histogram (log axis); for a search or scan, the 50th, \
               95th and 99th percentile against the rate, with the goal. The file name must end \
               with `.svg` or `.png`.",
        member: member!(outputs.plot, chart_path, given),
        ..OUTPUT
    },
    Field {
        name: "samples",
        value: Some("FILE"),
        help: "Write a row per measured operation: .csv, .jsonl, .parquet",
        long: "Columns: `intended_ns,sent_ns,received_ns,op,outcome,bytes,connection`, then \
               `index,key,size`. Instants count from the beginning of the load, `index` is the \
               operation's position in the run, `key` its first key, `size` the length of the \
               value that it sends. A cell is empty if the operation did not get that far or sends \
               no value. The format follows the file's name: CSV, `.jsonl` for JSON Lines, \
               `.parquet` for Parquet. CSV and JSON Lines are written at least once a second, so \
               they can be read during the run and after a kill; a Parquet file is complete only \
               when the run has ended. Rows that come faster than the disk takes them are lost and \
               counted in a warning. If the reader of a pipe accepts nothing for 2s, memtide stops \
               writing. `-` writes to stdout.",
        member: member!(outputs.samples, samples_path, given),
        ..OUTPUT
    },
    Field {
        name: "out",
        value: Some("KIND=WHERE"),
        help: "Write an output, such as md=run.md; repeat it for more",
        long: "KIND=FILE; one output can have `-` for stdout, in place of the report. `json`, \
               `plot`, `samples`: as the flags of these names. `md`: the result as Markdown, also \
               appended to the file that the variable `GITHUB_STEP_SUMMARY` names. `html`: one \
               self-contained HTML page with charts. `junit`: a test case for each goal, the \
               verdict and each class of errors. `intervals`: a row per second and kind of \
               operation (`.csv`, `.jsonl` or `.parquet`). `hlog`: a histogram per second and \
               kind, for the HDR tools. `hgrm`: the percentiles of a run, for the HDR tools. \
               `summary`: a row with the run's totals, appended to a `.csv` of many runs. \
               `openmetrics`: the run's totals as text that Prometheus reads. \
               `influx`: a point per operation, and the rows of `intervals`, to \
               `http://HOST:8086/write?db=NAME`. With `--agents`, `samples=agents` and \
               `influx=agents` let each agent write its own operations. An output that cannot be \
               written does not affect the other outputs; memtide reports the reason and exits \
               with 1. See docs/outputs.md.",
        many: true,
        member: member!(outputs.out, each parse_outputs),
        ..OUTPUT
    },
    Field {
        name: "spool",
        value: Some("DIR,SIZE"),
        help: "Keep points in DIR, up to SIZE, while InfluxDB does not accept them",
        long: "For `--out influx=URL`. While the database is unreachable, busy or refuses points, \
               memtide keeps them in files of this folder, at most `SIZE` bytes (such as `1GB`), \
               and delivers them when the database accepts points again. `memtide report \
               --from-spool DIR --out influx=URL` delivers what is left after the run. Without a \
               spool, such points are lost and counted.",
        member: member!(outputs.spool, some untrimmed),
        ..OUTPUT
    },
    Field {
        name: "tag",
        value: Some("KEY=VALUE"),
        help: "Label the run in its record and outputs, such as build=42",
        long: "Repeat the flag or give a comma list: `--tag build=42 --tag host=a`. Keys contain \
               letters, digits and `_.-`; values have at most 256 bytes and no comma. A run has at \
               most 32 tags. Tags do not change the load.",
        many: true,
        member: member!(outputs.tags, parse_tags, tag_words),
        agents: AgentRule::Allowed,
        ..OUTPUT
    },
    Field {
        name: "full",
        default: "off",
        help: "Print the whole report, not only the answer",
        long: "The report on stdout begins with the answer: the rate, errors and hits, the main \
               figures with their uncertainty, the verdict, and what to do next. With this switch \
               follows the rest: what was run, all times and counts, goals, notes and every \
               warning. Of a search or scan: every column, however narrow the terminal. The \
               record, the page and Markdown always contain everything.",
        member: member!(outputs.full, parse_switch),
        agents: AgentRule::Allowed,
        ..OUTPUT
    },
    Field {
        name: "explain",
        value: Some("FIGURE"),
        help: "Print how a figure came about, such as p99 or get.p99.9",
        long: "Adds to the report, for one figure, its number of operations and of effective \
               operations, the slices, the interval, the lower end that memtide's own delay \
               leaves, and the checks: in the words of docs/measurement.md. FIGURE is a measure of \
               all operations (`p50`, `p90`, `p99`, `p99.9`, `p99.99`, `mean`), one of a kind \
               (`get.p99`), `service.p99`, or `rate`. `memtide report RECORD --explain p99` does \
               it for a record.",
        member: member!(outputs.explain, some untrimmed),
        agents: AgentRule::Allowed,
        ..OUTPUT
    },
    Field {
        name: "plan",
        default: "off",
        help: "Print what the run would do, and exit",
        long: "Lists every decision for this scenario on this machine with its reason. No load is \
               sent.",
        member: member!(outputs.plan, parse_switch),
        ..OUTPUT
    },
    Field {
        name: "quiet",
        default: "off",
        help: "Do not show progress",
        long: "Progress is shown on a terminal only; this switch hides it there too. The report, \
               the warnings and the line that announces an embedded server remain.",
        member: member!(outputs.quiet, parse_switch),
        agents: AgentRule::Allowed,
        ..OUTPUT
    },
    Field {
        name: "progress",
        value: Some("HOW"),
        default: "line",
        help: "How to show progress on stderr: off, line or ui",
        long: "`line`: on a terminal, a line that is overwritten; without one, a line every 10s. \
               `ui`: the whole screen of the terminal, as `--ui` does. `off`: nothing, as \
               `--quiet` does.",
        member: member!(outputs.progress, parsed),
        ..OUTPUT
    },
    Field {
        name: "ui",
        default: "off",
        help: "Watch the run on the whole screen of the terminal",
        long: "Shows rates, response percentiles and a heat map over time, backlog, errors, each \
               kind and server, the servers' statistics, memtide's own share, its machine, goals, \
               agents, and the steps of a search or scan. Key `u` beside the progress line shows \
               it, too. Keys: 1-6 choose a panel, p pauses the picture, s stops the run, q goes \
               back to the progress line, ? shows help. Where \
               stderr is no terminal, or `TERM` is `dumb` or `CI` is set, the progress line stays. \
               `NO_COLOR` is respected. Needs a program with the feature `ui`. See docs/live.md.",
        member: member!(outputs.ui, parse_switch),
        ..OUTPUT
    },
    Field {
        name: "web",
        default: "off",
        help: "Serve a page on which the run can be watched in a browser",
        long: "The page shows what `--ui` shows, is updated each second, and becomes the page of \
               `--out html` when the run is over. Its address is printed on stderr. By default it \
               is a free port of 127.0.0.1 with a random path, without which every request gets \
               404. `--web=ADDRESS` sets the port (`--web=8080`), the address \
               (`--web=0.0.0.0:8080`) or the path as well (`--web=127.0.0.1:8080/mine`). Needs a \
               program with the feature `web`. See docs/live.md.",
        member: member!(outputs.web, parse_web, given),
        ..OUTPUT
    },
    Field {
        name: "web-linger",
        value: Some("TIME"),
        help: "How long the finished page of --web stays; default 3s",
        long: "For `--web`: memtide ends this long after the run, if anybody watched it, so that a \
               browser can load the finished page. Ctrl-C ends it at once.",
        member: member!(outputs.web_linger, some span),
        ..OUTPUT
    },
];
