//! Compiles the C headers of `aqm/` as one object.
fn main() {
    println!("cargo:rerun-if-changed=../../aqm");
    println!("cargo:rerun-if-changed=src/shim.c");
    cc::Build::new()
        .file("src/shim.c")
        .include("../../aqm")
        .std("c11")
        // Called once or twice a packet: fast in debug builds too.
        .opt_level(3)
        .extra_warnings(true)
        .compile("queuewright_aqm_shim");
}
