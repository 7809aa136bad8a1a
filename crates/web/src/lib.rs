//! The simulator in a web page: what the page asks for is JSON, what it gets is JSON or rows of numbers.
//!
//! The border is written by hand: three functions that move bytes. A generator would bring a tool of its own that has to fit its
//! library's version, and this border has one shape. What can be asked stands in [`Request`]; the page's side of it is
//! `web/src/simulator.ts`.

mod border;
mod change;
mod knobs;
mod markdown;
mod rows;
mod session;
mod sums;

pub use session::{Reply, Request, Session};
