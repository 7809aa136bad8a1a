//! The program `queuewright`.

use std::process::ExitCode;

fn main() -> ExitCode {
    queuewright::main(std::env::args_os()).into()
}
