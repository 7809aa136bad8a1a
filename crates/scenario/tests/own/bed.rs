//! Where such files lie, and what holds for all of them.

use queuewright_scenario::own::CONSENT;
use queuewright_scenario::{Draft, once, spec::RunSpec};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// A folder of this test's own. What is compiled is kept in one for all.
pub fn folder(name: &str) -> PathBuf {
    static ONCE: Once = Once::new();
    let all = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("own");
    // SAFETY: before anything here reads them.
    ONCE.call_once(|| unsafe {
        std::env::set_var("XDG_CACHE_HOME", all.join("cache"));
        std::env::set_var(CONSENT, "1");
    });
    let folder = all.join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// A scenario that names a file goes to another process, where the file is not, and so do its runs.
pub fn goes_to_another_process(text: &str, file: &Path) {
    let draft = Draft::parse(text, "s.toml", file.parent().expect("a folder")).expect("a draft");
    let scenario = draft.scenario().expect("it is read");
    let files = scenario.files().into_iter().map(|f| {
        let content = f.as_read().expect("it has not changed").into_owned();
        (f.path, content.into())
    });
    let packed = draft.pack().expect("packed");
    let files: Vec<_> = files.collect();
    fs::remove_file(file).expect("it was there");
    let there = Draft::unpack(&packed, files).and_then(|d| d.scenario()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(there.hash(), scenario.hash());
    let runs = scenario.runs().expect("runs");
    let packed = once(|| serde_json::to_vec(&runs)).expect("plain data");
    assert_eq!(once(|| serde_json::from_slice::<Vec<RunSpec>>(&packed)).expect("runs"), runs);
}

/// A piece of the sample, what stands there instead, what is said of it.
pub type Mistake = (&'static str, &'static str, &'static str);

/// Each mistake in a file is one clear error, which begins with the flag that names it.
pub fn each_is_one_clear_error(
    sample: &str,
    file: &Path,
    mistakes: &[Mistake],
    flag: &str,
    said: impl Fn(&str) -> Option<String>,
) {
    let mut wrong = String::new();
    for (piece, bad, why) in mistakes {
        assert!(sample.contains(piece), "{piece}");
        fs::write(file, sample.replace(piece, bad)).expect("a file");
        let error = said(&file.display().to_string()).unwrap_or_default();
        let clear = error.starts_with(flag) && error.contains(why) && error.len() < 1000;
        if !clear || error.contains('\n') || error.contains("own.c") {
            wrong += &format!("{bad}: {why}\n    {error}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
