//! The assignment of connections: this is the only place that deals a run's connections to its
//! workers, their clients and the servers. The result is a function of the plan alone.

use super::{Clients, Pacing, Plan, Reach, Sharing, Transport};
use memtide_base::{ClientId, ConnectionId, ServerId, Table};
use memtide_workload::schedule::Lane;
use std::collections::BTreeMap;

/// The place of one connection in its run.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its number among all connections of the run.
    pub number: u32,
    /// The server that it leads to.
    pub server: ServerId,
    /// The client that uses it.
    pub client: ClientId,
    /// The transport of its bytes.
    pub transport: Transport,
    /// True if it is a socket for datagrams beside a client's streams.
    pub is_aside: bool,
}

/// The connections and the lane of one client of a worker.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    /// Its number among all clients of the run.
    pub number: u32,
    /// Its part of the run's one sequence of operations.
    pub lane: Lane,
    /// The first of its connections, which are consecutive.
    pub first: ConnectionId,
    /// The number of its connections.
    pub count: u32,
}

impl Plan {
    /// The number of connections of worker `worker`.
    pub fn connections_of(&self, worker: u16) -> u32 {
        let groups = self.connections / self.together();
        let (workers, worker) = (u32::from(self.workers), u32::from(worker));
        let of_worker = groups / workers + u32::from(worker < groups % workers);
        of_worker * self.together()
    }

    /// The number of connections of this process's workers.
    pub fn own_connections(&self) -> u32 {
        self.own_workers().map(|worker| self.connections_of(worker)).sum()
    }

    /// The number of counted clients of this process's workers; `None` if clients are not counted.
    pub fn own_clients(&self) -> Option<u32> {
        self.clients.counted().map(|_| self.own_seats().count() as u32)
    }

    /// The share of the run's operations (under connection churn, of its connections) that this
    /// process's workers make, from 0 to 1. Lanes take turns, so all have equally many.
    pub fn own_part(&self) -> f64 {
        let Some(Seat { lane, .. }) = self.own_seats().next() else { return 0.0 };
        self.own_seats().count() as f64 / f64::from(lane.count)
    }

    /// The number of operations among 0 to `ops`, exclusive, that this process's workers make.
    pub fn own_ops(&self, ops: u64) -> u64 {
        if self.here.is_none() {
            return ops;
        }
        let of_lane =
            |lane: Lane| ops.saturating_sub(u64::from(lane.index)).div_ceil(u64::from(lane.count));
        self.own_seats().map(|seat| of_lane(seat.lane)).sum()
    }

    fn own_seats(&self) -> impl Iterator<Item = Seat> {
        self.own_workers().flat_map(|worker| self.seats(worker))
    }

    /// The server of a connection. The run's connections are dealt to all servers in turn, worker
    /// by worker, so that all servers have equally many and each worker has connections to each
    /// server. Counted clients are dealt to workers and to servers in turn, unless each reaches all
    /// servers.
    pub fn server_of(&self, worker: u16, nth: u32) -> ServerId {
        if let Clients::Counted { connections, reach, .. } = self.clients {
            if let Reach::Servers { .. } = reach {
                let each = connections / self.servers.len() as u32;
                return ServerId((nth % connections / each) as u16);
            }
            let client = nth / connections * u32::from(self.workers) + u32::from(worker);
            return ServerId((client % self.servers.len() as u32) as u16);
        }
        let (workers, worker) = (u64::from(self.workers), u64::from(worker));
        let connections = u64::from(self.connections);
        let before = connections / workers * worker + worker.min(connections % workers);
        ServerId(((before + u64::from(nth)) % self.servers.len() as u64) as u16)
    }

    /// The servers of this process's connections, by the connections' numbers in the run.
    pub fn own_leads(&self) -> BTreeMap<u32, ServerId> {
        let own = self.own_workers();
        let own =
            own.flat_map(|worker| (0..self.connections_of(worker)).map(move |nth| (worker, nth)));
        own.map(|(worker, nth)| (self.connection_number(worker, nth), self.server_of(worker, nth)))
            .collect()
    }

    /// The connections of worker `worker`.
    pub fn places(&self, worker: u16) -> Table<ConnectionId, Place> {
        let each = self.connections_each(worker).max(1);
        let places = (0..self.connections_of(worker)).map(|nth| {
            let is_aside = self.is_aside(nth);
            let transport = if is_aside { self.least_transport() } else { self.requests.transport };
            Place {
                number: self.connection_number(worker, nth),
                server: self.server_of(worker, nth),
                client: ClientId(nth / each),
                transport,
                is_aside,
            }
        });
        places.collect()
    }

    /// The clients of worker `worker`: one for all its connections, one for each connection, or its
    /// part of the counted clients.
    pub fn seats(&self, worker: u16) -> impl Iterator<Item = Seat> {
        let each = self.connections_each(worker).max(1);
        (0..self.connections_of(worker) / each).map(move |nth| {
            let (first, lane) = (nth * each, self.lane(worker, nth));
            Seat { number: lane.index, lane, first: ConnectionId(first), count: each }
        })
    }

    /// The transport that carries the shortest messages: datagrams if some connections use them.
    pub fn least_transport(&self) -> Transport {
        match self.reach() {
            Reach::Split { reply_bytes_max } => Transport::Datagrams { reply_bytes_max },
            Reach::Server | Reach::Servers { .. } => self.requests.transport,
        }
    }

    /// The lane of the `nth` client of a worker. Its index is also the client's number among all
    /// clients.
    fn lane(&self, worker: u16, nth: u32) -> Lane {
        let (worker_number, workers) = (u32::from(worker), u32::from(self.workers));
        let sharing = match &self.pacing {
            Pacing::Open { sharing, .. } => *sharing,
            Pacing::Closed => Sharing::Shared,
            Pacing::Churn(_) => Sharing::Connection,
        };
        let own_stream = sharing == Sharing::Connection;
        match self.clients {
            Clients::Counted { count, .. } => {
                Lane { index: nth * workers + worker_number, count, own_stream }
            }
            Clients::Workers if own_stream => {
                let index = self.connection_number(worker, nth);
                Lane { index, count: self.connections, own_stream }
            }
            Clients::Workers => Lane { index: worker_number, count: workers, own_stream },
        }
    }

    /// The number of connections of each client of a worker.
    fn connections_each(&self, worker: u16) -> u32 {
        match (self.clients, &self.pacing) {
            (Clients::Counted { connections, .. }, _) => connections,
            (_, Pacing::Churn(_) | Pacing::Open { sharing: Sharing::Connection, .. }) => 1,
            (_, Pacing::Closed | Pacing::Open { .. }) => self.connections_of(worker),
        }
    }

    /// The run-wide number of a worker's connection.
    fn connection_number(&self, worker: u16, nth: u32) -> u32 {
        let together = self.together();
        (nth / together * u32::from(self.workers) + u32::from(worker)) * together + nth % together
    }

    /// The number of connections that share a worker because they belong to one client.
    fn together(&self) -> u32 {
        match self.clients {
            Clients::Workers => 1,
            Clients::Counted { connections, .. } => connections,
        }
    }

    /// True if a worker's connection is the socket for datagrams beside a client's streams.
    fn is_aside(&self, nth: u32) -> bool {
        let together = self.together();
        matches!(self.reach(), Reach::Split { .. }) && nth % together == together - 1
    }
}
