//! Sockets as the drivers need them: non-blocking, and without Nagle's delay unless asked for.

use memtide_base::Span;
use memtide_engine::{Address, Closed, ConnectError, SocketOptions};
use rustix::io::Errno;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// How far a connect got at once.
pub(crate) enum Connecting {
    /// All the way.
    Connected,
    /// The socket becomes writable when it is decided.
    Pending,
}

/// What the kernel may keep of datagrams that have come and were not taken.
const DATAGRAMS_BYTES: usize = 1 << 20;

/// Starts to connect to `address`, from `source` if one is given, with a socket as `plan` says.
pub(crate) fn connect(
    address: &Address,
    source: Option<IpAddr>,
    plan: SocketOptions,
) -> Result<(Socket, Connecting), ConnectError> {
    let (domain, kind, protocol, peer) = match address {
        Address::Tcp(peer) => {
            (Domain::for_address(*peer), Type::STREAM, Some(Protocol::TCP), (*peer).into())
        }
        Address::Unix(path) => {
            let peer = SockAddr::unix(path).map_err(|_| ConnectError::NoSuchPath)?;
            (Domain::UNIX, Type::STREAM, None, peer)
        }
        Address::Udp(peer) => {
            (Domain::for_address(*peer), Type::DGRAM, Some(Protocol::UDP), (*peer).into())
        }
    };
    let socket =
        Socket::new(domain, kind.nonblocking(), protocol).map_err(|error| connect_error(&error))?;
    if let Address::Udp(_) = address {
        // With less, more is lost of long answers; the kernel may allow only less.
        drop(socket.set_recv_buffer_size(DATAGRAMS_BYTES));
    }
    // The windows of a connection are agreed on when it opens.
    set_options(&socket, plan)?;
    if let Address::Tcp(_) = address {
        socket.set_tcp_nodelay(!plan.nagle).map_err(|error| connect_error(&error))?;
    }
    if let (Address::Tcp(_) | Address::Udp(_), Some(source)) = (address, source) {
        // The port is chosen at connect, when the destination is known: far more are free.
        let bound = choose_port_at_connect(&socket)
            .and_then(|()| socket.bind(&SocketAddr::new(source, 0).into()));
        bound.map_err(|error| match error.kind() {
            io::ErrorKind::AddrNotAvailable => ConnectError::SourceNotLocal,
            _ => connect_error(&error),
        })?;
    }
    match socket.connect(&peer) {
        Ok(()) => Ok((socket, Connecting::Connected)),
        Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => {
            Ok((socket, Connecting::Pending))
        }
        Err(error) => Err(connect_error(&error)),
    }
}

/// Sees to it that closing `socket` takes `linger` for what is not sent; zero resets it at once.
/// A connection that is gone already has nothing to wait for, so failures do not matter.
pub(crate) fn prepare_close(socket: &Socket, linger: Span) {
    // Not by closing: an io_uring that still receives would keep the socket, and the server could
    // close its end first, which leaves the port in TIME_WAIT.
    if linger.is_zero() && rustix::net::connect_unspec(socket).is_ok() {
        return;
    }
    let _ = socket.set_linger(Some(Duration::from_secs(linger.ns() / 1_000_000_000)));
}

fn set_options(socket: &Socket, plan: SocketOptions) -> Result<(), ConnectError> {
    let refused = |option, remedy| {
        move |error: io::Error| {
            let code = error.raw_os_error().unwrap_or_default();
            ConnectError::OptionRefused { option, remedy, code }
        }
    };
    if let Some(bytes) = plan.send_buffer_bytes {
        let set = socket.set_send_buffer_size(bytes as usize);
        set.map_err(refused("SO_SNDBUF", "ask for another size"))?;
    }
    if let Some(bytes) = plan.receive_buffer_bytes {
        let set = socket.set_recv_buffer_size(bytes as usize);
        set.map_err(refused("SO_RCVBUF", "ask for another size"))?;
    }
    if let Some(time) = plan.busy_poll {
        let remedy = "it takes the capability CAP_NET_ADMIN, or no more than net.core.busy_read";
        let us = (time.ns() / 1_000) as libc::c_int;
        let set = set_option(socket, (libc::SOL_SOCKET, libc::SO_BUSY_POLL), us);
        set.map_err(refused("SO_BUSY_POLL", remedy))?;
    }
    Ok(())
}

fn choose_port_at_connect(socket: &Socket) -> io::Result<()> {
    set_option(socket, (libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT), 1)
}

/// Sets the option of a level and a name that takes a number.
fn set_option(socket: &Socket, (level, name): (i32, i32), to: libc::c_int) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `to`, which outlives the call.
    let code = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const to).cast(),
            size_of_val(&to) as libc::socklen_t,
        )
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What a failed connect means.
pub(crate) fn connect_error(error: &io::Error) -> ConnectError {
    let Some(errno) = Errno::from_io_error(error) else {
        return ConnectError::Other(0);
    };
    match errno {
        Errno::CONNREFUSED => ConnectError::Refused,
        Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::NETDOWN | Errno::AFNOSUPPORT => {
            ConnectError::Unreachable
        }
        Errno::TIMEDOUT => ConnectError::Unanswered,
        Errno::CONNRESET => ConnectError::Reset,
        Errno::MFILE => ConnectError::FilesExhausted,
        Errno::NFILE => ConnectError::FileTableFull,
        Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => ConnectError::PortsExhausted,
        Errno::NOENT => ConnectError::NoSuchPath,
        other => ConnectError::Other(other.raw_os_error()),
    }
}

/// What a failed send or receive means for an open connection.
pub(crate) fn close_reason(errno: Errno) -> Closed {
    match errno {
        Errno::CONNRESET | Errno::PIPE => Closed::Reset,
        Errno::TIMEDOUT => Closed::Unanswered,
        // Only datagrams can be refused by a peer that was connected to.
        Errno::CONNREFUSED => Closed::Unheard,
        other => Closed::Other(other.raw_os_error()),
    }
}
