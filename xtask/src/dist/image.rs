//! A container image as a docker-archive, which `docker load`, `podman load` and
//! `ctr images import` read. Written here, byte for byte equal each time; no daemon is used.

use crate::files::{self, at};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Read;
use std::path::Path;
use tar::{Archive, Builder, EntryType, Header};

/// The name that manifests use for the image.
pub(crate) const NAME: &str = "localhost/memtide:latest";
/// The user of the image: neither root nor a user of the machine.
pub(crate) const USER: u32 = 65532;

const MANIFEST: &str = "manifest.json";
const LAYER: &str = "layer.tar";

/// Writes an image called `name` to `file`, with `programs` in `/usr/bin`, each under its name. A
/// container starts the first.
///
/// # Errors
/// If a file cannot be read or written.
pub(crate) fn write(file: &Path, name: &str, programs: &[(&str, &Path)]) -> Result<(), String> {
    let read = |&(name, program): &(_, &Path)| Ok((name, files::read(program)?));
    let programs: Vec<_> = programs.iter().map(read).collect::<Result<_, String>>()?;
    let archive = archive(name, &programs).map_err(at(file))?;
    fs::write(file, archive).map_err(at(file))
}

/// Unpacks the layer of the image in `file` into `folder`.
///
/// # Errors
/// If the image cannot be read or a file cannot be written.
pub(super) fn unpack(file: &Path, folder: &Path) -> Result<(), String> {
    let failed = at(file);
    let mut archive = Archive::new(fs::File::open(file).map_err(&failed)?);
    for entry in archive.entries().map_err(&failed)? {
        let mut entry = entry.map_err(&failed)?;
        if entry.path().map_err(&failed)?.ends_with(LAYER) {
            let mut layer = Vec::new();
            entry.read_to_end(&mut layer).map_err(&failed)?;
            let mut layer = Archive::new(layer.as_slice());
            layer.set_preserve_permissions(true);
            // Without root, a test owns the files that it unpacks.
            return layer.unpack(folder).map_err(&failed);
        }
    }
    Err(format!("{}: the image has no {LAYER}", file.display()))
}

fn archive(image: &str, programs: &[(&str, Vec<u8>)]) -> std::io::Result<Vec<u8>> {
    let layer = layer(programs)?;
    let entry = programs.first().map(|(name, _)| format!("/usr/bin/{name}"));
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": [entry],
            "Cmd": ["run"],
            "Env": ["PATH=/usr/bin", "HOME=/tmp"],
            "User": format!("{USER}:{USER}"),
            "WorkingDir": "/tmp",
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", digest(&layer))]},
        "history": [{"created_by": "cargo xtask dist --image"}],
    });
    let config = config.to_string().into_bytes();
    let name = format!("{}.json", digest(&config));
    let manifest = json!([{"Config": name, "RepoTags": [image], "Layers": [LAYER]}]);
    let mut tar = Builder::new(Vec::new());
    add(&mut tar, &name, &config, 0o644)?;
    add(&mut tar, LAYER, &layer, 0o644)?;
    add(&mut tar, MANIFEST, manifest.to_string().as_bytes(), 0o644)?;
    tar.into_inner()
}

/// The files of the image: the programs, their user, and a folder for temporary files.
fn layer(programs: &[(&str, Vec<u8>)]) -> std::io::Result<Vec<u8>> {
    let passwd = format!("memtide:x:{USER}:{USER}:memtide:/tmp:/usr/sbin/nologin\n");
    let group = format!("memtide:x:{USER}:\n");
    let mut tar = Builder::new(Vec::new());
    for (folder, mode) in [("etc/", 0o755), ("tmp/", 0o1777), ("usr/", 0o755), ("usr/bin/", 0o755)]
    {
        let mut header = header(0, mode);
        header.set_entry_type(EntryType::Directory);
        tar.append_data(&mut header, folder, std::io::empty())?;
    }
    add(&mut tar, "etc/passwd", passwd.as_bytes(), 0o644)?;
    add(&mut tar, "etc/group", group.as_bytes(), 0o644)?;
    for (name, program) in programs {
        add(&mut tar, &format!("usr/bin/{name}"), program, 0o755)?;
    }
    tar.into_inner()
}

fn add(tar: &mut Builder<Vec<u8>>, path: &str, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    tar.append_data(&mut header(bytes.len() as u64, mode), path, bytes)
}

fn header(size: u64, mode: u32) -> Header {
    let mut header = Header::new_gnu();
    header.set_size(size);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

/// The SHA-256 in hexadecimal digits.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
