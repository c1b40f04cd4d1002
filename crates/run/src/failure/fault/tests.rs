//! The sentence of every fault, and of every kind of fleet's failure.

use super::*;
use crate::prose::flaw;
use memtide_engine::driver::{Closed, DriverError};

/// One of each variant. A new one fails to compile in `place` until it has a number there, and the
/// test fails until it stands here.
fn every_fault() -> Vec<Fault> {
    let server = || "10.0.0.1:11211".to_owned();
    let of_server = || format!("server {}", server());
    let what = || "reset the connection".to_owned();
    let timeout = Span::from_ms(300);
    let error = DriverError { action: "epoll_wait", code: 5 };
    vec![
        Fault::Interrupted,
        Fault::Fleet(FleetError::NoThread { worker: 1, why: "no memory is left".to_owned() }),
        Fault::Fleet(FleetError::Worker { worker: 1, error }),
        Fault::Unplannable { why: "pin: 8 workers, but 2 CPUs are allowed".to_owned() },
        Fault::Aborted { why: "step 2 was ended by --abort-on errors>50%".to_owned() },
        Fault::Unasked { server: server(), error: AskError::Silent(timeout, Protocol::Text) },
        Fault::Opening {
            server: server(),
            what: TroubleKind::Closed(Closed::Reset),
            so_far: " (when 3 of 16 connections had been opened)".to_owned(),
        },
        Fault::OpeningSlowly { opened: 3, wanted: 16, timeout },
        Fault::ServersLost { timeout, server: of_server(), what: what() },
        Fault::Silence { who: of_server(), timeout },
        Fault::Unserved { server: of_server(), what: what() },
        Fault::ConnectionLost { server: of_server(), what: what() },
        Fault::NoneOpened { server: of_server(), what: what() },
        Fault::Fill(FillFault::Gone { who: of_server(), said: String::new() }),
    ]
}

fn place(fault: &Fault) -> usize {
    match fault {
        Fault::Interrupted => 0,
        Fault::Fleet(FleetError::NoThread { .. }) => 1,
        Fault::Fleet(FleetError::Worker { .. }) => 2,
        Fault::Unplannable { .. } => 3,
        Fault::Aborted { .. } => 4,
        Fault::Unasked { .. } => 5,
        Fault::Opening { .. } => 6,
        Fault::OpeningSlowly { .. } => 7,
        Fault::ServersLost { .. } => 8,
        Fault::Silence { .. } => 9,
        Fault::Unserved { .. } => 10,
        Fault::ConnectionLost { .. } => 11,
        Fault::NoneOpened { .. } => 12,
        Fault::Fill(_) => 13,
    }
}

/// Those of a fill, with and without the clauses that may end them.
fn every_fault_of_a_fill(said: &str) -> Vec<FillFault> {
    let server = || "10.0.0.1:11211".to_owned();
    let who = || format!("server {}", server());
    let said = || said.to_owned();
    let lengths = || Lengths { mean: 200.0, law: "--value-size is fixed:2048".to_owned() };
    let room = NoRoom {
        server: server(),
        keys: 1000,
        sampled: 100,
        missing: 7,
        stopped_after: (!said().is_empty()).then_some(500),
        evicted: (!said().is_empty()).then_some(77),
        advice: "give it about -m 128".to_owned(),
    };
    vec![
        FillFault::WindowsUnfilled { stored: 3, total: 10, said: said() },
        FillFault::Unfilled { server: server(), stored: 3, total: 10, why: said() },
        FillFault::Breach { who: who(), what: "sent END although nothing was asked".to_owned() },
        FillFault::Unserved { who: who(), said: said() },
        FillFault::Silence {
            who: who(),
            awaited: "gets of a sample of keys".to_owned(),
            timeout: Span::from_ms(300),
            said: said(),
        },
        FillFault::Gone { who: who(), said: said() },
        FillFault::NoRoom(Box::new(room)),
        FillFault::Foreign {
            server: server(),
            items: 77,
            resized: (!said().is_empty()).then(lengths),
        },
        FillFault::Resized { server: server(), resized: 9, hits: 10, lengths: lengths() },
        FillFault::NoMemcached {
            server: server(),
            answered: 1,
            intended: 10,
            said: said(),
            protocol: Protocol::Text,
        },
    ]
}

fn place_of_fill(fault: &FillFault) -> usize {
    match fault {
        FillFault::WindowsUnfilled { .. } => 0,
        FillFault::Unfilled { .. } => 1,
        FillFault::Breach { .. } => 2,
        FillFault::Unserved { .. } => 3,
        FillFault::Silence { .. } => 4,
        FillFault::Gone { .. } => 5,
        FillFault::NoRoom(_) => 6,
        FillFault::Foreign { .. } => 7,
        FillFault::Resized { .. } => 8,
        FillFault::NoMemcached { .. } => 9,
    }
}

#[test]
fn every_fault_reads_as_a_sentence_with_its_exit_code() {
    let faults = every_fault();
    assert_eq!(faults.iter().map(place).collect::<Vec<_>>(), (0..14).collect::<Vec<_>>());
    let mut all = faults;
    for said in ["", "; it answered 'SERVER_ERROR out of memory'"] {
        let of_fill = every_fault_of_a_fill(said);
        let places: Vec<usize> = of_fill.iter().map(place_of_fill).collect();
        assert_eq!(places, (0..10).collect::<Vec<_>>());
        all.extend(of_fill.into_iter().map(Fault::Fill));
    }
    for fault in all {
        let Failure { exit, message } = Failure::from(fault.clone());
        assert_eq!(flaw(&message), None);
        assert!(message.len() > 20 && !message.ends_with('.'), "{message}");
        assert!([1, 2, 3, 130].contains(&exit), "{message}");
        let names = matches!(fault, Fault::Fill(FillFault::WindowsUnfilled { .. }))
            || !matches!(fault, Fault::Fill(_))
            || message.contains("10.0.0.1:11211");
        assert!(names, "the server is not named: {message}");
    }
}
