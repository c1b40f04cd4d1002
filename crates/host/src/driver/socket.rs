//! Sockets for the drivers: non-blocking, and without Nagle's delay unless the plan wants it.

use memtide_base::Span;
use memtide_world::{Address, Closed, ConnectError, SocketOptions};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// The immediate result of a connect.
pub(crate) enum Connecting {
    /// It is open.
    Connected,
    /// In progress: the socket becomes writable with the result.
    Pending,
}

/// The kernel's buffer for datagrams that were not received yet, in bytes.
const DATAGRAMS_BYTES: usize = 1 << 20;

/// The most slices of one call.
const SLICES_MAX: usize = 64;

/// Begins to connect to `address`, from `source` if there is one, with the plan's socket options.
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
        // A smaller buffer loses more of long answers; the kernel may not allow this much.
        drop(socket.set_recv_buffer_size(DATAGRAMS_BYTES));
    }
    // The windows of a connection are negotiated when it opens.
    set_options(&socket, plan)?;
    if let Address::Tcp(_) = address {
        socket.set_tcp_nodelay(!plan.nagle).map_err(|error| connect_error(&error))?;
    }
    if let (Address::Tcp(_) | Address::Udp(_), Some(source)) = (address, source) {
        // The port is chosen at connect, when the destination is known: far more ports are free
        // then.
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

/// Makes a later close of `socket` wait up to `linger` for unsent bytes; zero resets the connection
/// at once. Returns true if it is reset. Failures do not matter: a lost connection has nothing to
/// wait for.
pub(crate) fn prepare_close(socket: &Socket, linger: Span) -> bool {
    // Closing is not enough: an io_uring that still receives would keep the socket, and the server
    // could close its end first, which leaves the port in TIME_WAIT.
    if linger.is_zero() && rustix::net::connect_unspec(socket).is_ok() {
        return true;
    }
    let _ = socket.set_linger(Some(Duration::from_secs(linger.ns() / 1_000_000_000)));
    false
}

/// Sends the bytes of `slices`, at least one, with one call as far as the kernel takes them;
/// returns their number. Slices after the first [`SLICES_MAX`] go with the next call.
pub(crate) fn send_slices<'a>(
    socket: impl AsFd,
    each: impl Iterator<Item = &'a [u8]>,
    flags: SendFlags,
) -> Result<usize, Errno> {
    let mut slices = [IoSlice::new(&[]); SLICES_MAX];
    let mut count = 0;
    for (place, slice) in slices.iter_mut().zip(each) {
        *place = IoSlice::new(slice);
        count += 1;
    }
    debug_assert!(count > 0, "there is a slice to send");
    match &slices[..count] {
        [slice] => send(socket, slice, flags),
        slices => sendmsg(socket, slices, &mut SendAncillaryBuffer::default(), flags),
    }
}

fn set_options(socket: &Socket, plan: SocketOptions) -> Result<(), ConnectError> {
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
        let set = set_option(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, us);
        set.map_err(refused("SO_BUSY_POLL", remedy))?;
    }
    Ok(())
}

fn refused(option: &'static str, remedy: &'static str) -> impl Fn(io::Error) -> ConnectError {
    move |error| {
        let code = error.raw_os_error().unwrap_or_default();
        ConnectError::OptionRefused { option, remedy, code }
    }
}

fn choose_port_at_connect(socket: &Socket) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

/// Sets an option, given by level and name, to a number.
fn set_option(socket: &Socket, level: i32, name: i32, to: libc::c_int) -> io::Result<()> {
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

/// The reason of a failed connect.
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

/// The reason of a failed send or receive, which ends the connection.
pub(crate) fn close_reason(errno: Errno) -> Closed {
    match errno {
        Errno::CONNRESET | Errno::PIPE => Closed::Reset,
        Errno::TIMEDOUT => Closed::Unanswered,
        // Only a connected datagram socket can be refused.
        Errno::CONNREFUSED => Closed::Unheard,
        other => Closed::Other(other.raw_os_error()),
    }
}
