//! Embeds the folders `experiments/` and `statements/`: lists of their files and these' content.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    embed(&manifest.join("experiments"), "embedded.rs")?;
    embed(&manifest.join("statements"), "statements.rs")
}

fn embed(folder: &Path, list_file: &str) -> io::Result<()> {
    let folder = folder.canonicalize()?;
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    walk(&folder, &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&folder).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let _ = writeln!(list, "    ({name:?}, include_bytes!({:?})),", file.display().to_string());
    }
    list.push(']');
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join(list_file), list)
}

/// Every experiment and its data; generators and their like stay behind.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        println!("cargo:rerun-if-changed={}", path.display());
        if path.is_dir() {
            walk(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "toml" || e == "csv" || e == "down" || e == "json") {
            files.push(path);
        }
    }
    Ok(())
}
