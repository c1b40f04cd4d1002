//! workers, connections and pacing, without sockets or a clock.
#![forbid(unsafe_code)]
