//! Flags of searches and scans besides those of their scenario.

use super::help::{Length, Page, with_help};
use super::{floor, option, scenario_command, simulation};
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, value_parser};
use memtide_base::units;
use memtide_run::steps::Rates;

/// Meaning of the exit codes of a search or a scan.
const EXIT_CODES: [(u8, &str); 6] = [
    (0, "done; with goals, at least one rate meets them"),
    (1, "no tested rate meets the goals, or an output could not be written"),
    (2, "the command line, environment or scenario is wrong; nothing was sent"),
    (3, "a server cannot be reached, refused the fill, or was lost"),
    (4, "the steps behind the result are not believable (with --strict)"),
    (130, "interrupted; the results so far are shown"),
];

/// `memtide search`, or `memtide sim search`.
pub(super) fn search_command(length: Length, is_simulated: bool) -> Command {
    let about = "Find the highest rate that meets goals";
    let long = "Find the highest rate that meets all goals, such as --goal 'all.p95<10ms'. Each \
         step is a full run at one rate, with its warm-up; the servers are filled once. memtide \
         prints a row after each step, and the result at the end.";
    let (usage, example) = match is_simulated {
        false => (
            "search --goal <GOAL> [OPTIONS] [SCENARIO.toml]",
            "memtide search -s cache1:11211 --goal 'all.p95<10ms' --duration 20s",
        ),
        true => (
            "sim search --goal <GOAL> [OPTIONS] [SCENARIO.toml]",
            "memtide sim search --goal 'all.p95<10ms' --behaviour queue:1,exponential:1ms",
        ),
    };
    let page = Page { usage, example, exit_codes: &EXIT_CODES };
    let own = bounds().into_iter().chain([data()]).map(|arg| arg.help_heading("Search"));
    let own = own.chain(simulation().into_iter().filter(|_| is_simulated));
    let floor = floor("kept").help_heading("Search");
    let own = own.chain([floor].into_iter().filter(|_| !is_simulated));
    with_help(scenario_command("search", about, long).args(own), &page, length)
}

/// `memtide scan`, or `memtide sim scan`.
pub(super) fn scan_command(length: Length, is_simulated: bool) -> Command {
    let about = "Run a scenario at a series of rates";
    let long = "Run a scenario at a series of rates. Each step is a full run at one rate, with its \
         warm-up; the servers are filled once. memtide prints a row after each step. With goals, \
         the result is the highest rate that meets them.";

    let rates = option("rates", "RATES", "Rates: FROM..TO+STEP or a list, such as 10k..100k+10k")
        .required(true)
        .value_parser(|word: &str| word.parse::<Rates>())
        .long_help(
            "Operations per second: FROM..TO+STEP with both ends, such as 10k..100k+10k, or a list \
             such as 10k,20k,50k. With a STEP of 0 the scan repeats one rate until you interrupt \
             it: 10k..10k+0. A rate of 0 is a closed loop.",
        );
    let (usage, example) = match is_simulated {
        false => (
            "scan --rates <RATES> [OPTIONS] [SCENARIO.toml]",
            "memtide scan -s cache1:11211 --rates 10k..100k+10k --duration 20s",
        ),
        true => (
            "sim scan --rates <RATES> [OPTIONS] [SCENARIO.toml]",
            "memtide sim scan --rates 100..900+100 --behaviour queue:1,exponential:1ms",
        ),
    };
    let page = Page { usage, example, exit_codes: &EXIT_CODES };
    let own = [rates, data()].into_iter().map(|arg| arg.help_heading("Scan"));
    let own = own.chain(simulation().into_iter().filter(|_| is_simulated));
    let floor = floor("off").help_heading("Scan");
    let own = own.chain([floor].into_iter().filter(|_| !is_simulated));
    with_help(scenario_command("scan", about, long).args(own), &page, length)
}

fn bounds() -> [Arg; 4] {
    [
        rate("rate-min", "Lowest rate to test [default: 1% of the highest]"),
        rate("rate-max", "Highest rate to test [default: no limit]").long_help(
            "Without it, a closed loop measures the maximum throughput first. The search starts at \
             four fifths of that, and goes on above it as long as the goals are met.",
        ),
        option("resolution", "FRACTION", "Finest distance of tested rates, as a fraction")
            .value_parser(|word: &str| units::parse_fraction(word))
            .default_value("2%")
            .long_help(
                "The search halves the interval between the highest rate that met the goals and \
                 the lowest that missed them until it is at most this fraction wide. Steps that \
                 decide nothing leave it wider: longer ones (--duration) make it narrower.",
            ),
        option("steps-max", "COUNT", "End the search after this number of steps")
            .value_parser(value_parser!(u32).range(1..=10_000))
            .default_value("40")
            .long_help("The result is then the best one found so far."),
    ]
}

fn rate(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("RATE")
        .value_parser(|word: &str| units::parse_rate(word))
        .help(help)
}

fn data() -> Arg {
    option("data", "WORD", "Fill for the first step only, or for each")
        .value_parser(PossibleValuesParser::new(["kept", "anew"]))
        .default_value("kept")
        .long_help(
            "kept: only the first step checks what the servers hold, and fills them. anew: every \
             step does what --load says. Use anew if the mix deletes keys or items expire.",
        )
}
