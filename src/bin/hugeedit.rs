//! See hugeedit(8).

fn main() -> std::process::ExitCode {
    hugetools::hugeedit::main()
}
