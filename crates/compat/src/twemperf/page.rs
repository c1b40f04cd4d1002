//! The page of options, which follows every error: twemperf's layout, our words. It goes to stderr,
//! and its lines end as the original's do.

/// The text of `--version`, which `--help` prints before the page.
pub(super) const VERSION: &str = "This is mcperf-0.1.1\r\n\n";

/// The whole page.
pub(super) fn usage() -> String {
    let pieces = [SYNOPSIS, SOCKETS, REQUESTS, LOAD, OURS];
    let mut page = String::new();
    for piece in pieces {
        page += &piece.replace('\n', "\r\n");
        page += "  ...\n";
    }
    page + &LEGEND.replace('\n', "\r\n") + "  \n"
}

const SYNOPSIS: &str = "\
Usage: mcperf [-hV] [-v verbosity level] [-o output file]
              [-s server] [-p port] [-H] [-t timeout] [-l linger]
              [-b send-buffer] [-B recv-buffer] [-D]
              [-m method] [-e expiry] [-q] [-P prefix]
              [-c client] [-n num-conns] [-N num-calls]
              [-r conn-rate] [-R call-rate] [-z sizes]

Options:
  -h, --help            : this page
  -V, --version         : the version
  -v, --verbosity=N     : how much is logged (default: 5, min: 0, max: 11); warnings from 4 on
  -o, --output=S        : a file that the log is appended to (default: stderr)
  -s, --server=S        : the server's host, or the path of its socket (default: localhost)
  -p, --port=N          : the server's port (default: 11211)
  -H, --print-histogram : the report has a histogram of response times
";

const SOCKETS: &str = "  -t, --timeout=X       : \
the longest wait to connect, or for a response, in sec (default: 0.0, for ever)
  -l, --linger=N        : SO_LINGER when closing, in sec; 0 resets the connection (default: off)
  -b, --send-buffer=N   : the socket's send buffer (default: 4096 bytes)
  -B, --recv-buffer=N   : the socket's receive buffer (default: 16384 bytes)
  -D, --disable-nodelay : Nagle's algorithm stays on
";

const REQUESTS: &str = "  -m, --method=M        : \
the command that every call sends (default: set)
  -e, --expiry=N        : the expiry of what is stored, in sec (default: 0, never)
  -q, --use-noreply     : commands are sent with noreply; not for get and gets
  -P, --prefix=S        : what keys begin with (default: mcp:)
";

const LOAD: &str = "  -c, --client=I/N      : \
this is client I of N, which seeds its draws (default: 0/1)
  -n, --num-conns=N     : connections to open in all (default: 1)
  -N, --num-calls=N     : calls on each connection (default: 1)
  -r, --conn-rate=R     : when connections are opened (default: 0, one after another)
  -R, --call-rate=R     : when calls are issued on a connection (default: 0, one after another)
  -z, --sizes=R         : the size of values, or the amount of incr and decr (default: d1)
";

const OURS: &str = "      --threads=N       : \
workers that share the load (default: 1)
      --time=X          : the run ends after X sec, and counts that are not given have no limit
      --report-stdout   : the report goes to stdout
      --fail-on-error   : exit 1 when any error was counted
      --json=S          : a file for memtide's record of the run
      --own-keys        : each client has keys of its own
      --notes           : notes on what differs, on stderr even if that is no terminal
";

const LEGEND: &str = "\
Where:
  N is an integer
  X is a real
  S is a string
  M is one of get, gets, delete, cas, set, add, replace, append, prepend, incr and decr
  R is one of
    R1     a rate: R1 a second, evenly; as a size it means 1/R1 bytes
    0      the next one begins when the one before it has ended; not for sizes
    dR1    always R1 seconds, or bytes
    uR1,R2 evenly from R1 up to R2 seconds, or bytes
    eR1    exponential with a mean of R1 seconds, or bytes
    sR1    R1, R1 + 1, R1 + 2 and so on
";
