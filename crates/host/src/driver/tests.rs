//! Properties of every driver, tested on real sockets of the loopback interface. Nothing here
//! depends on speed.

use crate::clock::Clock;
use crate::driver::epoll::{AHEAD_MAX, EpollDriver};
use crate::driver::guard::{self, ConnectGuard};
use crate::driver::peer::Peers;
use crate::driver::uring::{UringDriver, check_uring};
use memtide_base::{ConnectionId, Full, Instant, Span};
use memtide_world::driver::{Closed, ConnectError, Driver, Event, Sample, Submitted};
use memtide_world::{Address, Message, SendBuffer, SocketOptions, Wait};
use socket2::SockRef;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// A completion without borrowed bytes.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Connected,
    ConnectFailed(ConnectError),
    Received(Vec<u8>),
    Writable,
    Closed(Closed),
}

const LONG: Span = Span::from_s(60);

/// The constructor of a driver.
trait Make: Driver + Sized {
    fn of(peers: Peers) -> Self;

    fn make(wait: Wait, connections: u32, samples: Option<SyncSender<Sample>>) -> Self {
        Self::of(Peers::new(Clock::start(), wait, connections, samples, ConnectGuard::default()))
    }
}

impl Make for EpollDriver {
    fn of(peers: Peers) -> Self {
        Self::new(peers, AHEAD_MAX).expect("an epoll can be made")
    }
}

impl Make for UringDriver {
    fn of(peers: Peers) -> Self {
        Self::new(peers).expect("an io_uring can be made")
    }
}

/// Makes tests of functions, one for each driver that this kernel allows.
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
    driver.connect(ConnectionId(id), address, None, SocketOptions::default());
}

fn send(driver: &mut impl Driver, id: u32, bytes: &[u8]) -> Submitted {
    send_message(driver, id, Message::plain(bytes))
}

fn send_message(driver: &mut impl Driver, id: u32, message: Message<'_>) -> Submitted {
    driver.send(ConnectionId(id), message)
}

fn close(driver: &mut impl Driver, id: u32) {
    end(driver, id, None);
}

fn end(driver: &mut impl Driver, id: u32, linger: Option<Span>) {
    driver.close(ConnectionId(id), linger);
}

/// The next completion that was not taken yet.
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
    let (stream, _) = listener.accept().expect("a client connects");
    assert_eq!(next(driver), (id, Heard::Connected));
    stream
}

for_every_driver! {
    bytes_go_both_ways_and_a_close_is_heard,
    small_sends_are_held_back_only_if_they_may_be,
    the_last_bytes_and_the_end_after_them_are_both_heard,
    what_a_server_says_before_anything_was_looked_at_is_heard,
    a_wait_does_not_end_because_the_server_reads,
    more_than_is_received_at_once_is_heard_to_its_end,
    bytes_are_heard_while_others_wait_to_be_sent,
    nobody_listening_is_a_refusal,
    an_address_that_is_refused_hears_nothing,
    a_unix_socket_that_is_not_there_is_named_so,
    what_the_socket_does_not_take_is_kept_and_sent_in_order,
    a_message_waits_for_the_rest_of_the_one_before_whatever_was_sent_between,
    large_values_arrive_byte_for_byte_at_a_slow_reader,
    slices_of_several_connections_do_not_mix,
    a_message_of_many_slices_is_sent_whole,
    a_reset_is_heard_once_even_with_bytes_left_over,
    answers_to_what_came_together_arrive_whole_and_in_order,
    what_was_said_before_a_close_arrives,
    a_closed_connection_is_not_heard_of_any_more,
    the_next_connection_of_a_number_does_not_hear_of_the_last_one,
    closing_takes_back_what_was_about_to_be_heard,
    an_end_is_in_good_order_and_one_without_linger_a_reset_that_frees_its_port,
    a_wait_without_events_ends_at_its_instant,
    an_export_that_nobody_takes_is_refused,
}

fn an_address_that_is_refused_hears_nothing<D: Make>() {
    let (listener, allowed) = listener();
    let (other, address) = self::listener();
    other.set_nonblocking(true).expect("it can be set");
    let datagrams = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let folder = std::env::temp_dir().join(format!("memtide-refused-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for a socket");
    let path = folder.join(std::any::type_name::<D>().replace("::", "."));
    let unix = UnixListener::bind(&path).expect("a free path");
    unix.set_nonblocking(true).expect("it can be set");

    let only = allowed.clone();
    let guard = ConnectGuard::new(move |address| *address == only);
    let mut driver = D::of(Peers::new(Clock::start(), Wait::Sleep, 2, None, guard.clone()));
    connect(&mut driver, 0, &allowed);
    let (_stream, _) = listener.accept().expect("a client connects");
    assert_eq!(next(&mut driver), (0, Heard::Connected));
    assert_eq!(guard.refused(), None);

    let udp = Address::Udp(datagrams.local_addr().expect("it is bound"));
    let in_file_system = Address::Unix(path.to_str().expect("it is UTF-8").to_owned());
    for refused in [&address, &udp, &in_file_system] {
        connect(&mut driver, 1, refused);
        let error = guard::refusal(refused);
        assert_eq!(next(&mut driver), (1, Heard::ConnectFailed(error)), "{refused}");
    }
    assert_eq!(guard.refused(), Some(&address));
    let nothing = |error: std::io::Error| error.kind();
    assert_eq!(other.accept().map_err(nothing).err(), Some(ErrorKind::WouldBlock));
    assert_eq!(unix.accept().map_err(nothing).err(), Some(ErrorKind::WouldBlock));
    std::fs::remove_file(&path).expect("it was there");
    let _ = std::fs::remove_dir(&folder);
}

fn small_sends_are_held_back_only_if_they_may_be<D: Make>() {
    for nagle in [false, true] {
        let mut driver = D::make(Wait::Sleep, 1, None);
        let (listener, address) = listener();
        let sockets = SocketOptions { nagle, ..SocketOptions::default() };
        driver.connect(ConnectionId(0), &address, None, sockets);
        let (_stream, client) = listener.accept().expect("a client connects");
        assert_eq!(next(&mut driver), (0, Heard::Connected));
        assert_eq!(has_nodelay(client), !nagle);
    }
}

/// True if the socket of this process that is bound to `local` has TCP_NODELAY.
fn has_nodelay(local: SocketAddr) -> bool {
    let open = std::fs::read_dir("/proc/self/fd").expect("it can be listed");
    let numbers = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_it = |number: &i32| {
        // SAFETY: the descriptor is only queried for its name. If another test closes it meanwhile,
        // the query fails.
        let socket = unsafe { BorrowedFd::borrow_raw(*number) };
        SockRef::from(&socket).local_addr().is_ok_and(|name| name.as_socket() == Some(local))
    };
    let number = numbers.into_iter().find(is_it).expect("the socket is open");
    // SAFETY: the driver under test keeps this socket open.
    let socket = unsafe { BorrowedFd::borrow_raw(number) };
    SockRef::from(&socket).tcp_nodelay().expect("it is a socket of TCP")
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

fn the_last_bytes_and_the_end_after_them_are_both_heard<D: Make>() {
    for _ in 0..20 {
        let mut driver = D::make(Wait::Sleep, 1, None);
        let mut server = open(&mut driver, 0);
        server.write_all(b"bye").expect("it is sent");
        drop(server);
        assert_eq!(next(&mut driver), (0, Heard::Received(b"bye".to_vec())));
        assert_eq!(next(&mut driver), (0, Heard::Closed(Closed::ByPeer)));
    }
}

/// The opening, bytes and the end come as one event.
fn what_a_server_says_before_anything_was_looked_at_is_heard<D: Make>() {
    for _ in 0..20 {
        let mut driver = D::make(Wait::Sleep, 1, None);
        let (listener, address) = listener();
        connect(&mut driver, 0, &address);
        let (mut server, _) = listener.accept().expect("a client connects");
        server.write_all(b"hello").expect("it is sent");
        drop(server);
        assert_eq!(next(&mut driver), (0, Heard::Connected));
        assert_eq!(next(&mut driver), (0, Heard::Received(b"hello".to_vec())));
        assert_eq!(next(&mut driver), (0, Heard::Closed(Closed::ByPeer)));
    }
}

/// Room in a socket is no event unless a send found none.
fn a_wait_does_not_end_because_the_server_reads<D: Make>() {
    const READS: usize = 20;
    let path = std::env::temp_dir().join(format!(
        "memtide-{}-{:?}",
        std::process::id(),
        thread::current().id()
    ));
    drop(std::fs::remove_file(&path));
    let local = UnixListener::bind(&path).expect("the path is free");
    let mut driver = D::make(Wait::Sleep, 2, None);
    connect(&mut driver, 0, &Address::Unix(path.to_str().expect("it is text").to_owned()));
    assert_eq!(next(&mut driver), (0, Heard::Connected));
    let mut servers: [Box<dyn Read + Send>; 2] =
        [Box::new(local.accept().expect("a client connects").0), Box::new(open(&mut driver, 1))];
    std::fs::remove_file(&path).expect("it is there");
    for id in [0, 1] {
        for _ in 0..READS {
            assert_eq!(send(&mut driver, id, b"x"), Submitted::Done);
            driver.wait(Instant::ZERO).expect("waiting works");
        }
    }
    let reader = thread::spawn(move || {
        for _ in 0..READS {
            thread::sleep(Duration::from_millis(5));
            for server in &mut servers {
                server.read_exact(&mut [0]).expect("it arrives");
            }
        }
        servers
    });
    let (until, mut waits) = (driver.now() + Span::from_ms(300), 0);
    while driver.now() < until {
        driver.wait(until).expect("waiting works");
        assert_eq!(heard(&mut driver), None);
        waits += 1;
    }
    drop(reader.join().expect("everything arrives"));
    assert!(waits < READS / 2, "{waits} waits ended early");
}

fn more_than_is_received_at_once_is_heard_to_its_end<D: Make>() {
    let mut driver = D::make(Wait::Sleep, 2, None);
    let (mut many, mut few) = (open(&mut driver, 0), open(&mut driver, 1));
    let sent = pool(3 << 20);
    let expected = sent.clone();
    let writer = thread::spawn(move || {
        many.write_all(&sent).expect("somebody reads");
        many
    });
    few.write_all(b"too").expect("it is sent");
    let (mut received, mut others) = (Vec::new(), Vec::new());
    while received.len() < expected.len() || others.len() < 3 {
        match next(&mut driver) {
            (0, Heard::Received(bytes)) => received.extend(bytes),
            (1, Heard::Received(bytes)) => others.extend(bytes),
            other => panic!("nobody did that: {other:?}"),
        }
    }
    assert!(received[..] == expected[..] && others == b"too", "not what was sent");
    let mut many = writer.join().expect("everything was sent");
    many.write_all(b"and more").expect("it is sent");
    assert_eq!(next(&mut driver), (0, Heard::Received(b"and more".to_vec())));
}

fn bytes_are_heard_while_others_wait_to_be_sent<D: Make>() {
    const PIECE: usize = 1 << 20;
    let mut driver = D::make(Wait::Sleep, 1, None);
    let mut server = open(&mut driver, 0);
    let mut sent = PIECE;
    while send(&mut driver, 0, &vec![7; PIECE]) == Submitted::Done {
        sent += PIECE;
        assert!(sent < 200 * PIECE, "no socket buffer is that large");
    }
    for _ in 0..3 {
        server.write_all(b"early").expect("it is sent");
        assert_eq!(next(&mut driver), (0, Heard::Received(b"early".to_vec())));
    }
    let reader = thread::spawn(move || {
        let mut buffer = vec![0; sent];
        server.read_exact(&mut buffer).expect("it arrives");
        server
    });
    assert_eq!(next(&mut driver), (0, Heard::Writable));
    let mut server = reader.join().expect("everything arrives");
    server.write_all(b"late").expect("it is sent");
    assert_eq!(next(&mut driver), (0, Heard::Received(b"late".to_vec())));
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

/// Messages to another connection came between two of one connection. The first found its socket
/// full, and the second was sent before its rest, in the middle of a line.
fn a_message_waits_for_the_rest_of_the_one_before_whatever_was_sent_between<D: Make>() {
    let mut driver = D::make(Wait::Sleep, 2, None);
    let (listener, address) = listener();
    SockRef::from(&listener).set_recv_buffer_size(4_096).expect("it can be set");
    let sockets = SocketOptions { send_buffer_bytes: Some(4_096), ..SocketOptions::default() };
    driver.connect(ConnectionId(0), &address, None, sockets);
    let (mut server, _) = listener.accept().expect("a client connects");
    assert_eq!(next(&mut driver), (0, Heard::Connected));
    let _other = open(&mut driver, 1);
    let (first, second) = (pool(200 * 1024), b"second");
    send(&mut driver, 0, &first);
    send(&mut driver, 1, b"between");
    assert_eq!(send(&mut driver, 0, second), Submitted::Pending, "the socket is full");
    // Once all that has arrived is read, it has room.
    let mut got = vec![0; first.len() + second.len()];
    let mut early = 0;
    server.set_read_timeout(Some(Duration::from_millis(20))).expect("it can be set");
    while let Ok(bytes) = server.read(&mut got[early..]) {
        early += bytes;
    }
    server.set_read_timeout(None).expect("it can be set");
    driver.wait(Instant::ZERO).expect("waiting works");
    let reader = thread::spawn(move || {
        server.read_exact(&mut got[early..]).expect("it arrives");
        got
    });
    assert_eq!(next(&mut driver), (0, Heard::Writable));
    let got = reader.join().expect("everything arrives");
    assert!(got == [&first[..], second].concat(), "it is in another order than it was sent");
}

/// Bytes in which all runs of 4 bytes differ from each other.
fn pool(bytes: usize) -> Arc<[u8]> {
    (0..bytes / 4).flat_map(|n| (n as u32).wrapping_mul(0x9e37_79b1).to_le_bytes()).collect()
}

/// A line, a part of the pool, and a line's end: the form in which a value is stored.
fn store(buffer: &mut SendBuffer, pool: &Arc<[u8]>, place: Range<usize>) {
    buffer.bytes_mut().extend_from_slice(format!("set {place:?}\r\n").as_bytes());
    buffer.push_pooled(pool, place);
    buffer.bytes_mut().extend_from_slice(b"\r\n");
}

fn bytes_of(buffer: &SendBuffer) -> Vec<u8> {
    buffer.message().flat(&mut Vec::new()).to_vec()
}

fn large_values_arrive_byte_for_byte_at_a_slow_reader<D: Make>() {
    const VALUE: usize = 1 << 20;
    let pool = pool(2 * VALUE);
    let mut driver = D::make(Wait::Sleep, 1, None);
    let mut server = open(&mut driver, 0);
    let mut messages = Vec::new();
    let mut offer = |driver: &mut D, values: usize| {
        let mut message = SendBuffer::default();
        for _ in 0..values {
            let from = messages.len() * 4_099;
            store(&mut message, &pool, from..from + VALUE);
        }
        let submitted = send_message(driver, 0, message.message());
        messages.push(message);
        assert!(messages.len() < 200, "no socket buffer is that large");
        submitted
    };
    while offer(&mut driver, 1) == Submitted::Done {}
    // The socket is now most likely full in the middle of a value; these messages come after it.
    for values in [0, 2, 1] {
        assert_eq!(offer(&mut driver, values), Submitted::Pending);
    }
    let reader = thread::spawn(move || {
        let mut buffer = vec![0; 7_919];
        for (number, message) in messages.iter().enumerate() {
            for expected in bytes_of(message).chunks(buffer.len()) {
                let got = &mut buffer[..expected.len()];
                server.read_exact(got).expect("it arrives");
                assert!(got == expected, "message {number} is whole");
                thread::yield_now();
            }
        }
        server
    });
    assert_eq!(next(&mut driver), (0, Heard::Writable));
    let mut server = reader.join().expect("everything arrives in order");
    assert!(!driver.has_unsent());
    let mut small = SendBuffer::default();
    store(&mut small, &pool, 5..9_000);
    assert_eq!(send_message(&mut driver, 0, small.message()), Submitted::Done);
    driver.wait(Instant::ZERO).expect("waiting works");
    let mut got = vec![0; small.len()];
    server.read_exact(&mut got).expect("it arrives");
    assert!(got == bytes_of(&small));
}

fn slices_of_several_connections_do_not_mix<D: Make>() {
    let pools = [pool(64 * 1024), pool(128 * 1024)];
    let mut driver = D::make(Wait::Sleep, 3, None);
    let mut servers = [0, 1, 2].map(|id| open(&mut driver, id));
    let mut expected = [const { Vec::new() }; 3];
    // For each step: the connection, the number of values, and true for the second pool.
    let steps =
        [(0, 1, 0), (1, 0, 0), (1, 2, 0), (1, 0, 0), (2, 1, 0), (2, 1, 1), (0, 3, 1), (2, 0, 0)];
    for (number, (id, values, second)) in steps.into_iter().enumerate() {
        let mut message = SendBuffer::default();
        message.bytes_mut().extend_from_slice(format!("step {number}\r\n").as_bytes());
        for value in 0..values {
            store(&mut message, &pools[second], number + value..20_000 + 17 * value);
        }
        assert_eq!(send_message(&mut driver, id as u32, message.message()), Submitted::Done);
        expected[id].extend(bytes_of(&message));
    }
    driver.wait(Instant::ZERO).expect("waiting works");
    for (server, expected) in servers.iter_mut().zip(&expected) {
        let mut got = vec![0; expected.len()];
        server.read_exact(&mut got).expect("it arrives");
        assert!(got == *expected);
    }
}

fn a_message_of_many_slices_is_sent_whole<D: Make>() {
    let pool = pool(1_024);
    let mut driver = D::make(Wait::Sleep, 1, None);
    let mut server = open(&mut driver, 0);
    let mut message = SendBuffer::default();
    for number in 0..300 {
        store(&mut message, &pool, number..2 * number + 1);
    }
    let submitted = send_message(&mut driver, 0, message.message());
    let deadline = driver.now() + LONG;
    while driver.has_unsent() && driver.now() < deadline {
        driver.wait(driver.now() + Span::from_ms(1)).expect("waiting works");
        if let Some(heard) = heard(&mut driver) {
            assert_eq!((heard, submitted), ((0, Heard::Writable), Submitted::Pending));
        }
    }
    let mut got = vec![0; message.len()];
    server.read_exact(&mut got).expect("it arrives");
    assert!(got == bytes_of(&message));
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

fn answers_to_what_came_together_arrive_whole_and_in_order<D: Make>() {
    const CONNECTIONS: u32 = 20;
    let mut driver = D::make(Wait::Sleep, CONNECTIONS, None);
    let mut servers: Vec<_> = (0..CONNECTIONS).map(|id| open(&mut driver, id)).collect();
    let long = vec![b'x'; 20_000];
    for server in &mut servers {
        server.write_all(b"ask").expect("it is sent");
    }
    let mut expected = vec![Vec::new(); servers.len()];
    let mut say = |driver: &mut D, id: u32, bytes: &[u8]| {
        assert_eq!(send(driver, id, bytes), Submitted::Done);
        expected[id as usize].extend_from_slice(bytes);
    };
    for turn in 0..CONNECTIONS {
        let (id, what) = next(&mut driver);
        assert_eq!(what, Heard::Received(b"ask".to_vec()));
        say(&mut driver, id, b"answer");
        say(&mut driver, 0, &[b'0' + (turn % 10) as u8]);
        say(&mut driver, id, if turn % 3 == 0 { &long } else { b"end" });
    }
    driver.wait(Instant::ZERO).expect("waiting works");
    for (server, expected) in servers.iter_mut().zip(&expected) {
        let mut told = vec![0; expected.len()];
        server.read_exact(&mut told).expect("it arrives");
        assert!(told == *expected, "not in the order in which it was said");
    }
}

fn what_was_said_before_a_close_arrives<D: Make>() {
    let mut driver = D::make(Wait::Sleep, 2, None);
    let mut servers = [open(&mut driver, 0), open(&mut driver, 1)];
    for server in &mut servers {
        server.write_all(b"ask").expect("it is sent");
    }
    driver.wait(driver.now() + LONG).expect("waiting works");
    let (id, _) = heard(&mut driver).expect("one of them");
    assert_eq!(send(&mut driver, id, b"bye"), Submitted::Done);
    close(&mut driver, id);
    let mut told = Vec::new();
    servers[id as usize].read_to_end(&mut told).expect("it ends in good order");
    assert_eq!(told, b"bye");
}

fn a_closed_connection_is_not_heard_of_any_more<D: Make>() {
    let mut driver = D::make(Wait::Sleep, 2, None);
    let mut first = open(&mut driver, 0);
    let mut second = open(&mut driver, 1);
    first.write_all(b"stale").expect("it is sent");
    second.write_all(b"stale").expect("it is sent");
    // On loopback, written bytes can be read at once, so both events are there after one wait;
    // handling the first closes the other connection.
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
    let (mut new, _) = listener.accept().expect("a client connects");
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

fn an_end_is_in_good_order_and_one_without_linger_a_reset_that_frees_its_port<D: Make>() {
    let mut driver = D::make(Wait::Sleep, 1, None);
    for (linger, reset) in [(None, false), (Some(Span::ZERO), true), (Some(Span::from_s(1)), false)]
    {
        for round in 0..50 {
            let mut server = open(&mut driver, 0);
            assert_eq!(send(&mut driver, 0, b"last"), Submitted::Done);
            driver.wait(Instant::ZERO).expect("waiting works");
            let mut got = [0; 4];
            server.read_exact(&mut got).expect("it arrives");
            let port = server.peer_addr().expect("it is connected").port();
            let to = server.local_addr().expect("it is connected").port();
            end(&mut driver, 0, linger);
            // An io_uring releases the socket when it is called next.
            driver.wait(Instant::ZERO).expect("waiting works");
            match server.read(&mut got) {
                Ok(0) => assert!(!reset, "an end in good order, round {round}"),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    assert!(reset, "a reset, round {round}");
                    assert!(!is_known(port, to), "port {port} is free, round {round}");
                }
                other => panic!("{other:?} with linger {linger:?}"),
            }
        }
    }
    assert_eq!(heard(&mut driver), None, "of what was closed nothing is heard");
}

/// True if the kernel still knows the connection from `client` to `server`, two ports of the
/// loopback interface.
fn is_known(client: u16, server: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("Linux has this table");
    let ends = format!(" 0100007F:{client:04X} 0100007F:{server:04X} ");
    table.lines().any(|line| line.contains(&ends))
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
        begun: Instant::ZERO,
        index: 0,
        key: 0,
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

#[test]
fn sockets_are_made_as_the_plan_says() {
    let (_listener, address) = listener();
    let made = |plan| {
        let (socket, _) = crate::driver::socket::connect(&address, None, plan).expect("a socket");
        let sizes = (socket.send_buffer_size().unwrap(), socket.recv_buffer_size().unwrap());
        (sizes, socket.tcp_nodelay().unwrap())
    };
    let (usual, nodelay) = made(SocketOptions::default());
    assert!(nodelay);
    let small = SocketOptions {
        send_buffer_bytes: Some(4096),
        receive_buffer_bytes: Some(16_384),
        nagle: true,
        ..SocketOptions::default()
    };
    // The kernel doubles the requested size, and has a minimum of its own.
    let ((send, receive), nodelay) = made(small);
    assert!((8192..=16_384).contains(&send) && send < usual.0, "{send} of {}", usual.0);
    assert!((32_768..=65_536).contains(&receive) && receive < usual.1, "{receive}");
    assert!(!nodelay);
}

#[test]
fn the_kernel_polls_as_long_as_the_plan_says_or_the_refusal_is_named() {
    let (_listener, address) = listener();
    let options = SocketOptions { busy_poll: Some(Span::from_us(50)), ..SocketOptions::default() };
    match crate::driver::socket::connect(&address, None, options) {
        Ok((socket, _)) => assert_eq!(busy_poll_us(&socket), 50),
        Err(ConnectError::OptionRefused { option, .. }) => {
            assert_eq!(option, "SO_BUSY_POLL");
            let mut out = std::io::stderr();
            let _ = writeln!(out, "skipped: SO_BUSY_POLL takes CAP_NET_ADMIN here");
        }
        Err(other) => panic!("{other:?}"),
    }
}

fn busy_poll_us(socket: &socket2::Socket) -> libc::c_int {
    let mut us = 0;
    let mut bytes = size_of_val(&us) as libc::socklen_t;
    // SAFETY: both places outlive the call, and the length is that of the number.
    let code = unsafe {
        libc::getsockopt(
            std::os::fd::AsRawFd::as_raw_fd(socket),
            libc::SOL_SOCKET,
            libc::SO_BUSY_POLL,
            (&raw mut us).cast(),
            &raw mut bytes,
        )
    };
    assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
    us
}
