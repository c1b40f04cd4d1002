//! A command line that a shell carries out, until it ends or a signal stops it. What it does, and
//! what its end means, is not known here.

use super::{StopFlag, terminal};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// How often the flag is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Lets a shell carry out `command`, whose output goes to stderr. Returns how it ended; none if
/// `stop` was raised before, which kills it.
///
/// # Errors
/// If the shell cannot be started, or not be killed.
pub fn carry_out(command: &str, stop: &StopFlag) -> io::Result<Option<ExitStatus>> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(io::stderr());
    // A group of its own is killed with all that the shell has started. In the foreground, the
    // terminal's signals reach all of it anyway, and only there it can ask for a password.
    let has_group = !terminal::is_foreground();
    if has_group {
        shell.process_group(0);
    }
    let mut child = shell.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if stop.is_raised() {
            match has_group {
                true => kill_process_group(Pid::from_child(&child), Signal::KILL)?,
                false => child.kill()?,
            }
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_hangs_ends_with_the_flag_and_another_tells_how_it_ended() {
        let stop = StopFlag::default();
        stop.raise();
        assert_eq!(carry_out("exec sleep 600", &stop).unwrap(), None);
        let ended = carry_out("exit 7", &StopFlag::default()).unwrap();
        assert_eq!(ended.and_then(|status| status.code()), Some(7));
    }
}
