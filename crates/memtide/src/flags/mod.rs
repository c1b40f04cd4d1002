//! The command line, made from the schema's table of fields: the flags, their help, and what they
//! say as a layer.

use crate::exit::Stop;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use memtide_base::units;
use memtide_schema::{FIELDS, Field, Layer, Origin, Scenario, from_toml};
use std::net::IpAddr;

/// The whole command line.
pub(crate) fn command() -> Command {
    Command::new("memtide")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Loads and measures memcached, and says how far the numbers can be believed")
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(scenario_command(
            "run",
            "Makes load and reports what came of it",
            "Makes load and reports what came of it. Without a server it brings its own: a first \
             run needs no configuration.",
        ))
        .subcommand(scenario_command(
            "load",
            "Only fills the servers with the scenario's keys",
            "Only fills the servers with the scenario's keys, whatever they hold. It takes the \
             same fields as run; --load is always here.",
        ))
        .subcommand(serve_command())
        .subcommand(
            Command::new("completions").about("Prints shell completions").arg(
                Arg::new("shell")
                    .required(true)
                    .value_name("SHELL")
                    .value_parser(value_parser!(clap_complete::Shell))
                    .help("Which shell"),
            ),
        )
        .subcommand(Command::new("man").about("Prints the manual page"))
}

const EXIT_CODES: &str = "Exit codes: 0 done and goals met · 1 a goal was missed, a fill did not \
fit or an output could not be written · 2 usage · 3 a server cannot be reached or was lost · 4 \
not believable (with --strict) · 130 interrupted (the partial result is still shown)";

fn scenario_command(name: &'static str, about: &'static str, long: &'static str) -> Command {
    let file = Arg::new(SCENARIO_FILE)
        .value_name("SCENARIO.toml")
        .help("A file with fields as keys; the environment and flags beat it");
    FIELDS.iter().fold(
        Command::new(name).about(about).long_about(long).after_help(EXIT_CODES).arg(file),
        |command, field| command.arg(flag(field)),
    )
}

const SCENARIO_FILE: &str = "scenario-file";

fn flag(field: &'static Field) -> Arg {
    let mut arg = Arg::new(field.name)
        .long(field.name)
        .help(help(field))
        .long_help(format!("{}\n\n[default: {}]", field.long, field.default))
        .help_heading(field.section.title());
    if let Some(short) = field.short {
        arg = arg.short(short);
    }
    match field.value {
        None => arg.action(ArgAction::SetTrue),
        Some(value) => {
            let action = if field.many { ArgAction::Append } else { ArgAction::Set };
            arg.action(action).value_name(value).allow_hyphen_values(true)
        }
    }
}

fn help(field: &Field) -> String {
    match field.value {
        None => field.help.to_owned(),
        Some(_) => format!("{} [default: {}]", field.help, field.default),
    }
}

/// The scenario that file, environment and flags together describe, and what is not wrong with
/// single fields of it.
pub(crate) fn scenario(matches: &ArgMatches) -> Result<Scenario, Stop> {
    let mut scenario = Scenario::default();
    if let Some(path) = matches.get_one::<String>(SCENARIO_FILE) {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Stop::usage(format!("scenario file '{path}' cannot be read: {error}"))
        })?;
        scenario.apply(&from_toml(&text, path)?)?;
    }
    scenario.apply(&Layer::from_environment(std::env::vars())?)?;
    scenario.apply(&flag_layer(matches))?;
    Ok(scenario)
}

fn flag_layer(matches: &ArgMatches) -> Layer {
    let mut layer = Layer::new();
    for field in FIELDS {
        if matches.value_source(field.name) != Some(clap::parser::ValueSource::CommandLine) {
            continue;
        }
        let words = match field.value {
            None => vec!["true".to_owned()],
            Some(_) => {
                let words = matches.get_many::<String>(field.name);
                words.into_iter().flatten().cloned().collect()
            }
        };
        layer.push(field, words, Origin::Flag);
    }
    layer
}

fn serve_command() -> Command {
    let number = value_parser!(u16);
    Command::new("serve")
        .about("Runs the embedded server by itself, until it is interrupted")
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("ADDRESS")
                .value_parser(value_parser!(IpAddr))
                .default_value("127.0.0.1")
                .help("The address to listen on; anyone who reaches it can use the server"),
        )
        .arg(
            Arg::new("port")
                .short('p')
                .long("port")
                .value_name("PORT")
                .value_parser(number)
                .default_value("11211")
                .help("The port to listen on; 0 takes a free one"),
        )
        .arg(
            Arg::new("threads")
                .long("threads")
                .value_name("COUNT")
                .value_parser(value_parser!(u16).range(1..=1024))
                .default_value("1")
                .help("How many threads serve"),
        )
        .arg(
            Arg::new("memory")
                .long("memory")
                .value_name("SIZE")
                .value_parser(|word: &str| units::parse_size(word))
                .default_value("64MiB")
                .help("Memory for items; beyond it the least recently used are evicted"),
        )
        .arg(
            Arg::new("item-max")
                .long("item-max")
                .value_name("SIZE")
                .value_parser(|word: &str| units::parse_size(word))
                .default_value("1MiB")
                .help("The largest item that is stored"),
        )
}
