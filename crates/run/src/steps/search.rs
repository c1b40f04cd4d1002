//! Searches for the highest rate that meets the goals: two ways to choose the next rate.

mod bisect;
mod bracket;

pub use bisect::Bisect;
pub use bracket::{Bracket, Limits};

#[cfg(test)]
mod tests;
