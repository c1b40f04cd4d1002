//! What searches and scans can be told beside the fields of their scenario.

use super::scenario_command;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, value_parser};
use memtide_base::units;
use memtide_run::steps::Rates;

const EXIT_CODES: &str = "Exit codes: 0 done, and with goals: met at some rate · 1 the goals are \
met at no rate that was tried, a value was wrong, a fill did not fit or an output could not be \
written · 2 usage · 3 a server cannot be reached or was lost · 4 what the answer rests on is not \
believable (with --strict) · 130 interrupted; what was found so far is still shown";

/// `memtide search`
pub(super) fn search_command() -> Command {
    let about = "Searches for the highest rate at which goals are met";
    let long = "Searches for the highest rate at which all goals are met, such as \
         --goal 'all.p95<10ms'. Each step is a whole run at one rate, with its warm-up; the data \
         are loaded once. A row is printed as each step ends, and the answer at the end.";

    scenario_command("search", about, long).after_help(EXIT_CODES).args(bounds()).arg(data())
}

/// `memtide scan`
pub(super) fn scan_command() -> Command {
    let about = "Runs a scenario at one rate after the other";
    let long = "Runs a scenario at one rate after the other. Each step is a whole run at one \
         rate, with its warm-up; the data are loaded once. A row is printed as each step ends. \
         With goals, the highest rate at which they were met is the answer.";

    let rates = Arg::new("rates")
        .long("rates")
        .value_name("RATES")
        .required(true)
        .value_parser(|word: &str| word.parse::<Rates>())
        .help("FROM..TO+STEP or a list, such as 10k..100k+10k or 10k,20k,50k")
        .long_help(
            "The rates, in operations per second: FROM..TO+STEP with both ends, such as \
             10k..100k+10k, or a list such as 10k,20k,50k. A STEP of 0 goes on for ever, a row \
             for each run: 10k..10k+0. A rate of 0 is a closed loop.",
        );
    scenario_command("scan", about, long).after_help(EXIT_CODES).arg(rates).arg(data())
}

fn bounds() -> [Arg; 4] {
    let rate = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("RATE")
            .value_parser(|word: &str| units::parse_rate(word))
            .help(help)
    };
    [
        rate("rate-min", "The lowest rate to try [default: a hundredth of the highest]"),
        rate("rate-max", "The highest rate to try; without it, a closed loop finds the peak first"),
        Arg::new("resolution")
            .long("resolution")
            .value_name("FRACTION")
            .value_parser(|word: &str| units::parse_fraction(word))
            .default_value("2%")
            .help("How close the answer is to a rate that is too much"),
        Arg::new("steps-max")
            .long("steps-max")
            .value_name("COUNT")
            .value_parser(value_parser!(u32).range(1..=10_000))
            .default_value("40")
            .help("After so many steps the search ends with what it found"),
    ]
}

fn data() -> Arg {
    Arg::new("data")
        .long("data")
        .value_name("WORD")
        .value_parser(PossibleValuesParser::new(["kept", "anew"]))
        .default_value("kept")
        .help("Whether later steps keep the data as they are, or look after them anew")
        .long_help(
            "kept: only the first step looks whether the servers hold the data, and fills them. \
             anew: every step does as --load says. For mixes that delete, or data that expire.",
        )
}
