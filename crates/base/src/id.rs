//! Small numbers that name things, typed so that they cannot be mixed up.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl $name {
            /// The id as a position in a table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A worker: one thread, or one simulated thread. Counted from 0 within a fleet.
    WorkerId(u16)
);
id!(
    /// A connection, counted from 0 within its worker.
    ConnectionId(u32)
);
id!(
    /// A server, in the order in which the scenario names them.
    ServerId(u16)
);
