//! Which queue manager for a line, or for a scenario: draws of it, what each use of the link gets, and the advice.

mod household;
mod scores;
mod verdict;
mod wanted;

pub use household::{Access, Line, Use, pages, pages_file, scenario};
pub use scores::{Choice, MARGIN, Place, Sure, choose};
pub use verdict::{Advice, BY_TC, ByTc, NOW, SET, Subject, Table, best_of, judged, simplest_first};
pub use wanted::{Measures, WINDOW, Wanted};
