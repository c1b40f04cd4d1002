//! Clients with several connections or none of their own: connection churn, writes to several
//! servers, and windows of objects.

mod churn;
mod replicas;
mod windows;
