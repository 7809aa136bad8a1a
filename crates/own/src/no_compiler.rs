//! Where no compiler can be run, as in a web page.

use crate::Form;
use crate::words::shown;

fn none<T>(path: &str) -> Result<T, String> {
    Err(format!("{}: there is no C compiler here; run it with the program", shown(path)))
}

/// The table of a file that is named so: none here.
///
/// # Safety
/// None is needed.
pub(crate) unsafe fn table<T>(_: &Form, path: &str, _: &str, _: &str) -> Result<&'static T, String> {
    none(path)
}

/// What random operations say of it: nothing here.
///
/// # Errors
/// Always.
pub(crate) fn check(_: &Form, path: &str, _: &str, _: &str) -> Result<String, String> {
    none(path)
}
