//! What is said of a file, and what of its frame is filled in.

use crate::{Form, lower};

/// A path in words of C, and of people.
pub fn shown(path: &str) -> String {
    path.chars().map(|c| if c.is_control() || c == '"' || c == '\\' { '?' } else { c }).collect()
}

/// Is `qw_NAME` a name that the headers or the frames have already?
pub(crate) fn has_structure(form: &Form, name: &str) -> bool {
    let headers = (form.headers)();
    let texts = headers.iter().map(|(_, text)| *text).chain([form.table.1, form.frame, form.check]);
    let mut words = texts.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    let taken = ["", "_params"].map(|end| format!("qw_{name}{end}"));
    words.any(|word| taken.iter().any(|name| name == word))
}

/// A part of a frame with the names of a file in it.
pub fn filled(part: &str, path: &str, name: &str, text: &str) -> String {
    let name = lower(name);
    part.replace("@x@", &name)
        .replace("@X@", &name.to_uppercase())
        .replace("@file@", &shown(path))
        .replace("@end@", &text.lines().count().max(1).to_string())
}

/// What a file of this form may include, in words.
pub(crate) fn may_include(form: &Form) -> String {
    format!("it may include what comes with the program, such as {}, and nothing else", form.such_as)
}
