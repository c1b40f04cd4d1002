//! Peers that do not prove themselves. None of them stops the network, and none learns anything.

use crate::peers::{
    Keys, LIMIT, LOOPBACK, at_agent, at_master, clock, closed, named, note, opened, opened_at,
    ping, said, turned, turned_at,
};
use memtide_cluster::join::{Join, Token};
use memtide_cluster::message::from_agent;
use memtide_cluster::transport::{AgentNet, FromMaster, FromNet, MasterNet};
use ring::rand::SystemRandom;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

fn strange_token() -> Token {
    Token::make(&SystemRandom::new()).unwrap()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

/// Sends bytes, and returns all bytes that come back until the other end closes.
fn answer(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(address);
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// True for a TLS 1.3 alert or nothing: at most 7 bytes of plaintext that name the error.
fn is_alert(answer: &[u8]) -> bool {
    answer.is_empty() || (answer[0] == 0x15 && answer.len() <= 7)
}

/// Bytes that are no TLS.
const NOT_TLS: [&[u8]; 4] = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
    b"version\r\nstats\r\n",
    &[0x5a; 4096],
];

#[test]
fn plaintext_is_turned_away_by_both_ends() {
    let keys = Keys::new();
    let master = keys.waiting();
    let agent = keys.listening("a1");
    for bytes in NOT_TLS {
        assert!(is_alert(&answer(master.local_address().unwrap(), bytes)));
        let why = turned(&master);
        assert!(why.contains("did not send TLS") && why.contains("for memtide only"), "{why}");
        assert!(is_alert(&answer(agent.local_address().unwrap(), bytes)));
        let why = turned_at(&agent);
        assert!(why.contains("did not send TLS"), "{why}");
    }
    let other = keys.agent(&master, "a2");
    opened_at(&other);
}

#[test]
fn a_port_scanner_is_turned_away() {
    let keys = Keys::new();
    let master = keys.waiting();
    for _ in 0..3 {
        connect(master.local_address().unwrap()).shutdown(Shutdown::Both).unwrap();
        let why = turned(&master);
        assert!(why.contains("port scanner") || why.contains("broke"), "{why}");
    }
    opened_at(&keys.agent(&master, "a1"));
}

#[test]
fn a_silent_peer_is_closed_after_five_seconds_without_a_word() {
    let keys = Keys::new();
    let master = keys.waiting();
    assert!(answer(master.local_address().unwrap(), b"").is_empty());
    let why = turned(&master);
    assert_eq!(why, "it did not finish the TLS handshake within 5 s");
    // A part of a ClientHello is refused, too.
    assert!(answer(master.local_address().unwrap(), b"\x16\x03\x01\x02\x00\x01").is_empty());
    assert_eq!(turned(&master), why);
}

#[test]
fn an_agent_with_another_token_is_turned_away_and_says_so() {
    let keys = Keys::new();
    let master = keys.waiting();
    let join = Join { token: strange_token(), ..keys.join_of(&master) };
    let agent = named(AgentNet::dial(&join, clock).unwrap(), "stranger");
    let why = turned(&master);
    assert!(why.contains("has another token than this master"), "{why}");
    let why = turned_at(&agent);
    let begins = "it refused the token of the join file";
    assert!(why.starts_with(begins) && why.contains("copy the master's join file"), "{why}");
    // The master continues to dial, and no caller sees the peer as an agent.
    turned(&master);
    assert_eq!(agent.next(Duration::from_millis(500)), None);
}

#[test]
fn an_agent_does_not_speak_to_a_master_with_another_key() {
    let keys = Keys::new();
    let master = keys.waiting();
    let other = Keys::new();
    let address = master.local_address().unwrap().to_string();
    let join = Join { address, ..other.join.clone() };
    let agent = named(AgentNet::dial(&join, clock).unwrap(), "a1");
    let why = turned_at(&agent);
    assert!(why.starts_with("its key is ") && why.contains("copy the join file"), "{why}");
    let why = turned(&master);
    assert!(why.contains("its join file belongs to another master"), "{why}");
    assert_eq!(agent.next(Duration::from_millis(500)), None);
}

#[test]
fn a_listening_agent_says_nothing_to_a_master_with_another_key() {
    let keys = Keys::new();
    let agent = keys.listening("a1");
    let other = Keys::new();
    let master = other.dialing(&[&agent]);
    let why = turned_at(&agent);
    assert!(why.contains("but the join file names"), "{why}");
    // A close that overtakes the refusal is a reason of its own; the master dials again.
    at_master(&master, |event| match event {
        FromNet::Turned { why, .. } => {
            assert!(why.contains("copy this master's join file to it"), "{why}");
            why.starts_with("it refused this master's key").then_some(())
        }
        FromNet::Opened { .. } => panic!("{event:?}"),
        _ => None,
    });
    // The right master is served.
    let master = keys.dialing(&[&agent]);
    assert_eq!(opened(&master).1.name, "a1");
}

#[test]
fn a_listening_agent_demands_a_certificate() {
    let keys = Keys::new();
    let agent = keys.listening("a1");
    // The other end dials as a master does, but without a certificate.
    let address = agent.local_address().unwrap().to_string();
    let join = Join { address, ..keys.join.clone() };
    let dialing = named(AgentNet::dial(&join, clock).unwrap(), "a2");
    let why = turned_at(&dialing);
    assert!(why.contains("but the join file names"), "{why}");
    turned_at(&agent);
    let no_event = agent.next(Duration::from_millis(300));
    assert!(!matches!(no_event, Some(FromMaster::Opened { .. })), "{no_event:?}");
}

#[test]
fn a_listed_agent_with_another_token_is_not_reached() {
    let keys = Keys::new();
    let join = Join { token: strange_token(), ..keys.join.clone() };
    let agent = named(AgentNet::listen(LOOPBACK, &join, clock).unwrap(), "stranger");
    let master = keys.dialing(&[&agent]);
    let why = at_master(&master, |event| match event {
        FromNet::Turned { why, .. } => Some(why.clone()),
        FromNet::Opened { .. } => panic!("{event:?}"),
        _ => None,
    });
    assert!(why.contains("has another token than this master"), "{why}");
}

/// Opens connections that send nothing.
fn half_open(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    (0..count)
        .map(|_| {
            loop {
                // The kernel's queue may be full for a moment.
                if let Ok(stream) = TcpStream::connect_timeout(&address, LIMIT) {
                    break stream;
                }
            }
        })
        .collect()
}

#[test]
fn two_thousand_half_open_connections_keep_no_agent_out() {
    let keys = Keys::new();
    let master = keys.waiting();
    let agent = keys.agent(&master, "before");
    let (peer, _) = opened(&master);
    let address = master.local_address().unwrap();
    let mut strangers = half_open(address, 500);
    let late = keys.agent(&master, "during");
    strangers.extend(half_open(address, 1500));
    let mut notes = Vec::new();
    let end = Instant::now() + LIMIT;
    let mut joined = false;
    while !joined && Instant::now() < end {
        match master.next(Duration::from_millis(100)) {
            Some(FromNet::Opened { hello, .. }) => joined = hello.name == "during",
            Some(FromNet::Turned { why, .. }) => notes.push(why),
            Some(other) => panic!("{other:?}"),
            None => {}
        }
    }
    assert!(joined, "{notes:?}");
    opened_at(&late);
    let floods = notes.iter().filter(|why| why.contains("more than 64 peers")).count();
    assert!(floods <= 1, "{notes:?}");
    // The first agent is served as before.
    for number in 0..20 {
        master.send(peer, ping(number));
        assert!(matches!(said(&master), from_agent::What::Pong(pong) if pong.number == number));
    }
    agent.send(note("still here"));
    assert!(matches!(said(&master), from_agent::What::Note(_)));
    let sum = at_master(&master, |event| match event {
        FromNet::Turned { why, .. } if why.contains("the flood") => Some(why.clone()),
        _ => None,
    });
    let counted: usize = sum.split(' ').find_map(|word| word.parse().ok()).unwrap();
    assert!((1..=2000).contains(&counted), "{sum}");
    drop(strangers);
}

#[test]
fn a_flood_of_scanners_is_no_flood_of_sentences() {
    let keys = Keys::new();
    let master = keys.waiting();
    let address = master.local_address().unwrap();
    let start = Instant::now();
    let mut count = 0_u64;
    while start.elapsed() < Duration::from_secs(2) {
        let _ = connect(address).write_all(b"GET / HTTP/1.0\r\n\r\n");
        count += 1;
    }
    let mut sentences = 0;
    while let Some(event) = master.next(Duration::from_millis(1500)) {
        assert!(matches!(event, FromNet::Turned { .. }), "{event:?}");
        sentences += 1;
    }
    let seconds = start.elapsed().as_secs() + 2;
    assert!(sentences <= 12 * seconds, "{sentences} sentences of {count} in {seconds} s");
}

/// Garbage after a valid handshake: an agent that knows the token and then violates the protocol.
#[test]
fn an_agent_that_vanishes_is_closed() {
    let keys = Keys::new();
    let master = keys.waiting();
    let address = master.local_address().unwrap();
    let proxy = Proxy::start(address);
    let join = Join { address: proxy.address.to_string(), ..keys.join.clone() };
    let agent = named(AgentNet::dial(&join, clock).unwrap(), "a1");
    let (peer, _) = opened(&master);
    opened_at(&agent);
    proxy.spoil();
    let why = closed(&master, peer);
    assert!(why.starts_with("it ") || why.starts_with("the connection broke"), "{why}");
    at_agent(&agent, |event| matches!(event, FromMaster::Closed { .. }).then_some(()));
    assert_eq!(master_is_alive(&keys, &master), "after");
}

fn master_is_alive(keys: &Keys, master: &MasterNet) -> String {
    let _agent = keys.agent(master, "after");
    at_master(master, |event| match event {
        FromNet::Opened { hello, .. } if hello.name == "after" => Some(hello.name.clone()),
        _ => None,
    })
}

/// A proxy that can be broken: it inserts bytes of its own into both directions.
struct Proxy {
    address: SocketAddr,
    ends: std::sync::mpsc::Receiver<[TcpStream; 2]>,
}

impl Proxy {
    fn start(to: SocketAddr) -> Self {
        let listener = std::net::TcpListener::bind(LOOPBACK).unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, ends) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            // One connection; the next dial is refused.
            let (near, _) = listener.accept().unwrap();
            let far = connect(to);
            near.set_read_timeout(None).unwrap();
            far.set_read_timeout(None).unwrap();
            sender.send([near.try_clone().unwrap(), far.try_clone().unwrap()]).unwrap();
            let pairs = [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)];
            for (mut from, mut to) in pairs {
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            }
        });
        Self { address, ends }
    }

    /// Inserts garbage into both directions.
    fn spoil(&self) {
        for mut end in self.ends.recv_timeout(LIMIT).unwrap() {
            end.write_all(&[0xff; 64]).unwrap();
        }
    }
}
