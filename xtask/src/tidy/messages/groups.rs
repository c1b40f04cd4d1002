//! The program's texts by subject: which sources and enums word them, and which of these subjects
//! are sections of docs/messages.md.

/// Texts that are listed together.
pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) introduction: &'static str,
    /// Beginnings of the paths of its files.
    pub(super) files: &'static [&'static str],
    /// Types whose messages are its own, in the order of the page.
    pub(super) enums: &'static [&'static str],
    /// True if it has only the messages of its enums.
    pub(super) enums_alone: bool,
    /// The least number of words of a text: labels are single words.
    pub(super) words_min: usize,
    pub(super) columns: Columns,
}

/// What the page says of each message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    /// Cause, message and remedy.
    Cause,
    /// Message, and its remedy if it names one; the section says the cause.
    Remedy,
    /// Nothing: labels and help are no section of the page.
    None,
}

/// The group of the enum of this name.
pub(super) fn of_enum(name: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.enums.contains(&name))
}

/// The text in front of the messages of the enum of this name.
pub(super) fn subject(name: &str) -> Option<&'static str> {
    match name {
        "ConnectError" | "Closed" | "PeerError" | "Malformed" | "AskError" => Some("{server}"),
        "Stranger" => Some("{server} answered with"),
        _ => None,
    }
}

pub(super) const GROUPS: [Group; 10] = [
    Group {
        title: "Checks",
        introduction: "The checks behind the last line of a report. If one of them fails, the \
                       result is not believable, and the line contains its message. `own_cpus` \
                       fails with the message of the warning `shared_cpu`. \
                       [measurement.md](measurement.md#the-verdict) has the formulas.",
        files: &[
            "crates/run/src/doctor",
            "crates/run/src/survey",
            "crates/schema/src/merge/judgement",
        ],
        enums: &[],
        enums_alone: false,
        words_min: 2,
        columns: Columns::Cause,
    },
    Group {
        title: "Errors: scenario",
        introduction: "Fields that contradict each other, have no effect or are out of range (exit \
                       code 2). Fields stand without their two dashes, as in a scenario file.",
        files: &["crates/schema/src/scenario/check", "crates/schema/src/scenario/churn"],
        enums: &[],
        enums_alone: false,
        words_min: 3,
        columns: Columns::Cause,
    },
    Group {
        title: "Errors: values",
        introduction: "The value of a field does not have a form that the field accepts (exit code \
                       2). Give a value of a form that the message names; \
                       [scenario.md](scenario.md) describes each field.",
        files: &[
            "crates/schema/src/scenario",
            "crates/schema/src/field",
            "crates/schema/src/file",
            "crates/base/src/",
            "crates/workload/src/",
            "crates/server/src/behaviour",
            "crates/server/src/fault",
            "crates/server/src/word",
        ],
        enums: &[],
        enums_alone: false,
        words_min: 3,
        columns: Columns::Remedy,
    },
    Group {
        title: "Errors: connections and servers",
        introduction: "What a server did, or the network on the way to it. Most of these are \
                       part of a message of the next section.",
        files: &["crates/engine/src/", "crates/codec/src/"],
        enums: &["ConnectError", "Closed", "PeerError", "Stranger", "Malformed", "AskError"],
        enums_alone: true,
        words_min: 3,
        columns: Columns::Cause,
    },
    Group {
        title: "Errors: run",
        introduction: "A run that cannot start or go on. The exit code is 3 unless the server has \
                       too little memory (1) or must not be filled (2).",
        files: &["crates/run/src/", "crates/engine/src/", "crates/host/src/", "crates/codec/src/"],
        enums: &["Fault", "FillFault", "NoRoom", "FleetError"],
        enums_alone: false,
        words_min: 3,
        columns: Columns::Cause,
    },
    Group {
        title: "Errors: program, files and merging",
        introduction: "The command line, outputs, and records that cannot be merged.",
        files: &["crates/memtide/src/", "crates/schema/src/merge", "crates/sinks/src/"],
        enums: &[],
        enums_alone: false,
        words_min: 3,
        columns: Columns::Cause,
    },
    Group {
        title: "Errors: agents and masters",
        introduction: "What a master says of an agent, and an agent of its master: keys, join \
                       files, limits of an agent, and connections between them (exit code 2 \
                       before the run, 3 in it). The sentences begin with \"it\" where the \
                       master or agent is named in front of them.",
        files: &["crates/cluster/src/"],
        enums: &[],
        enums_alone: false,
        words_min: 3,
        columns: Columns::Remedy,
    },
    Group {
        title: "Errors: plans",
        introduction: "Scenarios that cannot run on this machine (exit code 2).",
        files: &["crates/run/src/lower"],
        enums: &[],
        enums_alone: false,
        words_min: 3,
        columns: Columns::Cause,
    },
    Group {
        title: "Report",
        introduction: "Labels and sentences of the report, of searches and scans, of progress and \
                       of charts.",
        files: &["crates/report/src/", "crates/schema/src/judge"],
        enums: &[],
        enums_alone: false,
        words_min: 1,
        columns: Columns::None,
    },
    Group {
        title: "Help of the program's own flags",
        introduction: "Commands, and flags that are not fields of a scenario.",
        files: &["crates/memtide/src/flags"],
        enums: &[],
        enums_alone: false,
        words_min: 3,
        columns: Columns::None,
    },
];
