//! Which queue manager for a line, or for a scenario: draws of it, what each use of the link gets, and the advice.

mod commands;
mod household;
mod scores;
mod verdict;
mod wanted;

pub use commands::{BY_TC, ByTc, PutOn, simplest_first};
pub use household::{Access, FIRST, Line, SHARES, Use, pages, pages_file, scenario};
pub use scores::{Choice, MARGIN, Place, Sure, choose};
pub use verdict::{Advice, NOW, Subject, Table, best_of, judged};
pub use wanted::{Measures, Wanted, measured};
