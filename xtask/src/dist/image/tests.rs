//! The image as those read it that load it.

use super::*;
use serde_json::Value;
use std::collections::HashMap;

fn image() -> Vec<u8> {
    archive(NAME, &[("memtide", b"program".to_vec())]).unwrap()
}

fn files(tar: &[u8]) -> HashMap<String, (Vec<u8>, u32)> {
    let mut files = HashMap::new();
    for entry in Archive::new(tar).entries().unwrap() {
        let mut entry = entry.unwrap();
        let (path, mode) = (entry.path().unwrap().display().to_string(), entry.header().mode());
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        files.insert(path, (bytes, mode.unwrap()));
    }
    files
}

#[test]
fn the_image_names_its_layer_by_digest_and_a_user_by_number() {
    let image = files(&image());
    let manifest: Value = serde_json::from_slice(&image[MANIFEST].0).unwrap();
    let config = manifest[0]["Config"].as_str().unwrap();
    assert_eq!(manifest[0]["RepoTags"][0], NAME);
    assert_eq!(config, format!("{}.json", digest(&image[config].0)));
    let config: Value = serde_json::from_slice(&image[config].0).unwrap();
    let layer = &image[LAYER].0;
    assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{}", digest(layer)));
    assert_eq!(config["config"]["Entrypoint"], json!(["/usr/bin/memtide"]));
    // Kubernetes cannot check that a user given by name is not root.
    assert_eq!(config["config"]["User"], "65532:65532");
    let layer = files(layer);
    assert_eq!(layer["usr/bin/memtide"], (b"program".to_vec(), 0o755));
    assert_eq!(layer["tmp/"].1, 0o1777);
    assert!(layer["etc/passwd"].0.starts_with(b"memtide:x:65532:65532:"));
}

#[test]
fn the_same_program_makes_the_same_image() {
    assert_eq!(image(), image());
}
