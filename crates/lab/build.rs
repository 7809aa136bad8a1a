//! What the lab's own programs are made of, to be compared with what `scripts/setup lab` has compiled.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=guest");
    let mut files: Vec<PathBuf> =
        fs::read_dir("guest").expect("crates/lab/guest").map(|entry| entry.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "c" || e == "h"));
    files.sort();
    let sources: Vec<u8> = files.iter().flat_map(|file| fs::read(file).expect("a source")).collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo's OUT_DIR"));
    fs::write(out.join("sources"), sources).expect("OUT_DIR can be written");
}
