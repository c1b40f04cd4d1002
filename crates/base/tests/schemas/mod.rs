//! Validators of the published schemas, which refer to each other by the names of their files.
//! Several crates' tests share it.

use jsonschema::{Retrieve, Uri, Validator};
use serde_json::Value;
use std::error::Error;
use std::path::Path;

/// What checks against the schema `docs/{name}`. Making one takes longer than most runs.
pub fn published(name: &str) -> Validator {
    let schema = read(name).unwrap();
    jsonschema::options().with_retriever(Pages).build(&schema).unwrap()
}

/// The schemas of `docs/`.
struct Pages;

impl Retrieve for Pages {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        read(uri.path().as_str().trim_start_matches('/'))
    }
}

fn read(name: &str) -> Result<Value, Box<dyn Error + Send + Sync>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    Ok(serde_json::from_str(&std::fs::read_to_string(path)?)?)
}
