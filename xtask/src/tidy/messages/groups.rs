//! The program's messages by subject, which are sections of docs/messages.md: which sources and
//! enums word them. `page.md` has the words of the sections.

/// Messages that are listed together.
pub(super) struct Group {
    /// The heading of its section.
    pub(super) title: &'static str,
    /// Beginnings of the paths of its files.
    pub(super) files: &'static [&'static str],
    /// Types whose messages are its own, in the order of the page.
    pub(super) enums: &'static [&'static str],
    /// True if it has only the messages of its enums.
    pub(super) enums_alone: bool,
    /// The least number of words of a text: labels are single words.
    pub(super) words_min: usize,
    /// True if each message has its cause on the page; otherwise the section says it.
    pub(super) has_causes: bool,
}

/// What most groups are.
const GROUP: Group =
    Group { title: "", files: &[], enums: &[], enums_alone: false, words_min: 3, has_causes: true };

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

pub(super) const GROUPS: [Group; 8] = [
    Group {
        title: "Checks",
        files: &[
            "crates/run/src/doctor",
            "crates/run/src/survey",
            "crates/record/src/agreement",
            "crates/merge/src/judgement",
        ],
        words_min: 2,
        ..GROUP
    },
    Group {
        title: "Errors: scenario",
        files: &["crates/scenario/src/scenario/check", "crates/scenario/src/scenario/churn"],
        ..GROUP
    },
    Group {
        title: "Errors: values",
        files: &[
            "crates/scenario/src/scenario",
            "crates/scenario/src/field",
            "crates/scenario/src/file",
            "crates/base/src/",
            "crates/workload/src/",
            "crates/server/src/behaviour",
            "crates/server/src/fault",
            "crates/server/src/word",
        ],
        has_causes: false,
        ..GROUP
    },
    Group {
        title: "Errors: connections and servers",
        files: &["crates/world/src/", "crates/codec/src/"],
        enums: &["ConnectError", "Closed", "PeerError", "Stranger", "Malformed", "AskError"],
        enums_alone: true,
        ..GROUP
    },
    Group {
        title: "Errors: run",
        files: &["crates/run/src/", "crates/world/src/", "crates/host/src/", "crates/codec/src/"],
        enums: &["Fault", "FillFault", "NoRoom", "FleetError"],
        ..GROUP
    },
    Group {
        title: "Errors: program, files and merging",
        files: &[
            "crates/memtide/src/",
            "crates/session/src/",
            "crates/merge/src/",
            "crates/sinks/src/",
        ],
        ..GROUP
    },
    Group {
        title: "Errors: agents and masters",
        files: &["crates/cluster/src/"],
        has_causes: false,
        ..GROUP
    },
    Group { title: "Errors: plans", files: &["crates/run/src/lower"], ..GROUP },
];
