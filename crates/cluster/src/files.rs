//! The files of a master and of its agents, as `memtide key new` writes them, and the records that
//! agents keep.
//!
//! They are written for their owner only. Keys are refused if users other than the owner, root and
//! the groups of this process may read them.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this part reaches the world"
)]

mod kept;
mod private;

pub(crate) use kept::COUNT_MAX;
pub use kept::Kept;

use crate::identity::Identity;
use crate::join::{Join, Token, checked_address};
use crate::law::LawWords;
use ring::rand::SystemRandom;
use rustix::fs::OFlags;
use std::fs::Metadata;
use std::path::Path;

const IDENTITY: &str = "master.pem";
const JOIN: &str = "agent.join";
const BIND: &str = "bind";
/// The longest file accepted.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// The contents of a master's folder.
#[derive(Debug)]
pub struct Keys {
    /// The master's key and certificate.
    pub identity: Identity,
    /// The agents' join file, which holds the token.
    pub join: Join,
    /// The address at which the master waits for agents: `host:port`.
    pub bind: String,
}

/// Makes a master's folder: its key, its agents' join file, and the address at which it waits for
/// them. `bind` defaults to `address`, which agents dial.
///
/// # Errors
/// If an address is not `host:port`, if a key exists already, or if the folder cannot be written.
pub fn make_folder(
    dir: &Path,
    address: &str,
    bind: Option<&str>,
    limits: LawWords,
) -> Result<Join, String> {
    let bind = checked_address(bind.unwrap_or(address))?;
    checked_address(address)?;
    let random = SystemRandom::new();
    let identity = Identity::make("memtide master", &random)?;
    let token = Token::make(&random)?;
    let master = identity.fingerprint();
    let join = Join { master, token, address: address.to_owned(), limits };
    private::folder(dir, private::RIGHTS_OF_OTHERS)?;
    write(&dir.join(IDENTITY), identity.text())?;
    write(&dir.join(JOIN), &join.text())?;
    write(&dir.join(BIND), &format!("{bind}\n"))?;
    Ok(join)
}

/// Makes a folder in which other users can change nothing; if it exists, checks that it is one. A
/// link is refused unless its own owner is this user or root, because a folder above may be open to
/// all users.
///
/// # Errors
/// If the folder cannot be made, belongs to another user, or can be changed by others.
pub fn own_folder(path: &Path) -> Result<(), String> {
    private::folder(path, private::WRITING_BY_OTHERS)
}

/// Reads a master's folder.
///
/// # Errors
/// If a file is missing, damaged or readable by others, or if the join file belongs to another key.
pub fn read_identity(dir: &Path) -> Result<Keys, String> {
    let path = dir.join(IDENTITY);
    let identity = Identity::parse(&read_secret(&path)?)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let path = dir.join(JOIN);
    let join = read_join(&path)?;
    if join.master != identity.fingerprint() {
        return Err(format!(
            "{}: it belongs to another master than {IDENTITY} beside it; memtide key new makes \
             matching files",
            path.display()
        ));
    }
    let path = dir.join(BIND);
    let bind = read_if(&path, |_| Ok(()))?;
    let bind = checked_address(bind.trim_end())
        .map_err(|error| format!("{}: {error}", path.display()))?
        .to_owned();
    Ok(Keys { identity, join, bind })
}

/// Reads an agent's join file.
///
/// # Errors
/// If it is missing, damaged, or readable by others. A group of this process may read it.
pub fn read_join(path: &Path) -> Result<Join, String> {
    Join::parse(&read_secret(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

/// Makes an empty file for a result, which only its owner may read. A link is not followed.
///
/// # Errors
/// If it exists already, or cannot be written.
pub fn new_result(path: &Path) -> Result<(), String> {
    private::write(path, &[]).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a new join file that only its owner may read.
///
/// # Errors
/// If it exists already, or cannot be written.
pub fn write_join(path: &Path, join: &Join) -> Result<(), String> {
    write(path, &join.text())
}

/// Reads a file whose owner and mode are those of a secret.
fn read_secret(path: &Path) -> Result<String, String> {
    let groups = private::groups();
    read_if(path, |metadata| private::secret(path, metadata, &groups))
}

/// Reads a short text that `allows` accepts.
fn read_if(
    path: &Path,
    allows: impl FnOnce(&Metadata) -> Result<(), String>,
) -> Result<String, String> {
    let wrong =
        |what| format!("{}: it is {what}: memtide key new did not write it", path.display());
    let bytes = private::read(path, FILE_BYTES_MAX, OFlags::empty(), allows)?;
    let bytes = bytes.ok_or_else(|| wrong("longer than 64 KiB"))?;
    String::from_utf8(bytes).map_err(|_| wrong("not text"))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    private::write(path, text.as_bytes()).map_err(|error| {
        let path = path.display();
        format!("cannot write {path}: {error}; name a new folder, or remove the old files")
    })
}

#[cfg(test)]
mod tests;
