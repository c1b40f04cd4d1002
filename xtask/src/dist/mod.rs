//! `cargo xtask dist`: a static program, a container image and a Debian package in `target/dist`.
//!
//! Every product is tested before it counts as made: as an unprivileged user in a root that holds
//! nothing else. It publishes nothing.

pub(crate) mod image;
mod proof;

use crate::commands::{cargo, run as execute, told};
use crate::files::at;
use crate::setup;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// musl resolves names by `/etc/hosts` and DNS without any file of the machine's own C library.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-musl";
/// The largest image, in bytes.
const IMAGE_BYTES_MAX: u64 = 15_000_000;

/// The products beside the program.
pub(crate) struct Options {
    /// The container image.
    pub(crate) image: bool,
    /// The Debian package.
    pub(crate) deb: bool,
}

/// Makes the static program and the requested products, tests each, and prints the sizes.
///
/// # Errors
/// If a tool is missing or fails, the image is too large, or a product does not work.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    setup::install_missing(setup::STATIC)?;
    add_target(root)?;
    let built = "build --locked --package memtide --profile static";
    execute(cargo(root).args(built.split(' ')).args(["--target", TARGET]))?;
    let folder = root.join("target/dist");
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let program = folder.join("memtide");
    let built = root.join("target").join(TARGET).join("static/memtide");
    fs::copy(&built, &program).map_err(at(&built))?;
    show(&program)?;
    proof::program(&folder, &program)?;
    if options.image {
        let file = folder.join("memtide-image.tar");
        image::write(&file, image::NAME, &[("memtide", &program)])?;
        let size = show(&file)?;
        if size > IMAGE_BYTES_MAX {
            return Err(format!(
                "the image has {size} bytes; at most {IMAGE_BYTES_MAX} are allowed"
            ));
        }
        proof::image(&folder, &file)?;
    }
    if options.deb {
        let mut debian = Command::new(root.join("xtask/dist/debian.sh"));
        let file = told(debian.arg(root).arg(&folder).arg(&program)).map(PathBuf::from)?;
        show(&file)?;
        proof::package(&folder, &file)?;
    }
    Ok(())
}

/// Adds Rust's library for the static target, if it is not there.
pub(crate) fn add_target(root: &Path) -> Result<(), String> {
    let mut asked = Command::new("rustc");
    asked.current_dir(root).args(["--print", "target-libdir", "--target", TARGET]);
    if Path::new(&told(&mut asked)?).is_dir() {
        return Ok(());
    }
    execute(Command::new("rustup").current_dir(root).args(["target", "add", TARGET]))
}

/// Prints a file's size, and returns it in bytes.
fn show(file: &Path) -> Result<u64, String> {
    let size = fs::metadata(file).map_err(at(file))?.len();
    println!("{}: {:.2} MB", file.display(), size as f64 / 1e6);
    Ok(size)
}
