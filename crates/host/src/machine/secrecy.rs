//! Keeps the memory of a process that holds a secret from its user's other programs and from the
//! disk. It cannot keep it from root.

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Makes the kernel write no core dump of this process, neither to a file nor to a program that
/// collects them, and lets no other process of this user read its memory. Child processes inherit
/// only the limit of core dumps. Call it before the secret is read.
///
/// Cause: A sandbox forbids the system calls that keep a process's memory from others.
///
/// # Errors
/// A sentence that names the operation that the system refused.
pub fn hide_process() -> Result<(), String> {
    let refused = |action| {
        move |errno: Errno| {
            format!(
                "core dumps, which would hold a secret, cannot be turned off ({action} failed \
                 with system error {}); run memtide without the sandbox that forbids it",
                errno.raw_os_error()
            )
        }
    };
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none).map_err(refused("setrlimit"))?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(refused("prctl"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::dumpable_behavior;
    use std::fs;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, abort};

    const CHILD: &str = "MEMTIDE_TEST_HIDDEN_CHILD";
    const NAME: &str = "machine::secrecy::tests::a_hidden_process_leaves_no_core_dump";

    /// The test runs itself as a child: hidden, the child prints what the kernel reports about it
    /// and dies of a signal that would dump its core.
    #[test]
    #[allow(clippy::print_stdout)]
    fn a_hidden_process_leaves_no_core_dump() {
        if std::env::var_os(CHILD).is_some() {
            hide_process().expect("core dumps can be turned off");
            assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
            println!("{}", fs::read_to_string("/proc/self/limits").expect("it can be read"));
            abort();
        }
        let itself = std::env::current_exe().expect("this test is a program");
        let child = Command::new(itself)
            .args(["--exact", NAME, "--nocapture"])
            .env(CHILD, "1")
            .output()
            .expect("it can be started");
        let said = String::from_utf8_lossy(&child.stdout);
        let limit = said.lines().find(|line| line.starts_with("Max core file size"));
        let words: Vec<&str> = limit.expect("the limits").split_whitespace().collect();
        assert_eq!(words, ["Max", "core", "file", "size", "0", "0", "bytes"], "{said}");
        assert_eq!(child.status.signal(), Some(libc::SIGABRT), "{said}");
        assert!(!child.status.core_dumped(), "{said}");
    }
}
