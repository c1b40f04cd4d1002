//! memcached's protocols on the wire, both directions.
#![forbid(unsafe_code)]
