//! The fields of the machine that makes the load.
//!
//! Rows of the table only.

use super::parse::{auto_word, count, or_auto, parsed};
use super::{AgentRule, Field, Section, member};
use crate::scenario::parse_switch;

const MACHINE: Field = Field::of(Section::Machine, AgentRule::Allowed);

/// The fields of the section.
pub(super) const FIELDS: &[Field] = &[
    Field {
        name: "threads",
        value: Some("N"),
        default: "half the CPUs; 1 to 4 for a local server, 1 to 8 for a remote one",
        help: "Worker threads; each has its own connections",
        long: "From 1 to 1024. The default is half the CPUs that this process may use (by its CPU \
               mask and its cgroup quota): at most 4 for a server on this machine, at most 8 for a \
               remote one. The operations are the same for any number of workers.",
        member: member!(scenario.threads, some count),
        ..MACHINE
    },
    Field {
        name: "pin",
        default: "automatic: if a server or a narrowed CPU mask leaves enough CPUs",
        help: "Pin each worker to its own CPU",
        long: "Pins workers in any case. By default, memtide pins them in two cases: with the \
               embedded server, if there is a CPU for it and one for each worker (all are pinned \
               then); and with a named server, if the CPU mask of the process was narrowed (as \
               with `taskset`) and holds a CPU for each worker. If servers on this machine are \
               limited to some CPUs and leave one for each worker, workers keep to those.",
        member: member!(scenario.pin, parse_switch),
        ..MACHINE
    },
    Field {
        name: "wait",
        value: Some("HOW"),
        default: "hybrid if no CPU is taken from the server, else sleep",
        help: "How a worker waits until the next operation is due",
        long: "`sleep`: in the kernel, which wakes some tens of microseconds late. `hybrid`: sleep \
               until shortly before, then spin. `spin`: always spin; needs a CPU per worker. The \
               default is `hybrid` if the server on this machine and each worker have their own \
               CPU, and for a remote server if there are more than 2 CPUs and no quota; otherwise \
               `sleep`.",
        member: member!(scenario.wait, some parsed),
        ..MACHINE
    },
    Field {
        name: "io",
        value: Some("INTERFACE"),
        default: "auto",
        help: "Kernel interface for network I/O: uring, epoll or auto",
        long: "`uring`: io_uring, with many sends and receives per system call; needs Linux 6.1 \
               and is forbidden in many containers. `epoll`: one system call per send and receive. \
               `auto`: uring if available, else epoll; the report shows which and why.",
        member: member!(scenario.io, or_auto, auto_word),
        ..MACHINE
    },
];
