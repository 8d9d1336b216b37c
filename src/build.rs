//! The build script: how hugectl is linked.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads cargo's environment"
)]

mod link;

fn main() {
    println!("cargo::rerun-if-changed=src/link.rs");
    link::static_unwinder();
}
