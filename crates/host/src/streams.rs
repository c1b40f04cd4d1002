//! Writing to the program's stdout. Rust's own stdout takes a descriptor that cannot be written for
//! success, so a result would be lost in silence.

use rustix::io::{Errno, write};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;

/// Writes all of `bytes` to stdout.
///
/// # Errors
/// Those of the system, also that stdout cannot be written at all.
pub fn write_stdout(mut bytes: &[u8]) -> io::Result<()> {
    let out = io::stdout().lock();
    while !bytes.is_empty() {
        match write(out.as_fd(), bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
