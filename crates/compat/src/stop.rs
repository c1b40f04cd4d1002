//! How a face ends before any load is made. Writes to no stream itself.

/// What a program prints, and how it exits, when its command line already settles everything:
/// help, a version, a wrong word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// For stdout, whole lines.
    pub stdout: String,
    /// For stderr, whole lines.
    pub stderr: String,
    /// The exit code that the original gives.
    pub code: u8,
}

impl Stop {
    /// Text that was asked for: stdout, exit 0.
    pub(crate) fn asked(stdout: String) -> Self {
        Self { stdout, stderr: String::new(), code: 0 }
    }

    /// A complaint: one line on stderr.
    pub(crate) fn complaint(line: impl AsRef<str>, code: u8) -> Self {
        Self { stdout: String::new(), stderr: format!("{}\n", line.as_ref()), code }
    }
}
