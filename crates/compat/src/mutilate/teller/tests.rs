//! What is said, event by event.
