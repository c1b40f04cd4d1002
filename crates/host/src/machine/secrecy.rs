//! Keeps the memory of a process that holds a secret from its user's other programs and from the
//! disk. It cannot keep it from root.

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Makes the kernel write no core dump of this process, neither to a file nor to a program that
/// collects them, and lets no other process of this user read its memory. Child processes inherit
/// only the limit of core dumps. Call it before the secret is read.
///
/// # Errors
/// A sentence that names the operation that the system refused.
pub fn hide_process() -> Result<(), String> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none).map_err(|errno| refused("setrlimit", errno))?;
    let set = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    set.map_err(|errno| refused("prctl", errno))
}

fn refused(action: &str, errno: Errno) -> String {
    format!(
        "core dumps, which would hold a secret, cannot be turned off ({action} failed with system \
         error {}); run memtide without the sandbox that forbids it",
        errno.raw_os_error()
    )
}

#[cfg(test)]
mod tests;
