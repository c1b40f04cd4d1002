//! The names that most of these tests use; each file imports the others itself.

pub(crate) use crate::child::{
    Finished, Running, assert_counters_equal, check, fresh, memtide, memtide_with, program,
    program_in, read_record, record_at, run_in, scratch, section, shared, start_after, until,
};
pub(crate) use crate::peer::{Peer, free_port};
pub(crate) use memtide_record::{CheckKind, CheckResult, EndedBy, GoalResult, Record, Verdict};
pub(crate) use memtide_scenario::Kind;
pub(crate) use rustix::process::Signal;
pub(crate) use serde_json::Value;
pub(crate) use std::collections::BTreeMap;
pub(crate) use std::fs::{self, File};
pub(crate) use std::io::{BufRead, BufReader, Read, Write};
pub(crate) use std::os::unix::process::CommandExt;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::{Command, Stdio};
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::sync::{Arc, Mutex};
pub(crate) use std::thread;
pub(crate) use std::time::{Duration, Instant};
