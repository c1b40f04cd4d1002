//! What holds of every driver, against real sockets on the loopback interface. Nothing here
//! depends on how fast anything is.

use crate::clock::Clock;
use crate::driver::epoll::EpollDriver;
use crate::driver::uring::{UringDriver, check_uring};
use memtide_base::{ConnectionId, Full, Instant, Span};
use memtide_engine::driver::{Closed, ConnectError, Driver, Event, Sample, Submission, Submitted};
use memtide_engine::{Address, Wait};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// A completion without borrowed bytes.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Connected,
    ConnectFailed(ConnectError),
    Received(Vec<u8>),
    Writable,
    Closed(Closed),
}

const LONG: Span = Span::from_s(20);

/// How a driver is made.
trait Make: Driver + Sized {
    fn make(wait: Wait, connections: u32, samples: Option<SyncSender<Sample>>) -> Self;
}

impl Make for EpollDriver {
    fn make(wait: Wait, connections: u32, samples: Option<SyncSender<Sample>>) -> Self {
        Self::new(Clock::start(), wait, connections, samples).expect("an epoll can be made")
    }
}

impl Make for UringDriver {
    fn make(wait: Wait, connections: u32, samples: Option<SyncSender<Sample>>) -> Self {
        Self::new(Clock::start(), wait, connections, samples).expect("an io_uring can be made")
    }
}

/// Makes tests of functions, for each driver that this kernel allows.
macro_rules! for_every_driver {
    ($($name:ident,)*) => {
        mod over_epoll {
            $(#[test] fn $name() { super::$name::<super::EpollDriver>(); })*
        }
        mod over_uring {
            $(#[test] fn $name() {
                if let Err(why) = super::check_uring() {
                    assert!(!why.is_empty(), "a reason is given");
                    return;
                }
                super::$name::<super::UringDriver>();
            })*
        }
    };
}

fn listener() -> (TcpListener, Address) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = Address::Tcp(listener.local_addr().expect("it is bound"));
    (listener, address)
}

fn connect(driver: &mut impl Driver, id: u32, address: &Address) {
    let connection = ConnectionId(id);
    let connect = Submission::Connect { connection, address, source: None };
    assert_eq!(driver.submit(connect), Ok(Submitted::Done));
}

fn send(driver: &mut impl Driver, id: u32, bytes: &[u8]) -> Submitted {
    let send = Submission::Send { connection: ConnectionId(id), bytes };
    driver.submit(send).expect("there is room")
}

fn close(driver: &mut impl Driver, id: u32) {
    let close = Submission::Close { connection: ConnectionId(id) };
    driver.submit(close).expect("there is room");
}

/// What completed and was not heard yet.
fn heard(driver: &mut impl Driver) -> Option<(u32, Heard)> {
    let completion = driver.completion()?;
    let heard = match completion.event {
        Event::Connected => Heard::Connected,
        Event::ConnectFailed(error) => Heard::ConnectFailed(error),
        Event::Received(bytes) => Heard::Received(bytes.to_vec()),
        Event::Writable => Heard::Writable,
        Event::Closed(closed) => Heard::Closed(closed),
    };
    Some((completion.connection.0, heard))
}

/// Waits until something completes.
fn next(driver: &mut impl Driver) -> (u32, Heard) {
    let deadline = driver.now() + LONG;
    while driver.now() < deadline {
        if let Some(heard) = heard(driver) {
            return heard;
        }
        driver.wait(deadline).expect("waiting works");
    }
    panic!("nothing happened");
}

/// An open connection and the server's end of it.
fn open(driver: &mut impl Driver, id: u32) -> TcpStream {
    let (listener, address) = listener();
    connect(driver, id, &address);
    let (stream, _) = listener.accept().expect("somebody connects");
    assert_eq!(next(driver), (id, Heard::Connected));
    stream
}

for_every_driver! {
    bytes_go_both_ways_and_a_close_is_heard,
    nobody_listening_is_a_refusal,
    a_unix_socket_that_is_not_there_is_named_so,
    what_the_socket_does_not_take_is_kept_and_sent_in_order,
    a_reset_is_heard_once_even_with_bytes_left_over,
    a_closed_connection_is_not_heard_of_any_more,
    the_next_connection_of_a_number_does_not_hear_of_the_last_one,
    closing_takes_back_what_was_about_to_be_heard,
    a_wait_without_events_ends_at_its_instant,
    an_export_that_nobody_takes_is_refused,
}

fn bytes_go_both_ways_and_a_close_is_heard<D: Make>() {
    for wait in [Wait::Sleep, Wait::Hybrid, Wait::Spin] {
        let mut driver = D::make(wait, 1, None);
        let mut server = open(&mut driver, 0);
        assert_eq!(send(&mut driver, 0, b"version\r\n"), Submitted::Done);
        driver.wait(Instant::ZERO).expect("waiting works");
        let mut asked = [0; 9];
        server.read_exact(&mut asked).expect("it arrives");
        assert_eq!(&asked, b"version\r\n");
        server.write_all(b"VERSION 1\r\n").expect("it is sent");
        assert_eq!(next(&mut driver), (0, Heard::Received(b"VERSION 1\r\n".to_vec())));
        drop(server);
        assert_eq!(next(&mut driver), (0, Heard::Closed(Closed::ByPeer)));
        assert_eq!(send(&mut driver, 0, b"x"), Submitted::Done, "it goes nowhere");
    }
}

fn nobody_listening_is_a_refusal<D: Make>() {
    let (listener, address) = listener();
    drop(listener);
    let mut driver = D::make(Wait::Sleep, 1, None);
    connect(&mut driver, 0, &address);
    assert_eq!(next(&mut driver), (0, Heard::ConnectFailed(ConnectError::Refused)));
}

fn a_unix_socket_that_is_not_there_is_named_so<D: Make>() {
    let mut driver = D::make(Wait::Sleep, 1, None);
    connect(&mut driver, 0, &Address::Unix("/nowhere/at/all".to_owned()));
    assert_eq!(next(&mut driver), (0, Heard::ConnectFailed(ConnectError::NoSuchPath)));
}

fn what_the_socket_does_not_take_is_kept_and_sent_in_order<D: Make>() {
    const PIECE: usize = 1 << 20;
    let mut driver = D::make(Wait::Sleep, 1, None);
    let mut server = open(&mut driver, 0);
    let piece = |number: u8| vec![number; PIECE];
    let mut pieces = 0u8;
    while send(&mut driver, 0, &piece(pieces)) == Submitted::Done {
        pieces += 1;
        assert!(pieces < 200, "no socket buffer is that large");
    }
    pieces += 1;
    for _ in 0..2 {
        assert_eq!(send(&mut driver, 0, &piece(pieces)), Submitted::Pending);
        pieces += 1;
    }
    let reader = thread::spawn(move || {
        let mut buffer = vec![0; PIECE];
        for number in 0..pieces {
            server.read_exact(&mut buffer).expect("it arrives");
            assert!(buffer.iter().all(|byte| *byte == number), "piece {number} is whole");
        }
        server
    });
    assert_eq!(next(&mut driver), (0, Heard::Writable));
    let mut server = reader.join().expect("everything arrives in order");
    assert_eq!(send(&mut driver, 0, b"after"), Submitted::Done);
    driver.wait(Instant::ZERO).expect("waiting works");
    let mut after = [0; 5];
    server.read_exact(&mut after).expect("it arrives");
    server.write_all(b"heard").expect("it is sent");
    assert_eq!(next(&mut driver), (0, Heard::Received(b"heard".to_vec())));
}

fn a_reset_is_heard_once_even_with_bytes_left_over<D: Make>() {
    let mut driver = D::make(Wait::Sleep, 1, None);
    let server = open(&mut driver, 0);
    while send(&mut driver, 0, &[7; 1 << 20]) == Submitted::Done {}
    // A socket that is closed with bytes unread resets its peer.
    drop(server);
    let (id, what) = next(&mut driver);
    assert_eq!(id, 0);
    assert!(matches!(what, Heard::Closed(Closed::Reset | Closed::ByPeer)), "{what:?}");
    driver.wait(Instant::ZERO).expect("waiting works");
    assert_eq!(heard(&mut driver), None);
}

fn a_closed_connection_is_not_heard_of_any_more<D: Make>() {
    let mut driver = D::make(Wait::Sleep, 2, None);
    let mut first = open(&mut driver, 0);
    let mut second = open(&mut driver, 1);
    first.write_all(b"stale").expect("it is sent");
    second.write_all(b"stale").expect("it is sent");
    // On loopback what is written can be read at once, so both are there after one wait; the one
    // that is heard first closes the other.
    driver.wait(driver.now() + LONG).expect("waiting works");
    let (id, _) = heard(&mut driver).expect("one of them");
    close(&mut driver, 1 - id);
    assert_eq!(heard(&mut driver), None);
}

fn the_next_connection_of_a_number_does_not_hear_of_the_last_one<D: Make>() {
    let mut driver = D::make(Wait::Sleep, 1, None);
    let mut old = open(&mut driver, 0);
    old.write_all(b"stale").expect("it is sent");
    driver.wait(driver.now() + LONG).expect("waiting works");
    close(&mut driver, 0);
    let (listener, address) = listener();
    connect(&mut driver, 0, &address);
    assert_eq!(heard(&mut driver), None, "what was ready belonged to the old socket");
    assert_eq!(next(&mut driver), (0, Heard::Connected));
    let (mut new, _) = listener.accept().expect("somebody connects");
    new.write_all(b"fresh").expect("it is sent");
    assert_eq!(next(&mut driver), (0, Heard::Received(b"fresh".to_vec())));
}

fn closing_takes_back_what_was_about_to_be_heard<D: Make>() {
    let mut driver = D::make(Wait::Sleep, 1, None);
    connect(&mut driver, 0, &Address::Unix("/nowhere/at/all".to_owned()));
    close(&mut driver, 0);
    driver.wait(Instant::ZERO).expect("waiting works");
    assert_eq!(heard(&mut driver), None);
}

fn a_wait_without_events_ends_at_its_instant<D: Make>() {
    for wait in [Wait::Sleep, Wait::Hybrid, Wait::Spin] {
        let mut driver = D::make(wait, 1, None);
        let until = driver.now() + Span::from_ms(3);
        while driver.now() < until {
            driver.wait(until).expect("waiting works");
        }
        driver.wait(Instant::ZERO).expect("an instant in the past only looks");
        assert_eq!(heard(&mut driver), None);
    }
}

fn an_export_that_nobody_takes_is_refused<D: Make>() {
    let (sender, receiver) = sync_channel(1);
    let mut driver = D::make(Wait::Sleep, 1, Some(sender));
    let sample = Sample {
        intended: Instant::ZERO,
        sent: Instant::ZERO,
        received: Instant::ZERO,
        kind: memtide_workload::OpKind::Get,
        outcome: memtide_workload::Outcome::Hit,
        bytes: 0,
        connection: 0,
    };
    assert_eq!(driver.export(sample), Ok(()));
    assert_eq!(driver.export(sample), Err(Full));
    assert_eq!(receiver.recv(), Ok(sample));
    assert_eq!(driver.export(sample), Ok(()));
}
