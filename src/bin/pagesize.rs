//! See pagesize(1).

fn main() -> std::process::ExitCode {
    hugetools::pagesize::main()
}
