//! One operation at a time on each connection.

use super::*;

#[test]
fn a_single_operation_takes_each_connection_in_turn_or_any() {
    for (turn, even) in [(ConnectionTurn::RoundRobin, true), (ConnectionTurn::Random, false)] {
        let mut single = Single::new(ConnectionId(20), 8, turn, 3, 5);
        (20..28).for_each(|number| single.set_available(ConnectionId(number), true));
        single.set_available(ConnectionId(22), false);
        let mut times = [0u32; 8];
        for _ in 0..7_000 {
            let connection = single.pick().expect("nothing is outstanding");
            single.take(connection);
            assert_eq!(single.pick(), None, "one is outstanding");
            assert!(!single.has_room(ConnectionId(23)));
            single.free(connection, 1);
            times[connection.index() - 20] += 1;
        }
        assert_eq!(times[2], 0, "it is not open");
        let right = |&times: &u32| if even { times == 1_000 } else { times > 700 };
        assert!(times.iter().enumerate().all(|(at, of)| at == 2 || right(of)), "{times:?}");
    }
}
