//! The libraries as files: dependencies, exported and imported symbols.

use std::process::Command;

use crate::support::bless::compare;

const LIBRARIES: [(&str, &str); 2] = [
    ("libhugetlbfs.so", env!("HUGETOOLS_PRELOAD")),
    ("libhugetlbfs_heap.so", env!("HUGETOOLS_HEAP")),
];

fn output(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_libraries_need_no_library_and_no_symbol_version() {
    for (name, path) in LIBRARIES {
        let dynamic = output("readelf", &["-dW", path]);
        assert!(!dynamic.contains("(NEEDED)"), "{name}: {dynamic}");
        assert!(dynamic.contains("soname: [libhugetlbfs.so.0]"), "{name}");
        assert!(!dynamic.contains("TEXTREL"), "{name}");
        let versions = output("readelf", &["-VW", path]);
        assert!(!versions.contains("Version needs"), "{name}: {versions}");
        let segments = output("readelf", &["-lW", path]);
        assert!(segments.contains("GNU_RELRO"), "{name}");
        let stack = segments.lines().find(|line| line.contains("GNU_STACK"));
        assert!(!stack.unwrap().contains('E'), "{name}: {stack:?}");
    }
}

/// One list per library: `T` and `D` are exported; every libc must have `U` (glibc 2.17 and
/// musl); `w` may be missing.
#[test]
fn symbols_are_those_of_the_list() {
    for (name, path) in LIBRARIES {
        let symbols = output("nm", &["-D", "--with-symbol-versions", path]);
        let mut lines: Vec<String> = symbols
            .lines()
            .map(|line| line.split_whitespace().rev().take(2).collect::<Vec<_>>())
            .map(|words| format!("{} {}\n", words[1], words[0]))
            .collect();
        lines.sort();
        let listed = format!("tests/expected/libs/{name}.txt");
        compare(listed, &lines.concat()).unwrap();
    }
}
