//! Room, idle time and the end of a queue.

use super::*;

#[test]
fn what_finds_no_room_is_given_back() {
    let queue = Queue::default();
    assert_eq!(queue.offer("big", 17, 32), Ok(()));
    assert_eq!(queue.offer("big", 17, 32), Err("big"));
    assert_eq!(queue.take(|| Some(Instant::now())), Next::Item("big"));
    assert_eq!(queue.take(|| Some(Instant::now())), Next::Idle);
    queue.close(Instant::now());
    assert_eq!(queue.offer("late", 1, 32), Err("late"));
    assert_eq!((queue.take(|| None), queue.left(Duration::from_secs(1))), (Next::End, None));
}

#[test]
fn a_pause_does_not_outlast_the_end() {
    let queue = Queue::<()>::default();
    queue.close(Instant::now() + Duration::from_millis(20));
    queue.pause(Duration::from_secs(3_600));
    assert_eq!(queue.left(Duration::from_secs(1)), None);
}

#[test]
fn all_is_settled_once_the_last_is_handled() {
    let queue = Queue::default();
    let at_once = || Some(Instant::now());
    queue.offer(1, 1, 1).unwrap();
    assert!(!queue.await_room(1, 1, Instant::now()));
    assert_eq!(queue.take(at_once), Next::Item(1));
    assert!(queue.await_room(1, 1, Instant::now()));
    let began = Instant::now();
    queue.settle(began + Duration::from_millis(20));
    assert!(began.elapsed() >= Duration::from_millis(20), "it is still handled");
    assert_eq!(queue.take(at_once), Next::Idle);
    queue.settle(began + Duration::from_secs(3_600));
    queue.end();
    assert!(queue.has_ended() && queue.await_end(Instant::now()));
    assert_eq!(queue.offer(2, 1, 1), Err(2));
}
