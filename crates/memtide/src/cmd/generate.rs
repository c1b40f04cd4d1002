//! Shell completions and the manual page, generated from the command line's description.

use crate::flags;
use clap::ArgMatches;
use clap_complete::Shell;
use memtide_session::console::show;
use memtide_session::exit::{FAILED, Stop};

pub(crate) fn completions(matches: &ArgMatches) -> Result<u8, Stop> {
    let shell = *matches.get_one::<Shell>("shell").expect("the command line requires a shell");
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut flags::command(flags::Length::All), "memtide", &mut bytes);
    print(&bytes)
}

pub(crate) fn manual() -> Result<u8, Stop> {
    let mut command = flags::command(flags::Length::All);
    command.build();
    let mut bytes = Vec::new();
    // The program's page first, then one section after another for its commands.
    let commands = command.get_subcommands().filter(|command| command.get_name() != "help");
    let pages = std::iter::once(command.clone()).chain(commands.cloned());
    for page in pages {
        clap_mangen::Man::new(page).render(&mut bytes).map_err(failed)?;
    }
    print(&bytes)
}

fn print(bytes: &[u8]) -> Result<u8, Stop> {
    show(&String::from_utf8_lossy(bytes)).map_err(failed)?;
    Ok(0)
}

/// The failure of a command whose text cannot be written.
fn failed(error: std::io::Error) -> Stop {
    Stop { code: FAILED, message: format!("stdout cannot be written: {error}") }
}
