//! Builds the two run-time libraries and embeds them in hugectl, so that a copied hugectl has them.
//! Also links hugectl for a fast start.
//!
//! The libraries have their own target directory, are always built for release, and never with the
//! flags of a static hugectl.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads cargo's environment"
)]

mod link;

use std::error::Error;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables of the outer build that the inner build must not inherit.
const REMOVED: [&str; 7] = [
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_TARGET_DIR",
    "CLIPPY_ARGS",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

/// Compiler flags. With full `relro`, rustc would call every function through the GOT, which the
/// loader fills at each start. `-z now` still makes the linker's `relro` full.
const FLAGS: [&str; 3] = [
    "-Ctarget-feature=-crt-static",
    "-Crelro-level=partial",
    "-Clink-arg=-Wl,-z,now",
];

/// Sources of the libraries; a change rebuilds them.
const SOURCES: [&str; 7] = [
    "Cargo.toml",
    "Cargo.lock",
    "crates/kernfs",
    "crates/contract",
    "crates/pages",
    "crates/preload",
    "crates/heap",
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    println!("cargo::rerun-if-changed=src/build.rs");
    println!("cargo::rerun-if-changed=src/link.rs");
    link::for_fast_start();
    let libs = PathBuf::from(std::env::var("OUT_DIR")?).join("libs");
    let target = std::env::var("TARGET")?;
    build(&root, &libs, &target)?;
    let built = libs.join(&target).join("release");
    let mut digest = [DefaultHasher::new(), DefaultHasher::new()];
    digest[1].write_u8(1);
    for (variable, file) in [
        ("HUGETOOLS_PRELOAD", "libhugetlbfs.so"),
        ("HUGETOOLS_HEAP", "libhugetlbfs_heap.so"),
    ] {
        let path = built.join(file);
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        digest.iter_mut().for_each(|digest| digest.write(&bytes));
        println!("cargo::rustc-env={variable}={}", path.display());
    }
    let [high, low] = digest.map(|digest| digest.finish());
    println!("cargo::rustc-env=HUGETOOLS_DIGEST={high:016x}{low:016x}");
    Ok(())
}

/// Flags for mimalloc: hide its symbols, and skip its cleanup at exit, as its shared library does.
const MIMALLOC_FLAGS: &str = "-fvisibility=hidden -DMI_SKIP_COLLECT_ON_EXIT";

/// Returns the user's flags for C, followed by ours.
fn c_flags() -> String {
    let set = std::env::var("CFLAGS").unwrap_or_default();
    format!("{set} {MIMALLOC_FLAGS}")
}

/// Writes the manifest of a workspace with the two libraries: a package from a registry lacks the
/// crates beside it.
fn write_workspace(root: &Path, dir: &Path) -> Result<(), Box<dyn Error>> {
    let version = std::env::var("CARGO_PKG_VERSION")?;
    let own = fs::read_to_string(root.join("Cargo.toml"))?;
    let profiles = own
        .split("\n\n")
        .filter(|part| part.starts_with("[profile.release"));
    let profiles = profiles.collect::<Vec<_>>().join("\n");
    let text = format!(
        "[package]\nname = \"libraries\"\nedition = \"2024\"\n[workspace]\n[lib]\npath = \"lib.rs\"\n\
         [dependencies]\nhugetools-heap = \"={version}\"\nhugetools-preload = \"={version}\"\n{profiles}\n"
    );
    fs::create_dir_all(dir)?;
    fs::write(dir.join("lib.rs"), "")?;
    Ok(fs::write(dir.join("Cargo.toml"), text)?)
}

fn build(root: &Path, libs: &Path, target: &str) -> Result<(), Box<dyn Error>> {
    let mut cargo = Command::new(std::env::var("CARGO")?);
    cargo.args(["build", "--release"]);
    if root.join("crates/heap").exists() {
        cargo.current_dir(root).arg("--locked");
    } else {
        write_workspace(root, libs)?;
        cargo.current_dir(libs);
    }
    cargo
        .args(["-p", "hugetools-preload", "-p", "hugetools-heap"])
        .args(["--target", target, "--target-dir"])
        .arg(libs)
        .env("CFLAGS", c_flags())
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"));
    for name in REMOVED {
        cargo.env_remove(name);
    }
    match cargo.status()? {
        status if status.success() => Ok(()),
        status => Err(format!("the run-time libraries were not built: {status}").into()),
    }
}
