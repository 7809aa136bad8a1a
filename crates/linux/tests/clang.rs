//! The program's build notices a clang that comes, and one that goes: "install clang-19 and build again" is true.

#[path = "../clang.rs"]
mod clang;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A compiler that can do so much, if asked.
fn install(file: &Path, targets: &str) {
    fs::write(file, format!("#!/bin/sh\necho '{targets}'\n")).expect("it can be written");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("it may run");
}

#[test]
fn the_first_that_has_bpf_is_taken() {
    let dir = tempfile::tempdir().expect("a folder");
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
    for folder in [&a, &b] {
        fs::create_dir(folder).expect("a folder");
    }
    let path = std::env::join_paths([&a, &dir.path().join("none"), &b]).expect("no colons");
    let whole = a.join("mine");
    let find = |given| clang::find(given, &path, clang::whole);
    // A folder that is not there is not watched: cargo would look, and compile all again, each time.
    assert_eq!(find(None), clang::Found { clang: None, watched: vec![a.clone(), b.clone()] });
    install(&a.join("clang"), "  x86-64 - 64-bit X86");
    assert_eq!(find(None).clang, None);
    for name in ["clang", "clang-18", "clang-19"] {
        let file = b.join(name);
        install(&file, "  bpf    - BPF (host endian)");
        assert_eq!(find(None), clang::Found { clang: Some(file.clone()), watched: vec![file] });
    }
    install(&a.join("mine"), "  bpf    - BPF (host endian)");
    let mine = Some(a.join("mine"));
    assert_eq!(find(Some("mine")).clang, mine);
    assert_eq!(find(Some(whole.to_str().expect("UTF-8"))).clang, mine);
    assert_eq!(find(Some("none")).clang, Some(b.join("clang-19")));
}

/// One that is asked for and not there may still come, wherever that is.
#[test]
fn where_the_given_one_may_come_is_watched() {
    let dir = tempfile::tempdir().expect("a folder");
    let [a, elsewhere] = ["a", "elsewhere"].map(|name| dir.path().join(name));
    for folder in [&a, &elsewhere] {
        fs::create_dir(folder).expect("a folder");
    }
    let mine = elsewhere.join("mine");
    let find = |given: &Path| clang::find(given.to_str(), a.as_os_str(), clang::whole);
    assert_eq!(find(&mine), clang::Found { clang: None, watched: vec![a.clone(), elsewhere.clone()] });
    let known = a.join("clang");
    install(&known, "  bpf    - BPF (host endian)");
    let found = |watched| clang::Found { clang: Some(known.clone()), watched };
    assert_eq!(find(&mine), found(vec![known.clone(), elsewhere.clone()]));
    assert_eq!(find(Path::new("mine")), found(vec![known.clone(), a.clone()]));
    // It is there, and cannot do what is needed.
    install(&mine, "  x86-64 - 64-bit X86");
    assert_eq!(find(&mine), found(vec![known.clone(), elsewhere.clone()]));
    install(&mine, "  bpf    - BPF (host endian)");
    assert_eq!(find(&mine), clang::Found { clang: Some(mine.clone()), watched: vec![mine.clone()] });
    assert_eq!(find(&dir.path().join("none/mine")), found(vec![known.clone()]));
}

/// `scripts/setup` looks for the same ones, and what it installs, as messages say, is among them.
#[test]
fn setup_knows_the_same_names() {
    let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/setup");
    let setup = fs::read_to_string(setup).expect("scripts/setup");
    let looks = format!("for clang in ${{QUEUEWRIGHT_CLANG:-}} {}; do", clang::NAMES.join(" "));
    assert!(setup.contains(&looks), "no {looks}");
    assert!(setup.contains("has_bpf || missing+=(clang-19)") && clang::NAMES[0] == "clang-19");
}

/// Cargo itself, with a package that has nothing but this in its build script.
#[test]
fn cargo_looks_again_when_a_compiler_comes_or_goes_and_only_then() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    for folder in ["bin", "elsewhere", "src"] {
        fs::create_dir(at(folder)).expect("a folder");
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("clang.rs");
    let script = format!(
        "#[path = {source:?}]\nmod clang;\nfn main() {{\n    \
         let given = std::env::var(\"FAKE_CLANG\").unwrap();\n    \
         let found = clang::find(Some(&given), &std::env::var_os(\"FAKE_PATH\").unwrap(), clang::whole);\n    \
         for path in &found.watched {{\n        println!(\"cargo:rerun-if-changed={{}}\", path.display());\n    }}\n    \
         println!(\"cargo:warning=looked: {{:?}}\", found.clang.map(|c| c.file_name().unwrap().to_owned()));\n}}\n"
    );
    fs::write(at("Cargo.toml"), "[package]\nname = \"asks\"\nedition = \"2024\"\n[workspace]\n")
        .expect("written");
    fs::write(at("build.rs"), script).expect("written");
    fs::write(at("src/main.rs"), "fn main() {}\n").expect("written");
    let path: OsString = at("bin").into();
    // Whether it looked, and what it found: cargo shows the warnings of the last look each time.
    let build = || {
        let done = Command::new(env!("CARGO"))
            .args(["build", "--offline", "--verbose", "--color", "never"])
            .current_dir(dir.path())
            .env("CARGO_TARGET_DIR", at("target"))
            .env("FAKE_PATH", &path)
            .env("FAKE_CLANG", at("elsewhere/mine"))
            .output()
            .expect("cargo runs");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{said}");
        let found = said.lines().find_map(|l| l.split_once("looked: ")).expect("it has looked").1.to_string();
        (said.contains("build-script-build`"), found)
    };
    assert_eq!(build(), (true, "None".into()));
    assert_eq!(build(), (false, "None".into()), "nothing has changed");
    install(&at("bin/clang-19"), "  bpf    - BPF (host endian)");
    assert_eq!(build(), (true, "Some(\"clang-19\")".into()));
    assert_eq!(build(), (false, "Some(\"clang-19\")".into()), "nothing has changed");
    // The one that was asked for, in no folder of PATH.
    install(&at("elsewhere/mine"), "  bpf    - BPF (host endian)");
    assert_eq!(build(), (true, "Some(\"mine\")".into()));
    assert_eq!(build(), (false, "Some(\"mine\")".into()), "nothing has changed");
    fs::remove_file(at("elsewhere/mine")).expect("it was there");
    assert_eq!(build(), (true, "Some(\"clang-19\")".into()));
    assert_eq!(build(), (false, "Some(\"clang-19\")".into()), "nothing has changed");
    fs::remove_file(at("bin/clang-19")).expect("it was there");
    assert_eq!(build(), (true, "None".into()));
}
