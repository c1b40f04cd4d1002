//! The page of `--help`: gengetopt's layout, our words. Knows the columns, not the options'
//! effects.

use super::rows::{Face, ROWS, Row, Section, Takes};

/// The column of a description and of its further lines.
const TEXT_COLUMN: usize = 32;
const FURTHER_COLUMN: usize = 34;
/// The length of a line.
const COLUMNS: usize = 80;

/// `NAME VERSION`, as `--version` prints it.
pub(super) fn version(face: Face) -> String {
    let (name, version) = identity(face);
    format!("{name} {version}\n")
}

fn identity(face: Face) -> (&'static str, &'static str) {
    if face.is_mutilate() { ("mutilate", "0.1") } else { ("mcperf", "0.3") }
}

/// The whole page of a face.
pub(super) fn help(face: Face) -> String {
    let (name, _) = identity(face);
    let mut page = version(face);
    page += &format!("\nUsage: {name} -s server[:port] [options]\n\n");
    page += "\"High-performance\" memcached benchmarking tool\n\n";
    let mut section = Section::General;
    for row in ROWS.iter().filter(|row| row.is_of(face)) {
        if row.section != section {
            section = row.section;
            page += &format!("\n{}:\n", heading(section));
        }
        page += &option(row);
    }
    page += MEASURE;
    if !face.is_mutilate() {
        page += PROFILES;
    }
    page += DISTRIBUTIONS;
    page
}

fn heading(section: Section) -> &'static str {
    match section {
        Section::General => "General options",
        Section::Basic => "Basic options",
        Section::Advanced => "Advanced options",
        Section::Agent => "Agent-mode options",
        Section::Ours => "Additional options of memtide",
    }
}

fn option(row: &Row) -> String {
    let short = row.short.map_or("    ".to_owned(), |letter| format!("-{letter}, "));
    let takes = match row.takes {
        Takes::Nothing => String::new(),
        Takes::Int => "=INT".to_owned(),
        Takes::Float => "=FLOAT".to_owned(),
        Takes::Double => "=DOUBLE".to_owned(),
        Takes::Word(word) => format!("={word}"),
    };
    let mut text = format!("  {short}--{}{takes}", row.long);
    let mut words: Vec<String> = row.text.split_whitespace().map(str::to_owned).collect();
    if let Some(default) = row.default {
        words.push(format!(" (default=`{default}')"));
    }
    let mut column = text.len();
    let mut gap = TEXT_COLUMN.saturating_sub(column).max(1);
    for word in words {
        if column > TEXT_COLUMN && column + gap + word.len() > COLUMNS {
            text += "\n";
            (column, gap) = (0, FURTHER_COLUMN);
        }
        let word = if column == 0 { word.trim_start() } else { &word };
        text += &" ".repeat(gap);
        text += word;
        column += gap + word.len();
        gap = 1;
    }
    text + "\n"
}

const MEASURE: &str = "
The --measure_* options are for a master that has agents: it then measures with
a few connections, a low rate and its own depth, and the queues in its own
machine stay out of the times, while the agents make the load. Without agents
--measure_connections replaces --connections, and the other two are ignored.

An agent obeys masters of the same user on the same machine, and loads servers
there. For other machines, make a key with memtide key new, and give its join
file to all: memtide install-faces --join FILE DIR, or MEMTIDE_JOIN=FILE. The
servers that agents may load stand in that file. Command lines stay as they
are.
";

const PROFILES: &str = "
Profiles, which take the place of the options that they set:
1. a cache of web pages: Facebook's keys, values and gaps, over 4000
   connections, the highest rate with p95 below 20 ms
2. a cache of applications: keys of 32 bytes, values of 1000, over 1000
   connections, the highest rate with p99 below 10 ms
3. short answers: keys of 32 bytes, values of 200, 100000 operations a second
4. values of 100 to 1000 bytes evenly, some keys far more often than others,
   the highest rate with p99.9 below 1 ms
All use 1000000 records and, but for the first, the gaps of --iadist.
";

const DISTRIBUTIONS: &str = "
A distribution is written as its name, a colon, and its parameters with commas
between them; those left out are 0:

   [fixed:]<value>              the value, always
   uniform:<max>                evenly between 0 and max
   normal:<mean>,<sd>           normal
   exponential:<lambda>         exponential with a mean of 1/lambda
   pareto:<loc>,<scale>,<shape> generalized Pareto
   gev:<loc>,<scale>,<shape>    generalized extreme value

   Three more are those of Facebook's ETC pool [1]:

   fb_value   = sizes of values: a table up to 14 bytes, then a Pareto tail
   fb_key     = sizes of keys: gev:30.7984,8.20449,0.078688
   fb_ia      = gaps: pareto:0.0,16.0292,0.154971

[1] Berk Atikoglu et al., Workload Analysis of a Large-Scale Key-Value Store,
    SIGMETRICS 2012
";
