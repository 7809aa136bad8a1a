//! Compiles the C headers of `aqm/` as one object, and has what a user's own file may include in the program.
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=aqm");
    println!("cargo:rerun-if-changed=src/shim.c");
    println!("cargo:rerun-if-changed=src/own/table.h");
    let mut build = cc::Build::new();
    if env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        // It has no C library: the four functions that the headers call are Rust's own.
        println!("cargo:rerun-if-changed=src/wasm");
        build.include("src/wasm").flag("-nostdlibinc");
    }
    build
        .file("src/shim.c")
        .include("aqm")
        .std("c11")
        // Called once or twice a packet: fast in debug builds too.
        .opt_level(3)
        .extra_warnings(true)
        .compile("queuewright_aqm_shim");
    headers();
}

/// `HEADERS`: each header's name and what is in it, by name.
fn headers() {
    let folder = fs::canonicalize("aqm").expect("aqm/ is there");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("a folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".h"))
        .collect();
    names.sort();
    let mut list = String::from("static HEADERS: &[(&str, &str)] = &[\n");
    for name in names {
        let _ = writeln!(list, "    ({name:?}, include_str!({:?})),", folder.join(&name));
    }
    list.push_str("];\n");
    let out = env::var_os("OUT_DIR").expect("cargo says it");
    fs::write(Path::new(&out).join("headers.rs"), list).expect("a folder to write to");
}
