//! Flags of `memtide ab` besides those of its scenario.

use super::help::{Length, Page, with_help};
use super::{floor, scenario_command};
use clap::{Arg, ArgAction, Command};
use memtide_base::units;
use memtide_record::Rule;
use memtide_record::compare::Named;
use memtide_scenario::FIGURE_LIST;

/// Meaning of the exit codes of a trial.
const EXIT_CODES: [(u8, &str); 5] = [
    (0, "done, whatever the answer is, and no rule of --fail-on failed"),
    (
        1,
        "a rule failed, the pairs were lost, a value was wrong, --abort-on ended a run, a command \
         before a run failed, or an output could not be written",
    ),
    (2, "the command line, environment or scenario is wrong; nothing was sent"),
    (3, "a server cannot be reached, refused the fill, or was lost"),
    (130, "interrupted; the pairs so far are shown"),
];

/// `memtide ab`
pub(super) fn ab_command(length: Length) -> Command {
    let about = "Find out which of two set-ups is better";
    let long = "Compare two set-ups, A and B, by pairs of runs: one of each in random order, with \
         the same arrivals. The trial ends as soon as it could find the difference that you ask \
         for, or after --at-most. For each figure it says whether B is better, worse, equal, or \
         undecided, with a range that knows how much runs differ by themselves.";
    let page = Page {
        usage: "ab [--a FIELDS] [--b FIELDS] [OPTIONS] [SCENARIO.toml]",
        example: "memtide ab --a server=cache1 --b server=cache2 --rate 20k --difference 5%",
        exit_codes: &EXIT_CODES,
    };
    let own = arms().into_iter().chain(aims()).map(|arg| arg.help_heading("A against B"));
    let command = scenario_command("ab", about, long).args(own).arg(floor("kept"));
    with_help(command, &page, length)
}

fn arms() -> [Arg; 4] {
    [
        fields("a", "What set-up A has of its own, such as server=cache1"),
        fields("b", "What set-up B has of its own, such as server=cache2"),
        before("a-before", "Command before each run of A"),
        before("b-before", "Command before each run of B"),
    ]
}

fn fields(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("FIELDS").action(ArgAction::Append).help(help).long_help(
        "Fields of a scenario as NAME=VALUE, separated by spaces, such as 'server=cache2 \
             protocol=binary'. They override flags and files. Repeat the flag for a value with \
             spaces, such as 'before=verbosity 1'. A list takes all its values.",
    )
}

fn before(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("COMMAND").help(help).long_help(
        "A shell carries it out before each run of this set-up, for example to restart a server \
         with other options. Its output goes to stderr. The trial ends if it fails.",
    )
}

fn aims() -> [Arg; 5] {
    let [difference, figures] = compared();
    let [fail_on, fail_undecided] = rules();
    let at_most = Arg::new("at-most")
        .long("at-most")
        .value_name("TIME")
        .value_parser(|word: &str| units::parse_span(word))
        .default_value("10m")
        .help("Begin no pair that would end later than this");
    [difference, at_most, figures, fail_on, fail_undecided]
}

/// What fails a comparison.
pub(super) fn rules() -> [Arg; 2] {
    [
        Arg::new("fail-on")
            .long("fail-on")
            .value_name("RULE")
            .action(ArgAction::Append)
            .value_parser(|word: &str| word.parse::<Rule>())
            .help("Exit with 1 if RULE holds, such as 'all.p99>+5%'; repeat it for more")
            .long_help(format!(
                "A figure as in --goal, then <, <=, > or >=, then a limit: with a sign that of the \
                 change, such as 'p99>+5%', without one that of the figure itself, such as \
                 'hit_ratio<95%'. Figures: {}.",
                FIGURE_LIST.replace('`', "")
            )),
        Arg::new("fail-undecided")
            .long("fail-undecided")
            .action(ArgAction::SetTrue)
            .help("Exit with 1 also if the runs do not tell whether a rule holds"),
    ]
}

/// What is compared by several runs each, and how finely.
pub(super) fn compared() -> [Arg; 2] {
    [
        Arg::new("difference")
            .long("difference")
            .value_name("FRACTION")
            .value_parser(|word: &str| units::parse_fraction(word))
            .default_value("5%")
            .help("The smallest difference to find; less is equal")
            .long_help(
                "From 0.1% to 100%. Half the difference takes about four times as many runs.",
            ),
        Arg::new("figures")
            .long("figures")
            .value_name("NAMES")
            .value_delimiter(',')
            .value_parser(|word: &str| Named::parse(word))
            .default_value("all.p50,all.p99,answered")
            .help("Figures to compare by several runs, as in goals or in a comparison")
            .long_help(
                "Separated by commas. Each further figure makes the ranges of all of them wider, \
                 because all must hold together.",
            ),
    ]
}
