//! a memcached small enough to trust, without sockets or a clock.
#![forbid(unsafe_code)]
