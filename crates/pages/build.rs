//! Has the C compiler assemble for powerpc64, where Rust does so only since 1.95.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads cargo's environment"
)]

const FILES: [&str; 3] = [
    "src/rt/words.s",
    "src/sys/powerpc64le.s",
    "src/rt/side_stack/powerpc64le.s",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|machine| machine == "powerpc64") {
        cc::Build::new().files(FILES).compile("hugetools_pages");
        for file in FILES {
            println!("cargo::rerun-if-changed={file}");
        }
    }
}
