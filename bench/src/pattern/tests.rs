//! The sequence of requests and the cursor over it, without a socket.

use super::*;

const SHAPE: Shape = Shape {
    keys: 20,
    key_bytes: 30,
    value_bytes: 200,
    set_every: 10,
    keys_per_get: 1,
    depth: 4,
    whole_batches: false,
};

fn text(pattern: &Pattern) -> String {
    String::from_utf8(pattern.bytes.clone()).expect("requests are text")
}

#[test]
fn one_request_in_ten_is_a_set() {
    let pattern = Pattern::new(SHAPE);
    let row = pattern.starts[SHAPE.keys];
    assert_eq!(text(&pattern)[..row].matches("set bare-").count(), 2);
    assert_eq!(text(&pattern)[..row].matches("get bare-").count(), 18);
    assert_eq!(pattern.reply_bytes[0], 6 + 30 + 8 + 200 + 7);
    assert_eq!(pattern.reply_bytes[9], 8);
}

#[test]
fn the_cursor_counts_the_same_wherever_the_bytes_are_split() {
    let pattern = Pattern::new(SHAPE);
    let round: usize = pattern.reply_bytes.iter().sum();
    for piece in 1..=round {
        let mut cursor = Cursor::new(&pattern, 7);
        let mut completed = 0;
        let mut left = round;
        while left > 0 {
            // A server can only answer requests that were sent, so all pending ones are sent first.
            let unsent = cursor.unsent(&pattern).len();
            cursor.handle_sent(&pattern, unsent);
            let outstanding = SHAPE.depth - cursor.owed;
            let next = (0..outstanding).map(|i| pattern.reply_bytes[(cursor.reply + i) % 20]);
            let ready = next.sum::<usize>() - cursor.reply_have;
            let bytes = piece.min(ready).min(left);
            completed += cursor.handle_received(&pattern, bytes);
            left -= bytes;
        }
        assert_eq!(completed, SHAPE.keys, "pieces of {piece} bytes");
        assert_eq!((cursor.reply, cursor.reply_have), (7, 0));
    }
}

#[test]
fn a_short_write_is_taken_up_where_it_stopped() {
    let pattern = Pattern::new(SHAPE);
    let mut cursor = Cursor::new(&pattern, 18);
    let mut sent = Vec::new();
    while !cursor.unsent(&pattern).is_empty() {
        let unsent = cursor.unsent(&pattern);
        let bytes = unsent.len().min(17);
        sent.extend_from_slice(&unsent[..bytes]);
        cursor.handle_sent(&pattern, bytes);
    }
    assert_eq!(sent, pattern.requests(18, 4, 0));
    assert_eq!((cursor.send, cursor.send_skip), (2, 0));
}

#[test]
fn a_batch_goes_together_when_the_last_one_is_answered_whole() {
    let pattern = Pattern::new(Shape { whole_batches: true, ..SHAPE });
    let mut cursor = Cursor::new(&pattern, 0);
    for batch in 0..3 {
        assert_eq!(cursor.unsent(&pattern), pattern.requests(batch * 4, 4, 0));
        for piece in [100, usize::MAX] {
            let bytes = cursor.unsent(&pattern).len().min(piece);
            cursor.handle_sent(&pattern, bytes);
        }
        for nth in 0..4 {
            assert!(cursor.unsent(&pattern).is_empty(), "before reply {nth} of batch {batch}");
            let bytes = pattern.reply_bytes[batch * 4 + nth];
            assert_eq!(cursor.handle_received(&pattern, bytes), 1);
        }
    }
}

#[test]
fn a_fill_is_believed_only_when_every_set_was_stored() {
    let pattern = Pattern::new(SHAPE);
    let (requests, reply_bytes) = pattern.fill();
    assert_eq!(requests.len(), 20 * (4 + 30 + 10 + 200 + 2));
    assert!(pattern.is_filled(&b"STORED\r\n".repeat(20)));
    assert_eq!(reply_bytes, 160);
    assert!(!pattern.is_filled(&b"STORED\r\n".repeat(19)));
    assert!(!pattern.is_filled(&[b"STORED\r\n".repeat(19), b"SERVER_E".to_vec()].concat()));
}
