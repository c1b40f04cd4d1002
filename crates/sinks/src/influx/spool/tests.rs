//! Room of a spool, and the numbers of its files.

use super::*;

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
