//! A fleet whose operator restricts its targets: a refused address gets no connection and ends the
//! run with an error that names it.

#[path = "../../engine/tests/rig/plan.rs"]
mod plan;

use memtide_base::Span;
use memtide_host::signal::StopFlag;
use memtide_host::{Clock, ConnectGuard, HostFleet};
use memtide_metrics::TallySum;
use memtide_world::driver::ConnectError;
use memtide_world::fleet::{Fleet, FleetError};
use memtide_world::plan::{Backoff, Reconnect};
use memtide_world::question::{AskError, Question};
use memtide_world::{Address, Io, Plan, ServerPlan, Window};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const LONG: Span = Span::from_s(20);

/// A closed loop of one worker with one connection.
fn plan(addresses: Vec<Address>) -> Plan {
    let base = plan::closed_plan();
    let first = Span::from_ms(1);
    Plan {
        servers: vec![ServerPlan { name: "web".to_owned(), addresses }],
        connections: 1,
        depth: 1,
        window: Window { warmup: Span::ZERO, duration: LONG, ..base.window },
        timeout: LONG,
        reconnect: Reconnect::After(Backoff { first, longest: first }),
        io: Io::Epoll,
        samples: false,
        ..base
    }
}

fn fleet(guard: ConnectGuard) -> HostFleet {
    HostFleet::new(Clock::start(), StopFlag::default(), &[], None, guard)
}

fn listener() -> (TcpListener, Address) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = Address::Tcp(listener.local_addr().expect("it is bound"));
    (listener, address)
}

/// The error with which a run of `plan` fails.
fn failure(fleet: &mut HostFleet, plan: &Plan) -> FleetError {
    fleet.start(plan, 0..1).expect("it starts");
    let mut totals = TallySum::new(&plan.shape());
    let deadline = fleet.now() + LONG;
    while fleet.now() < deadline {
        let until = fleet.now() + Span::from_ms(100);
        if let Err(error) = fleet.collect(until, &mut totals) {
            return error;
        }
    }
    panic!("the run goes on");
}

fn hears_nothing(listener: &TcpListener) {
    listener.set_nonblocking(true).expect("it can be set");
    let heard = listener.accept().map_err(|error| error.kind());
    assert_eq!(heard.err(), Some(ErrorKind::WouldBlock));
}

#[test]
fn a_run_with_an_address_that_is_refused_ends_by_its_name() {
    let (refused, address) = listener();
    let (_allowed, other) = listener();
    let only = other.clone();
    let guard = ConnectGuard::new(move |address| *address == only);
    let mut fleet = fleet(guard);
    // The run fails even if another address of the server is allowed.
    let plan = plan(vec![address.clone(), other]);
    assert_eq!(
        failure(&mut fleet, &plan).to_string(),
        format!("address {address} is not among the targets that this agent allows")
    );
    drop(fleet);
    hears_nothing(&refused);
}

#[test]
fn each_reconnect_is_decided_on() {
    let (listener, address) = listener();
    let allowed = Arc::new(AtomicBool::new(true));
    let (asked, is_allowed) = (Arc::clone(&allowed), allowed);
    let mut fleet = fleet(ConnectGuard::new(move |_| asked.load(Ordering::Relaxed)));
    let plan = plan(vec![address.clone()]);
    let server = listener.try_clone().expect("it can be shared");
    let peer = std::thread::spawn(move || {
        let connection = server.accept().expect("the first connect is allowed");
        is_allowed.store(false, Ordering::Relaxed);
        drop(connection);
    });
    let error = failure(&mut fleet, &plan);
    assert_eq!(error, FleetError::NotAllowed { address: address.to_string() });
    peer.join().expect("it ends");
    drop(fleet);
    hears_nothing(&listener);
}

#[test]
fn no_question_goes_to_an_address_that_is_refused() {
    let (refused, address) = listener();
    let mut fleet = fleet(ConnectGuard::new(|_| false));
    let plan = plan(vec![address.clone()]);
    let answer = fleet.ask(&plan, &plan.servers[0], Question::Statistics);
    let Address::Tcp(place) = address else { panic!("it listens for TCP") };
    assert_eq!(answer, Err(AskError::Connect(ConnectError::NotAllowed(Some(place)))));
    hears_nothing(&refused);
}
