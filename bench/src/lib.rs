//! bare reference clients that memtide's cost is compared with.
