//! The one program that contains a whole cluster, built from Kubernetes' published modules.

use crate::files::{at, put, read, removed};
use crate::setup;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of the modules in `xtask/kubernetes/go.mod`.
const VERSION: [&str; 3] = ["v1.34.4", "1", "34"];

/// The requirement of a build that is missing here, if any.
pub(super) fn missing() -> Option<String> {
    let go = setup::find("go").is_none();
    go.then(|| {
        "a cluster is built with Go 1.24 or later, which is not on PATH; or name one that is built \
         with --cluster"
            .to_owned()
    })
}

/// Builds the program in `folder` unless it exists; returns its path. A build takes 12 minutes of
/// one CPU, and 4 GB for the modules and the compiler's cache, which are deleted at its end.
///
/// # Errors
/// If Go fails, for example because it cannot fetch the modules.
pub(super) fn built(root: &Path, folder: &Path) -> Result<PathBuf, String> {
    let program = folder.join("cluster");
    if program.is_file() {
        return Ok(program);
    }
    let place = folder.join("build");
    for name in ["main.go", "go.mod"] {
        put(&place.join(name), &read(&root.join("xtask/kubernetes").join(name))?)?;
    }
    let ours = "k8s.io/component-base/version.git";
    let [version, major, minor] = VERSION;
    let link =
        format!("-s -w -X {ours}Version={version} -X {ours}Major={major} -X {ours}Minor={minor}");
    let unfinished = place.join("cluster");
    let mut build = go(&place);
    build.args(["build", "-mod=mod", "-trimpath", "-ldflags", &link, "-o"]).arg(&unfinished);
    crate::commands::run(build.arg("."))?;
    crate::commands::run(go(&place).args(["clean", "-cache", "-modcache"]))?;
    fs::rename(&unfinished, &program).map_err(at(&program))?;
    removed(&place)?;
    Ok(program)
}

fn go(place: &Path) -> Command {
    let mut command = Command::new(setup::find("go").unwrap_or_else(|| "go".into()));
    command.current_dir(place).env("CGO_ENABLED", "0").env_remove("GOFLAGS");
    command.env("GOMODCACHE", place.join("modules")).env("GOCACHE", place.join("cache"));
    command
}
