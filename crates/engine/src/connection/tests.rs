//! Replies meet what they answer.
