//! Small integers that name things, typed so that they cannot be mixed up, and tables that are
//! indexed by one kind of id only.

use std::iter::FromIterator;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A number that names a thing by its position among all of its kind.
pub trait Id: Copy {
    /// The id of the item at `position`; panics if the kind cannot count that far.
    fn at(position: usize) -> Self;

    /// The position of the item that the id names.
    fn index(self) -> usize;
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl $name {
            /// The id as an index into a table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl Id for $name {
            fn at(position: usize) -> Self {
                Self(<$inner>::try_from(position).expect("a position fits into the id of its kind"))
            }

            #[inline]
            fn index(self) -> usize {
                self.index()
            }
        }
    };
}

id!(
    /// A client, counted from 0 within its worker.
    ClientId(u32)
);
id!(
    /// A connection, counted from 0 within its worker.
    ConnectionId(u32)
);
id!(
    /// A server, in the order in which the scenario names them.
    ServerId(u16)
);

/// A connection and the server at its other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The connection, within its worker.
    pub connection: ConnectionId,
    /// The server that it leads to.
    pub server: ServerId,
}

/// One row for each id of a kind, indexed by the id.
#[derive(Clone, Debug)]
pub struct Table<I, T> {
    rows: Vec<T>,
    kind: PhantomData<fn(I)>,
}

impl<I: Id, T> Table<I, T> {
    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The ids of all rows, in order.
    pub fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.rows.len()).map(I::at)
    }

    /// All rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.rows.iter()
    }
}

impl<I, T> FromIterator<T> for Table<I, T> {
    fn from_iter<R: IntoIterator<Item = T>>(rows: R) -> Self {
        Self { rows: rows.into_iter().collect(), kind: PhantomData }
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, id: I) -> &T {
        &self.rows[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.index()]
    }
}
