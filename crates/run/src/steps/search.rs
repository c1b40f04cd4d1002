//! Searches for the highest rate that meets the goals: two ways to choose the next rate.

mod bisect;
mod bracket;

pub use bisect::Bisect;
pub use bracket::{Bracket, LONGER_MAX, Limits};

#[cfg(test)]
mod tests;
