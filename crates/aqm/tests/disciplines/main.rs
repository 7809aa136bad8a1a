//! The disciplines as a host sees them.

mod codel;
mod ecn;
mod golden;
mod host;
mod operations;
mod pie;
mod registry;
mod static_threshold;
