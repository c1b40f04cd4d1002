//! The originals' fatal errors: a line of the log, and exit 255. Knows where in their sources each
//! stands, for the line says so.

use crate::Stop;
use crate::mutilate::numbers::LawFault;
use crate::mutilate::rows::Face;

/// The exit code of a fatal error, -1 in the originals.
const FATAL: u8 = 255;

/// What was found wrong.
#[derive(Clone, Copy, Debug)]
pub(super) enum Check {
    Depth,
    Qps,
    Update,
    Time,
    Connections,
    Server,
    /// What the originals do not look at; said from the line behind their last check.
    Further,
    Search,
    Scan,
}

/// Where in a program's source its checks stand.
pub(super) struct Source {
    file: &'static str,
    /// In the order of [`Check`].
    lines: [u16; 9],
    /// The line in Generator.cc that finds no distribution.
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

    /// A fatal error. It is said even with `--quiet`: a program that ends for an unsaid reason
    /// does not help.
    pub(super) fn fatal(&self, check: Check, message: &str) -> Stop {
        let line = self.lines[check as usize];
        Stop::complaint(format!("{}({line}): {message}", self.file), FATAL)
    }

    /// A word that is no distribution.
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

    /// A distribution of gaps that cannot be scaled to a rate. The sentence is the original's, word
    /// for word, and speaks of the original.
    pub(super) fn law_without_rate(&self) -> Stop {
        Stop::complaint("Generator.h(46): set_lambda() not implemented", FATAL)
    }
}
