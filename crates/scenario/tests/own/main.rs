//! Files of a user's own: what is read of them, and what is refused.

mod bed;
mod controls;
mod disciplines;
