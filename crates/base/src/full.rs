//! The answer of a bounded container that has no room. Full is a value; nothing grows.

/// There is no room: the caller decides what that means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;
