//! Peers that do not prove themselves.
