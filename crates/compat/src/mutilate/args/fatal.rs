//! The originals' fatal errors: a line of the log, and exit code 255. Knows the source line of
//! each, because the log names it.

use crate::Stop;
use crate::mutilate::numbers::LawFault;
use crate::mutilate::rows::Face;

/// The exit code of a fatal error, -1 in the originals.
const FATAL: u8 = 255;

/// The check that failed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Check {
    Depth,
    Qps,
    Update,
    Time,
    Connections,
    Server,
    /// A check that the originals lack; reported from the line behind their last check.
    Further,
    Search,
    Scan,
}

/// The source lines of a program's checks.
pub(super) struct Source {
    file: &'static str,
    /// The lines in the order of [`Check`].
    lines: [u16; 9],
    /// The line in Generator.cc that reports an unknown distribution.
    unknown_law: u16,
}

const MUTILATE: Source = Source {
    file: "mutilate.cc",
    lines: [423, 426, 428, 429, 433, 437, 438, 484, 553],
    unknown_law: 75,
};
const MCPERF: Source = Source {
    file: "mcperf.cc",
    lines: [658, 659, 661, 662, 664, 666, 667, 771, 849],
    unknown_law: 82,
};
const MCPERF_DYNAMIC: Source = Source {
    file: "mcperf.cc",
    lines: [886, 887, 889, 890, 892, 894, 895, 1001, 1081],
    unknown_law: 82,
};

impl Source {
    pub(super) fn of(face: Face) -> &'static Self {
        match face {
            Face::Mutilate => &MUTILATE,
            Face::Mcperf => &MCPERF,
            Face::McperfDynamic => &MCPERF_DYNAMIC,
        }
    }

    /// A fatal error. It is printed even with `--quiet`, because a program that ends without a
    /// reason does not help.
    pub(super) fn fatal(&self, check: Check, message: &str) -> Stop {
        let line = self.lines[check as usize];
        Stop::complaint(format!("{}({line}): {message}", self.file), FATAL)
    }

    /// The error for a word that is not a distribution.
    pub(super) fn law(&self, fault: LawFault, word: &str) -> Stop {
        let message = match fault {
            LawFault::Empty => {
                format!("Generator.cc(53): strtok(.., \":\") failed to parse {word}")
            }
            LawFault::Unknown => {
                let line = self.unknown_law;
                format!("Generator.cc({line}): Unable to create Generator '{word}'")
            }
        };
        Stop::complaint(message, FATAL)
    }

    /// The error for a distribution of gaps that cannot be scaled to a rate. The sentence is the
    /// original's, word for word, and refers to the original.
    pub(super) fn law_without_rate(&self) -> Stop {
        // No stub: scripts see this text from the original.
        Stop::complaint("Generator.h(46): set_lambda() not implemented", FATAL)
    }
}
