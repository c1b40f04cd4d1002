//! The Debian package, packed by `dpkg-deb`: program, manual, completions and the unit of an agent.
//!
//! It has no maintainer scripts, so nothing is started, enabled or left behind.

use crate::commands::told;
use crate::files::{emptied, put, read};
use std::path::{Path, PathBuf};
use std::process::Command;

const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/memtide"),
    ("zsh", "usr/share/zsh/vendor-completions/_memtide"),
    ("fish", "usr/share/fish/vendor_completions.d/memtide.fish"),
];
const MANUAL: &str = "usr/share/man/man1/memtide.1";
const DOCUMENTS: &str = "usr/share/doc/memtide";

/// Packs `program` and its files; returns the path of the package in `folder`.
///
/// # Errors
/// If the program does not print its manual or completions, or a tool is missing or fails.
pub(super) fn write(root: &Path, folder: &Path, program: &Path) -> Result<PathBuf, String> {
    let tree = emptied(folder.join("debian"))?;
    let version = told(Command::new(program).arg("--version"))?;
    let version = version.split(' ').next_back().unwrap_or_default().to_owned();
    put(&tree.join("usr/bin/memtide"), &read(program)?)?;
    put(&tree.join(MANUAL), (told(Command::new(program).arg("man"))? + "\n").as_bytes())?;
    for (shell, path) in COMPLETIONS {
        let text = told(Command::new(program).args(["completions", shell]))? + "\n";
        put(&tree.join(path), text.as_bytes())?;
    }
    let documents = tree.join(DOCUMENTS);
    let licences = ["LICENSE-MIT", "LICENSE-APACHE"].map(|name| read(&root.join(name)));
    let [mit, apache] = licences;
    put(&documents.join("copyright"), &[mit?, b"\n".to_vec(), apache?].concat())?;
    put(&documents.join("changelog"), &read(&root.join("CHANGELOG.md"))?)?;
    let unit = read(&root.join("deploy/debian/memtide-agent.service"))?;
    put(&tree.join("usr/lib/systemd/system/memtide-agent.service"), &unit)?;
    for file in [tree.join(MANUAL), documents.join("changelog")] {
        told(Command::new("gzip").args(["--best", "--no-name"]).arg(file))?;
    }
    put(&tree.join("DEBIAN/control"), control(&version).as_bytes())?;
    // The umask of the packing user must not affect the installed files.
    told(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&tree))?;
    told(Command::new("chmod").arg("755").arg(tree.join("usr/bin/memtide")))?;
    let file = folder.join(format!("memtide_{version}_amd64.deb"));
    let words = ["--root-owner-group", "-Zxz", "--build"];
    told(Command::new("dpkg-deb").args(words).arg(&tree).arg(&file))?;
    Ok(file)
}

fn control(version: &str) -> String {
    format!(
        "Package: memtide\n\
         Version: {version}\n\
         Architecture: amd64\n\
         Maintainer: The memtide developers <memtide@localhost>\n\
         Section: net\n\
         Priority: optional\n\
         Description: load generator for memcached\n \
         memtide makes load for memcached, measures response times from the instant at\n \
         which each operation was due, and says how far its numbers can be believed.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::control;

    #[test]
    fn the_description_goes_on_in_lines_that_begin_with_a_space() {
        let control = control("1.2.3");
        assert!(control.contains("\nVersion: 1.2.3\n"), "{control}");
        let (_, description) = control.split_once("Description: ").unwrap();
        assert!(
            description
                .lines()
                .skip(1)
                .all(|line| line.starts_with(" m") || line.starts_with(" w"))
        );
        assert!(control.ends_with('\n'));
    }
}
