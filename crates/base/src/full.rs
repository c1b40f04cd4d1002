//! The error of a bounded container that has no room. Full is a value; nothing grows.

/// No room is left. The caller decides how to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;
