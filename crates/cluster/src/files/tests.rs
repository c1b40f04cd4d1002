//! Folders of a master, whole and damaged, and the users who may read them.

use super::*;
use private::secret;
use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;

/// A folder of one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("memtide-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o777
}

#[test]
fn a_folder_is_made_for_its_owner_alone_and_read_back() {
    let folder = Folder::new("made");
    let dir = &folder.0;
    let limits = LawWords { most: [("rate-max", "20k".to_owned())].into(), ..LawWords::default() };
    let join = make_folder(dir, "lab:7411", Some("0.0.0.0:7411"), limits).unwrap();
    assert_eq!(mode(dir), 0o700);
    for file in [IDENTITY, JOIN, BIND] {
        assert_eq!(mode(&dir.join(file)), 0o600, "{file}");
    }
    let keys = read_identity(dir).unwrap();
    assert_eq!((keys.join, keys.bind.as_str()), (join.clone(), "0.0.0.0:7411"));
    assert_eq!(keys.identity.fingerprint(), join.master);
    assert_eq!(read_join(&dir.join(JOIN)).unwrap(), join);
    let again = make_folder(dir, "lab:7411", None, LawWords::default()).unwrap_err();
    assert!(again.contains("master.pem") && again.contains("new folder"), "{again}");
    assert_eq!(read_identity(dir).unwrap().join, join);
}

#[test]
fn what_others_may_read_is_refused() {
    let folder = Folder::new("open");
    let dir = &folder.0;
    make_folder(dir, "lab:7411", None, LawWords::default()).unwrap();
    assert_eq!(read_identity(dir).unwrap().bind, "lab:7411");
    for open in [0o604, 0o620, 0o644, 0o444, 0o660, 0o650] {
        for file in [IDENTITY, JOIN] {
            let path = dir.join(file);
            fs::set_permissions(&path, Permissions::from_mode(open)).unwrap();
            let error = read_identity(dir).unwrap_err();
            let said = format!("mode {open:03o}");
            assert!(error.contains(&said) && error.contains("chmod 600"), "{error}");
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        }
    }
    let open = Folder::new("folder-open");
    fs::create_dir(&open.0).unwrap();
    fs::set_permissions(&open.0, Permissions::from_mode(0o755)).unwrap();
    let error = make_folder(&open.0, "lab:7411", None, LawWords::default()).unwrap_err();
    assert!(error.contains("chmod 700"), "{error}");
}

/// A Kubernetes secret with fsGroup belongs to root and to a group of the process (0440).
#[test]
fn a_group_of_this_process_may_read_and_no_other() {
    let folder = Folder::new("group");
    let dir = &folder.0;
    make_folder(dir, "lab:7411", None, LawWords::default()).unwrap();
    for file in [IDENTITY, JOIN] {
        for open in [0o640, 0o440] {
            let path = dir.join(file);
            fs::set_permissions(&path, Permissions::from_mode(open)).unwrap();
            read_identity(dir).unwrap();
            let metadata = path.metadata().unwrap();
            let group = metadata.gid();
            secret(&path, &metadata, &[group + 1, group]).unwrap();
            let error = secret(&path, &metadata, &[group + 1]).unwrap_err();
            let (whose, how) =
                (format!("group {group}, "), format!("can read it (mode {open:03o})"));
            let parts = [whose.as_str(), how.as_str(), "chmod 600"];
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }
}

#[test]
fn a_folder_of_results_that_others_can_change_is_refused_and_no_result_replaced() {
    let folder = Folder::new("results");
    let dir = &folder.0;
    own_folder(dir).unwrap();
    assert_eq!(mode(dir), 0o700);
    let (file, link) = (dir.join("a.csv"), dir.join("b.csv"));
    new_result(&file).unwrap();
    assert_eq!(mode(&file), 0o600);
    fs::write(&file, "rows").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for taken in [&file, &link] {
        let error = new_result(taken).unwrap_err();
        assert!(error.contains("exists"), "{error}");
    }
    assert_eq!(fs::read(&file).unwrap(), b"rows");
    for open in [0o720, 0o702, 0o777] {
        fs::set_permissions(dir, Permissions::from_mode(open)).unwrap();
        let error = own_folder(dir).unwrap_err();
        assert!(error.contains("chmod 700"), "{error}");
    }
    fs::set_permissions(dir, Permissions::from_mode(0o755)).unwrap();
    own_folder(dir).unwrap();
}

/// The links and folders through which another user could have an agent's files read or replaced.
#[test]
fn a_folder_that_another_user_can_replace_is_refused_for_keys_records_and_results() {
    let above = Folder::new("above");
    fs::create_dir(&above.0).unwrap();
    let (dir, link) = (above.0.join("dir"), above.0.join("link"));
    let refused = |path: &Path| {
        let key = make_folder(path, "lab:7411", None, LawWords::default()).map(drop);
        [key, own_folder(path), Kept::open(path).map(drop)].map(|made| made.unwrap_err())
    };
    fs::set_permissions(&above.0, Permissions::from_mode(0o777)).unwrap();
    refused(&dir).iter().for_each(|why| assert!(why.contains("chmod o-w"), "{why}"));
    // In a folder like /tmp users replace only what is theirs.
    fs::set_permissions(&above.0, Permissions::from_mode(0o1777)).unwrap();
    own_folder(&dir).unwrap();
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    own_folder(&link).unwrap();
    if rustix::process::geteuid().is_root() {
        for path in [&link, &dir] {
            std::os::unix::fs::lchown(path, Some(65_534), None).unwrap();
            let whys = refused(path);
            whys.iter().for_each(|why| assert!(why.contains("another user"), "{why}"));
            std::os::unix::fs::lchown(path, Some(0), None).unwrap();
        }
    }
}

#[test]
fn damaged_folders_are_named_by_file() {
    let folder = Folder::new("damaged");
    let dir = &folder.0;
    assert!(read_identity(dir).unwrap_err().contains("master.pem"));
    assert!(make_folder(dir, "lab", None, LawWords::default()).unwrap_err().contains("HOST:PORT"));
    assert!(!dir.exists());
    make_folder(dir, "lab:7411", None, LawWords::default()).unwrap();
    let other = Folder::new("damaged-other");
    make_folder(&other.0, "lab:7411", None, LawWords::default()).unwrap();
    fs::copy(other.0.join(JOIN), dir.join(JOIN)).unwrap();
    assert!(read_identity(dir).unwrap_err().contains("another master"));
    fs::write(dir.join(JOIN), vec![b'#'; 70_000]).unwrap();
    assert!(read_identity(dir).unwrap_err().contains("longer than 64 KiB"));
    fs::write(dir.join(JOIN), [0xff]).unwrap();
    assert!(read_identity(dir).unwrap_err().contains("not text"));
    fs::remove_file(dir.join(JOIN)).unwrap();
    DirBuilder::new().mode(0o700).create(dir.join(JOIN)).unwrap();
    assert!(read_identity(dir).unwrap_err().contains("not a file"));
    fs::remove_dir(dir.join(JOIN)).unwrap();
    fs::copy(other.0.join(JOIN), dir.join(JOIN)).unwrap();
    fs::copy(other.0.join(IDENTITY), dir.join(IDENTITY)).unwrap();
    fs::write(dir.join(BIND), "nowhere").unwrap();
    assert!(read_identity(dir).unwrap_err().contains("bind: 'nowhere' is not HOST:PORT"));
}
