//! Servers of every kind that are not as good as they should be, told apart by what they do.

mod proxies;
