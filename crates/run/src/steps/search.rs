//! Searches for the highest rate that meets the goals: two ways to choose the next rate.

mod bisect;
mod bracket;
mod tried;

pub use bisect::Bisect;
pub use bracket::{Bracket, Limits};
pub use tried::LONGER_MAX;

#[cfg(test)]
mod tests;
