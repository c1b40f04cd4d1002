//! The image as those read it that load it.

use super::*;
use crate::files::{emptied, inside, json, put, read};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A folder with an image in it, and the image unpacked beside it.
fn image(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp");
    let folder = emptied(target.join(name)).unwrap();
    put(&folder.join("program"), b"program").unwrap();
    let file = folder.join("image.tar");
    write(&file, NAME, &[("memtide", &folder.join("program"))]).unwrap();
    let parts = emptied(folder.join("parts")).unwrap();
    told(Command::new("tar").arg("-C").arg(&parts).arg("-xf").arg(&file)).unwrap();
    folder
}

fn digest(file: &Path) -> String {
    let line = told(Command::new("sha256sum").arg(file)).unwrap();
    line.split(' ').next().unwrap().to_owned()
}

#[test]
fn the_image_names_its_layer_by_digest_and_a_user_by_number() {
    let folder = image("image-digest");
    let parts = folder.join("parts");
    let manifest = json(&parts.join("manifest.json")).unwrap();
    assert_eq!(manifest[0]["RepoTags"][0], NAME);
    let config = parts.join(manifest[0]["Config"].as_str().unwrap());
    assert!(config.ends_with(format!("{}.json", digest(&config))));
    let config = json(&config).unwrap();
    let layer = format!("sha256:{}", digest(&parts.join("layer.tar")));
    assert_eq!(config["rootfs"]["diff_ids"], json!([layer]));
    assert_eq!(config["config"]["Entrypoint"], json!(["/usr/bin/memtide"]));
    // Kubernetes cannot check that a user given by name is not root.
    assert_eq!(config["config"]["User"], "65532:65532");
    let root = emptied(folder.join("root")).unwrap();
    unpack(&folder.join("image.tar"), &root).unwrap();
    assert_eq!(read(&root.join("usr/bin/memtide")).unwrap(), b"program");
    let mode = |name: &str| fs::metadata(root.join(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("usr/bin/memtide"), mode("tmp")), (0o755, 0o1777));
    assert!(read(&root.join("etc/passwd")).unwrap().starts_with(b"memtide:x:65532:65532:"));
    assert_eq!(inside(&root).unwrap().len(), 3);
}

#[test]
fn the_same_program_makes_the_same_image() {
    let [one, other] = ["image-one", "image-other"].map(|name| image(name).join("image.tar"));
    assert_eq!(read(&one).unwrap(), read(&other).unwrap());
}
