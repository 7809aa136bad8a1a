//! Which queue manager for a line: households that are drawn on it, what each use of the line gets, and the advice.

mod household;
mod scores;
mod verdict;

pub use household::{Access, Line, Use, scenario};
pub use scores::{Choice, Got, MARGIN, Measures, Place, Sure, choose, scores};
pub use verdict::{Advice, BY_TC, NOW, SET, Table, best_of, judged, simplest_first};
