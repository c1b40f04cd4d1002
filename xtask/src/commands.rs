//! Other programs: run on this terminal, or for what they print; and children that end with their
//! value.

use serde_json::Value;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The cargo that runs this program, in the folder `root`.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Builds these packages with optimisation; returns the folder of their programs.
///
/// # Errors
/// If cargo fails.
pub(crate) fn released(root: &Path, packages: &[&str]) -> Result<PathBuf, String> {
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    run(cargo(root).args(["build", "--release"]).args(packages))?;
    let metadata = metadata(root)?;
    let target = metadata["target_directory"].as_str().ok_or("cargo names no target directory")?;
    Ok(Path::new(target).join("release"))
}

/// The metadata of the workspace's own packages, without access to the network.
///
/// # Errors
/// If cargo cannot describe the workspace.
pub(crate) fn metadata(root: &Path) -> Result<Value, String> {
    json(cargo(root).args(["metadata", "--no-deps", "--format-version", "1"]))
}

/// Prints the command, and runs it on this terminal.
///
/// # Errors
/// If it cannot be started, or fails.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let words = written(command);
    eprintln!("xtask: {words}");
    let status = command.status().map_err(|error| format!("cannot start `{words}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{words}` failed: {status}")) }
}

/// Everything that a command prints, whether it succeeds or not.
///
/// # Errors
/// If it cannot be started.
pub(crate) fn output(command: &mut Command) -> Result<Output, String> {
    let words = written(command);
    let output = command.stdin(Stdio::null()).output();
    output.map_err(|error| format!("cannot start `{words}`: {error}"))
}

/// Everything that a command prints that must succeed.
///
/// # Errors
/// If it cannot be started, or fails.
pub(crate) fn succeeded(command: &mut Command) -> Result<Output, String> {
    let output = output(command)?;
    if output.status.success() {
        return Ok(output);
    }
    let (words, status) = (written(command), output.status);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    Err(format!("`{words}` failed with {status}: {err} {out}"))
}

/// The trimmed output of a command that must succeed.
///
/// # Errors
/// If it cannot be started, or fails.
pub(crate) fn told(command: &mut Command) -> Result<String, String> {
    succeeded(command).map(|output| text(&output.stdout))
}

/// The JSON that a command prints.
///
/// # Errors
/// If it cannot be started, fails, or prints something else.
pub(crate) fn json(command: &mut Command) -> Result<Value, String> {
    let output = succeeded(command)?;
    let failed = |error| format!("`{}` did not answer in JSON: {error}", written(command));
    serde_json::from_slice(&output.stdout).map_err(failed)
}

/// Printed bytes as trimmed text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// The command line of a command, for messages.
pub(crate) fn written(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// A child that is killed when this value is dropped, also if it is stopped. Only this value waits
/// for it, so its process id is not reused until then.
pub(crate) struct Kept(pub(crate) Child);

impl Kept {
    /// Starts a command.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn spawn(command: &mut Command) -> Result<Self, String> {
        let child = command.spawn();
        child.map(Self).map_err(|error| format!("cannot start `{}`: {error}", written(command)))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // It may be gone already, which needs no action.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
