//! the real world: sockets, threads, the kernel's clock.
