//! See hugeadm(8).

fn main() -> std::process::ExitCode {
    hugetools::hugeadm::main()
}
