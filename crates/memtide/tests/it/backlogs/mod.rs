//! Clients of the embedded server that request a lot and read nothing for a while: the server stays
//! small, serves others, and every answer arrives in the end.

use crate::hostile::peak_kib;
use crate::prelude::*;
use std::net::TcpStream;

/// Time limit for each awaited answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// The store's 64 MiB, the program, and the allowed backlog.
const MEMORY_KIB_MAX: u64 = 200 * 1024;
const VALUE_BYTES: usize = (1 << 20) - 100;

fn connect(server: &Peer) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn ask(stream: &mut TcpStream, request: &str, expected: &str) {
    stream.write_all(request.as_bytes()).unwrap();
    expect(stream, expected.as_bytes(), request);
}

fn expect(stream: &mut TcpStream, expected: &[u8], request: &str) {
    let mut answer = vec![0; expected.len()];
    stream.read_exact(&mut answer).unwrap();
    assert!(answer == expected, "another answer to {}", &request[..request.len().min(40)]);
}

/// One client requests a large value `rounds` times in single requests, another in one request;
/// neither reads anything while a third is served.
fn asked_and_not_taken(arguments: &str, rounds: usize) {
    let _turn = shared();
    let server = Peer::embedded(&format!("--memory 64MiB --threads 1 {arguments}"));
    let mut third = connect(&server);
    let value = "v".repeat(VALUE_BYTES);
    ask(&mut third, &format!("set b 0 0 {VALUE_BYTES}\r\n{value}\r\n"), "STORED\r\n");
    ask(&mut third, "set a 0 0 1\r\n1\r\n", "STORED\r\n");
    let (mut one, mut two) = (connect(&server), connect(&server));
    let single = "get b\r\n".repeat(rounds) + "get a\r\n";
    one.write_all(single.as_bytes()).unwrap();
    let keys_at_once = rounds.min(50);
    let at_once = format!("get {}a\r\n", "b ".repeat(keys_at_once));
    two.write_all(at_once.as_bytes()).unwrap();
    for _ in 0..200 {
        ask(&mut third, "get a none\r\n", "VALUE a 0 1\r\n1\r\nEND\r\n");
    }
    // Both have sent everything; that must not end their connections.
    two.shutdown(std::net::Shutdown::Write).unwrap();
    let found = format!("VALUE b 0 {VALUE_BYTES}\r\n{value}\r\n");
    let whole = format!("{found}END\r\n");
    for round in 0..rounds {
        expect(&mut one, whole.as_bytes(), &single);
        if round % 100 == 0 {
            ask(&mut third, "get a\r\n", "VALUE a 0 1\r\n1\r\nEND\r\n");
        }
    }
    expect(&mut one, b"VALUE a 0 1\r\n1\r\nEND\r\n", &single);
    (0..keys_at_once).for_each(|_| expect(&mut two, found.as_bytes(), &at_once));
    expect(&mut two, b"VALUE a 0 1\r\n1\r\nEND\r\n", &at_once);
    assert_eq!(two.read(&mut [0]).unwrap(), 0, "more than was asked for");
    ask(&mut one, "get none\r\n", "END\r\n");
    let peak = peak_kib(server.id());
    assert!(0 < peak && peak < MEMORY_KIB_MAX, "the server took {} MiB", peak / 1024);
}

#[test]
fn answers_that_are_not_taken_need_little_memory_and_hold_up_only_their_client() {
    asked_and_not_taken("", 3000);
}

#[test]
fn so_do_those_of_a_server_that_may_do_wrong() {
    asked_and_not_taken("--behaviour fixed:100us", 300);
    asked_and_not_taken("--fault garbage:0", 300);
}
