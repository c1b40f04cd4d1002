//! Answers on their way to a client.

use super::*;
use memtide_base::Random;

fn waiting(out: &Outgoing) -> Vec<u8> {
    assert!(out.slices().all(|slice| !slice.is_empty()));
    let bytes = out.slices().collect::<Vec<_>>().concat();
    assert_eq!(bytes.len(), out.waiting());
    assert_eq!(bytes.is_empty(), out.is_empty());
    bytes
}

#[test]
fn what_is_sent_in_any_pieces_is_what_was_written() {
    let seed = 17;
    let mut random = Random::new(seed);
    let (mut out, mut copy, mut sent) = (Outgoing::default(), Vec::new(), Vec::new());
    for step in 0..5000_u64 {
        let piece = vec![step as u8; random.below(9) as usize];
        match random.below(3) {
            0 => out.bytes().extend_from_slice(&piece),
            // Large values are never empty.
            1 if !piece.is_empty() => out.push_large(&piece.clone().into()),
            _ => {
                let before = waiting(&out);
                let count = random.below(before.len() as u64 + 1) as usize;
                out.advance(count);
                sent.extend_from_slice(&before[..count]);
                assert_eq!(waiting(&out), before[count..], "seed {seed}, step {step}");
                continue;
            }
        }
        copy.extend_from_slice(&piece);
    }
    sent.extend(waiting(&out));
    assert!(sent == copy, "seed {seed}");
}
