//! ld.hugetlbfs under gcc and clang, with GNU ld, gold and lld.

use super::place::Place;
use super::segments::{faults, segments};
use crate::support::needs;

/// Prints its data.
pub(super) const PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>
static const char constant[4000000] = {'c'};
static char data[4000000] = "data";
static char bss[4000000];
int main(int argc, char **argv) {
    memset(bss, 'b', sizeof bss);
    printf("%c %s %c\n", constant[argc > 9], data, bss[argc > 9 ? 0 : 3999999]);
    return 0;
}
"#;

pub(super) const PRINTED: &str = "c data b\n";

/// The option, and the expected flags of text and data.
pub(super) const MODES: [(&str, &str, &str); 3] = [
    ("--hugetlbfs-align", "RE", "RW"),
    ("--hugetlbfs-link=B", "RE", "RWH"),
    ("--hugetlbfs-link=BDT", "REH", "RWH"),
];

const QUIET: &str = "HUGETLB_DEPRECATED_LINK=yes";

/// Returns a place with the program.
pub(super) fn place() -> Place {
    let place = Place::new();
    place.file("program.c", PROGRAM);
    place
}

/// Links with one compiler, linker, kind and mode.
pub(super) fn link(place: &Place, compiler: &str, mode: &str) {
    place.ok(&format!(
        "rm -f program; {QUIET} {compiler} -B $PLACE/B -O1 program.c -o program -Wl,{mode}"
    ));
}

/// Checks that a program has the segments of a mode.
pub(super) fn check(place: &Place, size: u64, mode: (&str, &str, &str), what: &str) {
    let found = segments(&place.head("program"));
    assert_eq!(faults(&found, size), [] as [String; 0], "{what}");
    let flags: Vec<String> = found.iter().map(|segment| segment.flags()).collect();
    let (_, text, data) = mode;
    for flags in &flags {
        let known = ["R", text, data].contains(&flags.as_str());
        assert!(known, "{what}: {flags}");
    }
    for wanted in [text, data] {
        assert!(
            flags.iter().any(|flags| flags == wanted),
            "{what}: {flags:?}"
        );
    }
    place.ok("readelf -lW program");
}

#[test]
fn every_linker_kind_and_mode() {
    let place = place();
    for linker in ["bfd", "gold", "lld"] {
        if !needs::linker("every_linker_kind_and_mode", linker) {
            continue;
        }
        for kind in ["-fPIE -pie", "-no-pie", "-static", "-fPIE -static-pie"] {
            // gold cannot link static PIEs.
            if (linker, kind) == ("gold", "-fPIE -static-pie") {
                continue;
            }
            for mode in MODES {
                let what = format!("{linker} {kind} {}", mode.0);
                link(&place, &format!("gcc -fuse-ld={linker} {kind}"), mode.0);
                check(&place, 2 << 20, mode, &what);
                let needs = place.ok("readelf -dW program");
                let is_static = kind.contains("static");
                assert_eq!(needs.contains("libhugetlbfs.so.0"), !is_static, "{what}");
                let run = "LD_LIBRARY_PATH=$PLACE/tools HUGETLB_ELFMAP=no ./program";
                assert_eq!(place.ok(run), PRINTED, "{what}");
            }
        }
    }
}

#[test]
fn clang_finds_ld_hugetlbfs() {
    let place = place();
    if !needs::programs("clang_finds_ld_hugetlbfs", &["clang", "ld.lld"]) {
        return;
    }
    link(&place, "clang -fuse-ld=lld", MODES[2].0);
    check(&place, 2 << 20, MODES[2], "clang");
    let run = "LD_LIBRARY_PATH=$PLACE/tools HUGETLB_ELFMAP=no ./program";
    assert_eq!(place.ok(run), PRINTED);
}

#[test]
fn the_size_can_be_given() {
    let place = place();
    for (size, bytes) in [("64kB", 64 << 10), ("256MB", 256 << 20)] {
        link(&place, "gcc", &format!("--hugetlbfs-align={size}"));
        check(&place, bytes, MODES[0], size);
        let run = "LD_LIBRARY_PATH=$PLACE/tools ./program";
        assert_eq!(place.ok(run), PRINTED, "{size}");
    }
}

#[test]
fn libraries_objects_and_whole_program_optimization() {
    let place = place();
    place.ok(&format!(
        "{QUIET} gcc -B $PLACE/B -O1 -shared -fPIC program.c -o program -Wl,--hugetlbfs-link=BDT"
    ));
    check(&place, 2 << 20, MODES[2], "library");
    // An object file has no segments.
    place.ok("gcc -O1 -c program.c && cp program.o plain.o");
    place.ok("$PLACE/B/ld -r --hugetlbfs-align program.o -o ours.o && ld -r plain.o -o theirs.o");
    assert!(place.bytes("ours.o") == place.bytes("theirs.o"));
    link(&place, "gcc -flto", MODES[2].0);
    check(&place, 2 << 20, MODES[2], "lto");
}

/// Installs a fake linker that prints its arguments.
fn install_printing_ld(place: &Place) {
    place.file(
        "fake-ld",
        "#!/bin/sh\n\
         [ \"$1\" = -V ] && exit\n\
         for a; do printf '<%s>' \"$a\"; done; echo\n",
    );
}

#[test]
fn arguments_keep_their_order() {
    let place = place();
    install_printing_ld(&place);
    place.ok("gcc -c program.c -o a.o");
    let print = |line: &str| place.ok(&format!("LD=$PLACE/made/fake-ld $PLACE/B/ld {line}"));
    // Without our options the arguments pass unchanged.
    let line = "-m elf_x86_64 --no-relax '' -z now @nothing --no-as-needed -lx --as-needed";
    assert_eq!(
        print(line),
        "<-m><elf_x86_64><--no-relax><><-z><now><@nothing><--no-as-needed><-lx><--as-needed>\n"
    );
    let library = "<--push-state><-Bdynamic><--no-as-needed><-lhugetlbfs><--pop-state>";
    let beside = place.path("tools");
    let pages = format!(
        "<-L{0}><-rpath><{0}><-z><max-page-size=2097152><-z><common-page-size=2097152>",
        beside.display()
    );
    assert_eq!(
        print(&format!("{line} --hugetlbfs-align a.o -lc")),
        format!(
            "<-m><elf_x86_64><--no-relax><><-z><now><@nothing><--no-as-needed><-lx><--as-needed>\
             <a.o>{library}<-lc>{pages}\n"
        )
    );
    // After -- all words are files. libhugetlbfs' tool dropped empty words; we keep them.
    assert_eq!(
        print("--hugetlbfs-align -pie a.o -- --hugetlbfs-align '' b.o"),
        format!("<-pie><a.o>{library}{pages}<--><--hugetlbfs-align><><b.o>\n")
    );
}

#[test]
fn response_files_are_read() {
    let place = place();
    install_printing_ld(&place);
    place.file("outer", "-pie 'a b.o' @inner");
    place.file("inner", "--hugetlbfs-align=64kB\n\"c d.o\"");
    let out = place.ok("LD=$PLACE/made/fake-ld $PLACE/B/ld -o x @outer last.o");
    assert!(
        out.starts_with("<-o><x><-pie><a b.o><c d.o><last.o>"),
        "{out}"
    );
    assert!(out.contains("<max-page-size=65536>"), "{out}");
    // A response file without our options is passed as it is.
    place.file("plain", "a.o b.o");
    assert_eq!(
        place.ok("LD=$PLACE/made/fake-ld $PLACE/B/ld @plain"),
        "<@plain>\n"
    );
}

#[test]
fn output_and_status_of_the_linker_are_passed_on() {
    let place = place();
    for linker in ["ld.bfd", "ld.gold", "ld.lld"] {
        if !needs::programs("output_and_status_of_the_linker_are_passed_on", &[linker]) {
            continue;
        }
        let ours = place.shell(&format!(
            "$PLACE/B/{linker} -m elf_x86_64 --hugetlbfs-align=2MB -o x nothing.o"
        ));
        let theirs = place.shell(&format!(
            "/usr/bin/{linker} -m elf_x86_64 -static -o x nothing.o"
        ));
        assert_eq!(ours.status, theirs.status, "{linker}");
        assert!(ours.err.contains("nothing.o"), "{ours:?}");
        assert!(!ours.err.contains("ld.hugetlbfs"), "{ours:?}");
        let ours = place.ok(&format!("$PLACE/B/{linker} --version"));
        assert_eq!(ours, place.ok(&format!("/usr/bin/{linker} --version")));
    }
    // Exit statuses and signals are passed on.
    place.file(
        "fake-ld",
        "#!/bin/sh\n[ \"$1\" = -V ] && exit; echo told >&2; exit 42\n",
    );
    let done = place.shell("LD=$PLACE/made/fake-ld $PLACE/B/ld --hugetlbfs-align=2MB x.o");
    assert_eq!((done.status, done.err.as_str()), (42, "told\n"));
    place.file(
        "fake-ld",
        "#!/bin/sh\n[ \"$1\" = -V ] && exit; kill -TERM $$\n",
    );
    let done = place.shell("LD=$PLACE/made/fake-ld $PLACE/B/ld --hugetlbfs-align=2MB x.o");
    assert_eq!(done.status, 128 + 15);
}

#[test]
fn usage_errors_are_reported() {
    let place = place();
    let failure = |line: &str| {
        let done = place.shell(line);
        (done.status, place.neutral(&done.err))
    };
    let none = "the options are --hugetlbfs-align[=SIZE] and --hugetlbfs-link=B|BDT";
    for (line, status, text) in [
        (
            "$PLACE/B/ld --hugetlbfs-nonsense a.o",
            1,
            format!("ld.hugetlbfs: error: --hugetlbfs-nonsense: no such option\n  {none}\n"),
        ),
        (
            "$PLACE/B/ld -m elf_x86_64 --hugetlbfs-align -lc",
            1,
            "ld.hugetlbfs: error: no object file names the target machine\n  \
             set the size with --hugetlbfs-align=SIZE\n"
                .to_owned(),
        ),
        (
            "PATH=$PLACE/B $PLACE/B/ld --hugetlbfs-align a.o",
            1,
            "ld.hugetlbfs: error: there is no other ld in COMPILER_PATH or PATH\n  \
             LD=PATH names the real linker\n"
                .to_owned(),
        ),
        (
            "LD_HUGETLBFS_RECURSION=1 $PLACE/B/ld a.o",
            99,
            "ld.hugetlbfs: error: LD_HUGETLBFS_RECURSION is set: the linker found in the path \
             calls ld.hugetlbfs again\n  LD=PATH names the real linker\n"
                .to_owned(),
        ),
    ] {
        assert_eq!(failure(line), (status, text), "{line}");
    }
}

#[test]
fn warnings_are_reported() {
    let place = Place::new();
    place.file("a.c", "int x = 5; int f(void) { return x; }");
    place.file("b.c", "int g(void) { return 7; }");
    place.ok("gcc -c a.c && gcc -c b.c");
    let warnings = |line: &str| {
        let done = place.shell(line);
        assert_eq!(done.status, 0, "{done:?}");
        let ours = done
            .err
            .lines()
            .skip_while(|line| !line.starts_with("ld.hugetlbfs"));
        ours.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        warnings("$PLACE/B/ld -static -e f -N --hugetlbfs-align a.o -o x"),
        "ld.hugetlbfs: warning: x: 1 of 1 segments are not aligned to 2MB\n  \
         -n, -N or a linker script can cause that"
    );
    assert_eq!(
        warnings(&format!(
            "{QUIET} $PLACE/B/ld -static -e g --hugetlbfs-link=B b.o -o x"
        )),
        "ld.hugetlbfs: warning: x: no segment to mark"
    );
    assert_eq!(
        warnings("$PLACE/B/ld -static -e f --hugetlbfs-link=B a.o -o x"),
        "ld.hugetlbfs: warning: --hugetlbfs-link is deprecated\n  use --hugetlbfs-align, and \
         hugeedit to mark segments; HUGETLB_DEPRECATED_LINK=yes silences this"
    );
}
