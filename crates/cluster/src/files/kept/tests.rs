//! Records of several agents in one folder, and folders in which another user has been.

use super::*;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};

/// A folder of one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("memtide-kept-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn shares_of_one_run_do_not_replace_each_other() {
    let folder = Folder::new("shares");
    let kept = Kept::open(&folder.0).unwrap();
    kept.keep(b"run", 0, b"first").unwrap();
    kept.keep(b"run", 1, b"second").unwrap();
    assert_eq!(kept.list().len(), 2);
    assert_eq!(kept.find(b"run", 0).as_deref(), Some(&b"first"[..]));
    kept.forget(b"run", 0);
    assert_eq!((kept.find(b"run", 0), kept.list().len()), (None, 1));
    assert_eq!(kept.find(b"run", 1).as_deref(), Some(&b"second"[..]));
    assert_eq!(kept.find(b"nur", 1), None);
}

#[test]
fn a_run_that_is_named_like_another_overwrites_nothing() {
    let folder = Folder::new("again");
    let kept = Kept::open(&folder.0).unwrap();
    kept.keep(b"run", 0, b"first").unwrap();
    assert_eq!(kept.keep(b"run", 0, b"other").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(kept.find(b"run", 0).as_deref(), Some(&b"first"[..]));
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_link_is_neither_read_nor_written_through() {
    let (folder, outside) = (Folder::new("links"), Folder::new("links-outside"));
    let kept = Kept::open(&folder.0).unwrap();
    fs::create_dir(&outside.0).unwrap();
    let secret = outside.0.join("secret");
    fs::write(&secret, "secret").unwrap();
    for ending in ["json", "part"] {
        symlink(&secret, folder.0.join(format!("{}-7.{ending}", to_hex(b"run")))).unwrap();
    }
    assert_eq!((kept.list().len(), kept.find(b"run", 7)), (0, None));
    kept.keep(b"run", 7, b"record").unwrap_err();
    assert_eq!(fs::read(&secret).unwrap(), b"secret");
}

#[test]
fn a_folder_that_others_can_change_is_refused() {
    let folder = Folder::new("open");
    fs::create_dir(&folder.0).unwrap();
    fs::set_permissions(&folder.0, Permissions::from_mode(0o777)).unwrap();
    assert!(Kept::open(&folder.0).unwrap_err().contains("chmod 700"));
    fs::set_permissions(&folder.0, Permissions::from_mode(0o755)).unwrap();
    Kept::open(&folder.0).unwrap();
}
