//! Agents that hand their records over slowly, or not at all.

use super::*;

#[test]
fn a_record_that_does_not_come_is_given_up_although_its_agent_answers() {
    let began = Instant::now();
    let after = |seconds| began + Duration::from_secs(seconds);
    let (name, left, assembly) = ("a0".to_owned(), VecDeque::new(), Assembly::default());
    let mut peer = Peer { name, left, assembly, asked: began, heard: began };
    assert_eq!(peer.overdue(after(9)), None);
    let why = peer.overdue(after(10)).expect("nothing came");
    assert!(why.contains("nothing came for 10 s"), "{why}");
    // A byte now and then of a record that is said to be long.
    let part = |bytes: usize| RecordPart {
        run: b"run".to_vec(),
        bytes_total: 32 << 20,
        data: vec![1; bytes],
        ..RecordPart::default()
    };
    for seconds in [9, 18, 27] {
        peer.heard = after(seconds);
        assert_eq!(peer.assembly.add(b"run", &part(1)), Ok(None));
        assert_eq!(peer.overdue(after(seconds)), None);
    }
    let why = peer.overdue(after(30)).expect("it came too slowly");
    assert!(why.contains("in time: 3 bytes in 30 s"), "{why}");
    // What comes fast enough has its time.
    assert_eq!(peer.assembly.add(b"run", &part(10 << 20)), Ok(None));
    peer.heard = after(69);
    assert_eq!(peer.overdue(after(69)), None);
    assert!(peer.overdue(after(70)).is_some());
}
