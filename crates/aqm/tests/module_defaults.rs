//! `module/defaults.h` says in C what the registry says.

use queuewright_aqm::{ParamKind, Value, registry};
use std::fmt::Write;
use std::path::Path;

fn header() -> String {
    let mut out = String::from(
        "/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */\n\
         /*\n\
         \x20* Defaults of the parameters, D(name, value as in options.h, may it change while\n\
         \x20* the discipline runs?). Made from the registry in crates/aqm by\n\
         \x20*\tINSTA_UPDATE=always cargo test -p queuewright-aqm --test module\n\
         \x20*/\n\
         #ifndef QW_DEFAULTS_H\n\
         #define QW_DEFAULTS_H\n\n\
         /* clang-format off */\n",
    );
    for info in registry() {
        let _ = write!(out, "#define QW_{}_DEFAULTS(D)", info.name.replace('-', "_").to_uppercase());
        for param in info.params.iter().filter(|p| p.kind != ParamKind::File) {
            let _ = write!(
                out,
                " \\\n\tD(\"{}\", {}ULL, {})",
                param.name,
                param.encode(param.default),
                param.tunable
            );
        }
        out += "\n";
    }
    out + "/* clang-format on */\n\n#endif /* QW_DEFAULTS_H */\n"
}

#[test]
fn the_module_has_the_defaults_of_the_registry() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../module/defaults.h");
    if std::env::var("INSTA_UPDATE").is_ok_and(|v| v == "always") {
        std::fs::write(&path, header()).expect("module/ can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == header(), "module/defaults.h is of another registry: see its first lines");
}

#[test]
fn numbers_become_values_again() {
    for info in registry() {
        for param in info.params {
            for value in [param.default, param.min, param.max] {
                let again = param.decode(param.encode(value));
                match (value, again) {
                    // Q32 has nine digits and a little.
                    (Value::Real(a), Value::Real(b)) => assert!((a - b).abs() < 1e-9, "{}", param.name),
                    _ => assert_eq!(again, value, "{}.{}", info.name, param.name),
                }
            }
        }
    }
}
