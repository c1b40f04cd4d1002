//! The help is short where it must be, complete where it can be, and never wider than a terminal.

use super::super::{OF_ONE_RUN, command};
use super::*;
use clap::error::ErrorKind;

/// The commands that take a scenario.
const COMMANDS: [&str; 5] = ["run", "load", "search", "scan", "sim"];

/// The output of `words`, without the codes that make headings bold.
fn printed(words: &str) -> String {
    let words: Vec<OsString> = format!("memtide {words}").split(' ').map(Into::into).collect();
    let error = command(Length::of(words.clone())).try_get_matches_from(words).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{error}");
    error.to_string()
}

#[test]
fn help_fits_a_screen_and_long_help_three_minutes() {
    for (flag, most) in [("-h", 50), ("--help", 120)] {
        for command in COMMANDS.into_iter().chain(["merge", "compare", "serve", "install-faces"]) {
            let text = printed(&format!("{command} {flag}"));
            let lines = text.lines().count();
            assert!(lines <= most, "{command} {flag} has {lines} lines:\n{text}");
        }
    }
}

#[test]
fn no_line_is_wider_than_80_columns() {
    for command in COMMANDS {
        for flag in ["-h", "--help", "--help-all"] {
            let text = printed(&format!("{command} {flag}"));
            let wide = text.lines().find(|line| line.chars().count() > 80);
            assert_eq!(wide, None, "{command} {flag}");
        }
    }
}

#[test]
fn every_flag_is_in_the_long_help_and_described_in_the_full_one() {
    for command in COMMANDS {
        let (long, all) =
            (printed(&format!("{command} --help")), printed(&format!("{command} --help-all")));
        let summary = printed(&format!("{command} -h"));
        let is_single = !matches!(command, "search" | "scan");
        for field in FIELDS.iter().filter(|it| is_single || !OF_ONE_RUN.contains(&it.name)) {
            let name = format!("--{}", field.name);
            let has = |text: &str| text.split([' ', '\n']).any(|word| word == name);
            assert!(has(&long), "{command} --help has no {name}");
            assert!(has(&all), "{command} --help-all has no {name}");
            assert!(all.contains(&format!("\n          {}\n", field.help)), "{name}: {all}");
            assert_eq!(has(&summary), field.is_common(), "{command} -h, {name}");
        }
    }
}

#[test]
fn the_full_help_begins_with_the_names_of_its_groups() {
    for command in COMMANDS {
        let all = printed(&format!("{command} --help-all"));
        let list = all.split("Groups of flags").nth(1).and_then(|rest| rest.split("\n\n").next());
        let list = list.unwrap().lines().skip(1).collect::<Vec<_>>().join(" ");
        for title in list.split(", ").map(str::trim) {
            assert_eq!(all.matches(&format!("\n{title}:\n")).count(), 1, "{command}: {title}");
        }
        for section in Section::ALL {
            assert!(list.contains(section.title()), "{command}: {list}");
        }
    }
}

/// `search --help` named the format of a run.
#[test]
fn each_help_names_the_format_that_its_command_writes() {
    for (command, format) in [
        ("run", "memtide.record/2"),
        ("run", "memtide.repeats/1"),
        ("sim", "memtide.record/2"),
        ("search", "memtide.steps/1"),
        ("scan", "memtide.steps/1"),
        ("ab", "memtide.ab/1"),
    ] {
        let text = printed(&format!("{command} --help"));
        assert!(text.contains(format), "{command} --help has no {format}:\n{text}");
    }
}

/// A help that sends its reader to a document sends to one that is there.
#[test]
fn the_documents_that_a_help_names_are_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for command in COMMANDS.into_iter().chain(["ab", "merge", "compare", "report", "doctor"]) {
        let takes_scenario = COMMANDS.contains(&command) || command == "ab";
        let flag = if takes_scenario { "--help-all" } else { "--help" };
        let text = printed(&format!("{command} {flag}"));
        let words =
            text.split(|letter: char| !(letter.is_alphanumeric() || "/.-_".contains(letter)));
        for name in words.filter(|word| word.starts_with("docs/")) {
            let name = name.trim_end_matches('.');
            assert!(root.join(name).exists(), "{command} --help names {name}");
            count += 1;
        }
    }
    assert!(count > 0, "no help names a document");
}

#[test]
fn the_help_command_is_the_long_help() {
    assert_eq!(printed("help run"), printed("run --help"));
}

#[test]
fn the_example_of_each_command_is_one() {
    for command in COMMANDS {
        let text = printed(&format!("{command} -h"));
        let example = text.split("Example:\n").nth(1).and_then(|text| text.lines().next()).unwrap();
        let words: Vec<String> =
            example.split_whitespace().map(|word| word.replace('\'', "")).collect();
        super::super::command(Length::Summary).try_get_matches_from(words).unwrap();
    }
}

/// Commands are made alone to save memory, and say what they say among the others.
#[test]
fn a_command_that_is_made_alone_says_the_same() {
    for (name, _) in super::super::OF_SCENARIOS {
        for line in ["-h", "--help", "--help-all", "--no-such-flag", "--ratte 5", "--rate"] {
            let line = format!("memtide {name} {line}");
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let whole = command(Length::of(words.clone()));
            let alone = super::super::command_for(&words);
            let [whole, alone] = [whole, alone]
                .map(|command| command.try_get_matches_from(&words).unwrap_err().to_string());
            assert_eq!(alone, whole, "{line}");
        }
    }
}
