//! Results in, something to look at out: a table for the terminal, CSV files, a
//! self-contained HTML report, and the dated folder that keeps them all.
//!
//! - [`answer`]: what it comes to, in a few sentences
//! - [`table`]: disciplines as rows, means over seeds, best values marked; [`table_of`]: of chosen measures
//! - [`csv`]: one sheet each for runs, groups, flows, delay distributions, time series
//! - [`html`]: the report with its pictures, one file, no network
//! - [`qlog`]: event logs of senders and queues
//! - [`Folder`]: writes all of it while the runs come in

mod answer;
#[cfg(not(target_family = "wasm"))]
mod explorer;
// A page has no files and no terminal, and pictures of its own.
#[cfg(not(target_family = "wasm"))]
pub mod csv;
#[cfg(not(target_family = "wasm"))]
mod folder;
#[cfg(not(target_family = "wasm"))]
mod html;
#[cfg(not(target_family = "wasm"))]
pub mod qlog;
#[cfg_attr(target_family = "wasm", allow(dead_code))]
mod summary;
#[cfg(not(target_family = "wasm"))]
mod table;
#[cfg(not(target_family = "wasm"))]
mod thin;

pub use answer::{FEW, UNHEARD_MOS, UNNOTICED_PAGE_S, UNNOTICED_SHARE, UNNOTICED_STALL_S, answer};
#[cfg(not(target_family = "wasm"))]
pub use explorer::{EXPLORER_PORT, explorer_fragment};
#[cfg(not(target_family = "wasm"))]
pub use folder::{Error, Folder, file_name, new_folder, replace};
#[cfg(not(target_family = "wasm"))]
pub use html::html;
#[cfg(not(target_family = "wasm"))]
pub use table::{TableStyle, table, table_of, words};
