//! The end of a face before any load is made. Writes to no stream itself.

/// The output and exit code of a program whose command line already settles everything: help, a
/// version, an error.
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
    /// Requested text: on stdout, with exit code 0.
    pub(crate) fn asked(stdout: String) -> Self {
        Self { stdout, stderr: String::new(), code: 0 }
    }

    /// An error: one line on stderr.
    pub fn complaint(line: impl AsRef<str>, code: u8) -> Self {
        Self { stdout: String::new(), stderr: format!("{}\n", line.as_ref()), code }
    }
}
