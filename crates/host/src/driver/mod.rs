//! The doors through which a worker talks to the kernel, equal in rank: what holds of one holds
//! of the other, and the tests are the same.

pub(crate) mod uring;
pub(crate) mod epoll;
mod null;
mod peer;
pub(crate) mod socket;

pub use null::NullDriver;
pub use uring::check_uring;

#[cfg(test)]
mod tests;
