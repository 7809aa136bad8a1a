//! Compiles the C headers of `cca/`, each in the frame that a user's own gets, and has what such a file may include in the program.
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

fn main() {
    for read in ["cca", "aqm/qw.h", "src/own", "src/layout.c"] {
        println!("cargo:rerun-if-changed={read}");
    }
    let out = env::var_os("OUT_DIR").expect("cargo says it");
    let out = Path::new(&out);
    let frame = fs::read_to_string("src/own/own.c").expect("the frame");
    let mut build = cc::Build::new();
    build.include("cca").include("aqm").include("src/own").file("src/layout.c");
    let folder = fs::canonicalize("cca").expect("cca/ is there");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("a folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".h"))
        .collect();
    names.sort();
    for name in names.iter().filter(|name| *name != "qw_cca.h") {
        let stem = name.trim_end_matches(".h");
        let text = frame
            .replace("@x@", stem)
            .replace("@X@", &stem.to_uppercase())
            .replace("@file@", &format!("cca/{name}"))
            .replace("@end@", "1")
            .replace("@text@", &format!("#include \"{name}\""));
        // All of them define `qw_own`: each gets a name of its own.
        let text = format!("#define QW_OWN_TRUSTED\n#define qw_own qw_control_{stem}\n{text}");
        let at = out.join(format!("{stem}.c"));
        fs::write(&at, text).expect("a folder to write to");
        build.file(at);
    }
    build
        .std("c11")
        // Called for each ACK: fast in debug builds too.
        .opt_level(3)
        .extra_warnings(true)
        .compile("queuewright_cca");
    let mut list = String::from("static HEADERS: &[(&str, &str)] = &[\n");
    let qw = fs::canonicalize("aqm/qw.h").expect("it is there");
    for path in names.iter().map(|name| folder.join(name)).chain([qw]) {
        let name = path.file_name().expect("a name");
        let _ = writeln!(list, "    ({name:?}, include_str!({path:?})),");
    }
    list.push_str("];\n");
    fs::write(out.join("headers.rs"), list).expect("a folder to write to");
}
