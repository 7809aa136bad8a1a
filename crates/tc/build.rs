//! Two symbols for each discipline, module's and BPF's, as tc looks for `qw_codel_qdisc_util` in `q_qw_codel.so`.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=aqm/all.h");
    let all = fs::read_to_string("aqm/all.h").expect("aqm/all.h");
    let mut out = String::new();
    for list in ["QW_DISCIPLINES", "QW_SCHEDULERS"] {
        let begin = all.find(&format!("#define {list}(X)")).expect("all.h has the list");
        let lines = all[begin..].lines().skip(1).map(str::trim);
        for name in lines.map_while(|line| line.strip_prefix("X(")?.split(',').next()) {
            for kind in [format!("qw_{name}"), format!("bpf_{name}")] {
                out += &format!(
                    "#[unsafe(no_mangle)]\npub static {kind}_qdisc_util: Util = Util::new(c\"{kind}\");\n"
                );
            }
        }
    }
    let path = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("symbols.rs");
    fs::write(path, out).expect("OUT_DIR can be written");
}
