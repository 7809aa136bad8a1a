//! The runs that `reproduce` kept, whatever became of them, are read as far as they are whole, and are the same when they are read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use queuewright_experiments::Store;
use std::io::Write;

fuzz_target!(|bytes: &[u8]| {
    // Memory, where there is such a place.
    let folder = ["/dev/shm", "/tmp"].into_iter().find(|f| std::path::Path::new(f).is_dir()).unwrap_or(".");
    let path = std::path::Path::new(folder).join(format!("queuewright-fuzz-{}", std::process::id()));
    let open = || Store::open(&path, "hash").unwrap_or_else(|e| panic!("{e}"));
    let _ = std::fs::remove_file(&path);
    drop(open());
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("it was made");
    file.write_all(bytes).expect("there is room");
    let records: Vec<_> = open().records().cloned().collect();
    let again: Vec<_> = open().records().cloned().collect();
    // NaN is not itself.
    assert_eq!(format!("{records:?}"), format!("{again:?}"));
    let _ = std::fs::remove_file(&path);
});
