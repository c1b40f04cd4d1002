//! Full is a value, not growth: what a bounded thing answers when it has no room.

/// There is no room: the caller decides what that means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;
