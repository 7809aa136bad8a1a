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
pub mod csv;
mod folder;
mod html;
pub mod qlog;
mod summary;
mod table;
mod thin;

pub use answer::{FEW, UNHEARD_MOS, UNNOTICED_PAGE_S, UNNOTICED_SHARE, UNNOTICED_STALL_S, answer};
pub use folder::{Error, Folder, file_name, new_folder, replace};
pub use html::html;
pub use table::{TableStyle, table, table_of, words};
