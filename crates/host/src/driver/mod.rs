//! A worker's drivers to the kernel. They behave alike, and the tests run with each.

pub(crate) mod uring;
pub(crate) mod epoll;
mod null;
pub(crate) mod peer;
pub(crate) mod guard;
pub(crate) mod socket;

pub use guard::ConnectGuard;
pub use null::NullDriver;
pub use uring::check_uring;

#[cfg(test)]
mod tests;
