//! `hugetlbfs.h` and symbol versions, compared with Debian's libhugetlbfs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::{Built, With, debian_is_here, program, run};
use crate::support::bless::project;
use crate::support::live::skip;
use crate::support::program::Libc;

/// Output of `constants.c`.
const CONSTANTS: &str = "\
HUGETLBFS_MAGIC 958458f6
PF_LINUX_HUGETLB 100000
GHP_DEFAULT 1 GHP_MASK 1, 8 bytes
GHR_STRICT 10000000 GHR_FALLBACK 20000000 GHR_COLOR 40000000 GHR_DEFAULT 60000000 GHR_MASK 70000000, 8 bytes
";

#[test]
fn header_constants_match_debians() {
    for libc in Libc::ALL {
        let Some(ours) = program("constants", Built::Here, libc) else {
            continue;
        };
        assert_eq!(run(&ours, With::Ours, &[], &[]).out, CONSTANTS, "{libc:?}");
    }
    if debian_is_here("the header of libhugetlbfs-dev") {
        let theirs = program("constants", Built::ByDebian, Libc::Glibc).unwrap();
        assert_eq!(run(&theirs, With::Ours, &[], &[]).out, CONSTANTS);
    }
}

/// The header needs no other header before it.
#[test]
fn the_header_compiles_as_c_and_cxx() {
    let header = project("crates/preload/include/hugetlbfs.h");
    for (compiler, language, standard) in [
        ("cc", "c", "-std=c89"),
        ("cc", "c", "-std=c11"),
        ("c++", "c++", "-std=c++98"),
        ("c++", "c++", "-std=c++17"),
    ] {
        let mut command = Command::new(compiler);
        command.args(["-fsyntax-only", "-Wall", "-Wextra", "-pedantic", "-Werror"]);
        let output = command
            .args([standard, "-x", language])
            .arg(&header)
            .output();
        match output {
            Ok(output) => assert!(output.status.success(), "{standard}: {output:?}"),
            Err(error) => skip("the header", &format!("{compiler}: {error}")).unwrap_or(()),
        }
    }
}

/// Returns the dynamic symbols of these `nm` types, with versions.
fn symbols(file: &Path, types: &str) -> BTreeSet<String> {
    let mut command = Command::new("nm");
    command.args(["-D", "--with-symbol-versions"]).arg(file);
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let lines = output.lines().filter_map(|line| {
        let mut words = line.split_whitespace().rev();
        let (name, symbol_type) = (words.next()?, words.next()?);
        types.contains(symbol_type).then(|| name.replace("@@", "@"))
    });
    lines.collect()
}

#[test]
fn linked_programs_need_the_symbol_versions_of_libhugetlbfs() {
    let ours = program("api", Built::Here, Libc::Glibc).unwrap();
    let needed_by = |file: &Path| {
        let mut needed = symbols(file, "U");
        needed.retain(|name| name.contains("@VERS_1.0") || name.contains("@HTLBFS_2."));
        needed
    };
    let needed = needed_by(&ours);
    assert_eq!(needed.len(), 12, "{needed:?}");
    assert!(needed.contains("gethugepagesize@VERS_1.0"), "{needed:?}");
    if debian_is_here("versions of libhugetlbfs-dev") {
        let theirs = program("api", Built::ByDebian, Libc::Glibc).unwrap();
        assert_eq!(needed, needed_by(&theirs));
    }
}

#[test]
fn all_symbols_of_debians_library_exist_with_their_versions() {
    if !debian_is_here("symbols of libhugetlbfs-dev") {
        return;
    }
    let machine = Command::new("cc").arg("-print-multiarch").output().unwrap();
    let machine = String::from_utf8(machine.stdout).unwrap();
    let theirs = format!("/usr/lib/{}/libhugetlbfs.so.0", machine.trim());
    let theirs = symbols(Path::new(&theirs), "T");
    assert_eq!(theirs.len(), 15, "{theirs:?}");
    for with in [With::Ours, With::Heap] {
        let ours = symbols(&with.place().unwrap().join("libhugetlbfs.so.0"), "TA");
        let missing: Vec<_> = theirs.difference(&ours).collect();
        assert!(missing.is_empty(), "{with:?}: {missing:?}");
    }
}
