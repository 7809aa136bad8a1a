//! What the simulator must do, seen from outside: scenario text in, results out.
//!
//! `bed` runs scenarios. The others each hold the simulator to one kind of truth:
//! theory in closed form, conservation laws, published phases of the congestion
//! controls, measurements on real Linux, and its own past (golden tables).

mod back;
mod bed;
mod calls;
mod clients;
mod congestion;
mod conservation;
mod controls_in_c;
mod delay_based;
mod determinism;
mod ecn;
mod experience;
mod golden;
mod impairments;
mod l4s;
mod linux;
mod linux_rows;
mod loss;
mod measures;
mod own;
mod police;
mod ports;
mod probes;
mod published;
mod quic;
mod santa;
mod schedulers;
mod senders;
mod stacks;
mod theory;
mod today;
mod traces;
mod traffic;
