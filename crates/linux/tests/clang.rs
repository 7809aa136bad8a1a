//! The program's build notices a clang that comes, and one that goes: "install clang-19 and build again" is true. And what it makes
//! is the same in any folder.

#[path = "../clang.rs"]
mod clang;
#[path = "../flags.rs"]
mod flags;

use queuewright_testing::{Lack, left_out};
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

/// So that whoever builds the program again has the objects of a release, byte by byte.
#[test]
fn objects_are_the_same_wherever_they_are_compiled() {
    let out = Path::new(env!("OUT_DIR"));
    let Ok(compiler) = fs::read_to_string(out.join("compiler")) else {
        return left_out("two builds of an object", Lack::Setup, &"built without a clang that has BPF");
    };
    let (clang, headers) = compiler.trim_end().split_once('\n').expect("two lines");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir().expect("a folder");
    let made = ["a", "another"].map(|name| {
        let at = dir.path().join(name);
        let below = at.join("libbpf");
        fs::create_dir_all(&below).expect("a folder");
        for (from, to) in [(here, &at), (Path::new(headers), &below)] {
            for folder in ["bpf", "aqm"].iter().filter(|folder| from.join(folder).exists()) {
                fs::create_dir(to.join(folder)).expect("a folder");
                for file in fs::read_dir(from.join(folder)).expect("a folder").flatten() {
                    let path = file.path();
                    if path.is_file() {
                        fs::copy(&path, to.join(folder).join(file.file_name())).expect("a copy");
                    }
                }
            }
        }
        let words = flags::words("qdisc", "codel", &[], &at, &below);
        let done =
            Command::new(clang).args(words).arg("made.o").current_dir(&at).output().expect("clang runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        fs::read(at.join("made.o")).expect("it was made")
    });
    assert!(made[0] == made[1], "an object has something of where it was compiled");

    let mut objects = 0;
    for entry in fs::read_dir(out).expect("a folder").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "o") {
            let bytes = fs::read(&path).expect("a file");
            for folder in [headers, env!("CARGO_MANIFEST_DIR")] {
                let found = bytes.windows(folder.len()).any(|part| part == folder.as_bytes());
                assert!(!found, "{} names {folder}", path.display());
            }
            objects += 1;
        }
    }
    assert!(objects > 50, "{objects} objects");
}
