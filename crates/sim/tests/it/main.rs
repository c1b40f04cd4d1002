//! The engine, the controller and the lowering in virtual time: what queueing theory, counting
//! and replay say they must do.

mod harness;
mod queues;
mod arrivals;
mod faults;
mod pauses;
mod replay;
