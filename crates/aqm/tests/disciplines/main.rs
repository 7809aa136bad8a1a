//! The disciplines as a host sees them.

mod ahab;
mod cebinae;
mod chen_sfq;
mod cobalt;
mod codel;
mod cp_aqm;
mod dualpi2;
mod duk;
mod ecn;
mod fq;
mod fq_codel;
mod golden;
mod gsp;
mod host;
mod operations;
mod pages;
mod pi2;
mod pie;
mod queuepilot;
mod red;
mod registry;
mod santa;
mod seen;
mod sfq;
mod static_threshold;
mod tune;
