//! Clients that are more than their connections: those that come and go, those that write to
//! several servers, and those with windows of objects.

mod churn;
mod replicas;
mod windows;
