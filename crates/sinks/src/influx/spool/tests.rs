//! Room of a spool, and the numbers of its files.

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn what_is_posted_makes_room_and_no_number_is_used_twice() {
    let folder = std::env::temp_dir().join(format!("memtide-room-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    let batch = |name: &str| Batch::of(format!("{name} v=1i 1\n").into_bytes());
    let bytes = batch("a").zipped().len() as u64;
    let mut spool = Spool::open(&folder, 3 * bytes, "r").unwrap();
    for name in ["a", "b", "c"] {
        assert!(spool.keep(&batch(name).zipped(), 1));
    }
    assert!(!spool.keep(&batch("d").zipped(), 1), "no room for a fourth");
    spool.remove_oldest();
    assert!(spool.keep(&batch("d").zipped(), 1), "{:?}", spool.trouble);
    for name in ["b", "c", "d"] {
        let (read, points) = spool.oldest().unwrap();
        assert_eq!((read.unwrap(), points), (batch(name), 1));
        spool.remove_oldest();
    }
    assert!(!spool.has_kept() && spooled(&folder).unwrap().is_empty());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing unfinished is left");
    fs::remove_dir_all(&folder).unwrap();
}

/// Two agents of one machine may share a folder, and a master may name a run like an earlier one.
#[test]
fn two_spools_of_one_run_replace_nothing_of_each_other() {
    let folder = std::env::temp_dir().join(format!("memtide-twice-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    let batch = |name: &str| Batch::of(format!("{name} v=1i 1\n").into_bytes());
    let names = ["a", "b", "c", "d"];
    let mut spools = [(); 2].map(|()| Spool::open(&folder, 1 << 20, "r").unwrap());
    for (number, name) in names.iter().enumerate() {
        let spool = &mut spools[number % 2];
        assert!(spool.keep(&batch(name).zipped(), 1), "{:?}", spool.trouble);
    }
    for (number, name) in names.iter().enumerate() {
        let spool = &mut spools[number % 2];
        assert_eq!(spool.oldest().unwrap().0.unwrap(), batch(name));
        spool.remove_oldest();
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    fs::remove_dir_all(&folder).unwrap();
}

/// Who can write to the folder could have a file of another user overwritten, or posted.
#[test]
fn a_link_in_a_spool_is_neither_written_through_nor_read() {
    let folder = std::env::temp_dir().join(format!("memtide-spool-links-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir(&folder).unwrap();
    let outside = folder.with_extension("outside");
    let secret = Batch::of(b"secret v=1i 1\n".to_vec());
    fs::write(&outside, secret.zipped()).unwrap();
    let link = |name: &str| symlink(&outside, folder.join(name)).unwrap();
    // Where the first batches would be written, also to a file that does not exist.
    link("memtide-r-000000.lp.gz");
    link("memtide-r-000001.lp.part");
    symlink(folder.with_extension("none"), folder.join("memtide-r-000002.lp.part")).unwrap();
    let mut spool = Spool::open(&folder, 1 << 20, "r").unwrap();
    let batch = Batch::of(b"own v=1i 1\n".to_vec());
    assert!(spool.keep(&batch.zipped(), 1), "{:?}", spool.trouble);
    assert!(!folder.with_extension("none").exists());
    assert_eq!(fs::read(&outside).unwrap(), secret.zipped());
    let (read, _) = spool.oldest().unwrap();
    assert_eq!(read.unwrap(), batch);
    // In place of a batch that this run has kept.
    let kept = folder.join("memtide-r-000003.lp.gz");
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    fs::remove_file(&kept).unwrap();
    link("memtide-r-000003.lp.gz");
    let (read, _) = spool.oldest().unwrap();
    assert!(read.unwrap_err().to_string().contains("link"));
    // What earlier runs have left is no link, either; and a probe's name that is taken is refused.
    assert!(!Spool::left_in(&folder).unwrap().has_kept());
    link("memtide-s.part");
    assert_eq!(Spool::open(&folder, 1 << 20, "s").unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&outside).unwrap(), secret.zipped());
    fs::remove_dir_all(&folder).unwrap();
    fs::remove_file(&outside).unwrap();
}
