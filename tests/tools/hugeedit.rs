//! hugeedit on real programs: it edits them in place, and they run as before.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::place::Place;
use super::segments::segments;
use crate::support::needs;

/// Prints its data, and its load address modulo the huge page size.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>
extern char __executable_start;
static char data[100000] = "data";
static char bss[3000000];
static const char table[5000000] = {'t'};
static const char *const text = "text";
int main(int argc, char **argv) {
    memset(bss, 'b', sizeof bss);
    printf("%cable %s %s %c %d", table[argc > 9], text, data, bss[2999999], argc);
    if (argc > 1) printf(" %lx", (unsigned long)&__executable_start & 0x1fffff);
    printf("\n");
    return 7;
}
"#;

fn build(place: &Place, name: &str, flags: &str) {
    place.file("program.c", PROGRAM);
    place.ok(&format!("cc -O1 {flags} program.c -o {name}"));
}

fn runs(place: &Place, line: &str, out: &str) {
    let done = place.shell(line);
    assert_eq!(
        (done.status, done.out.as_str(), done.err.as_str()),
        (7, out, ""),
        "{line}"
    );
}

#[test]
fn marked_programs_run_as_before() {
    let place = Place::new();
    for (name, flags) in [
        ("pie", "-pie -fPIE"),
        ("no-pie", "-no-pie"),
        ("static", "-static"),
        ("static-pie", "-static-pie -fPIE"),
    ] {
        build(&place, name, flags);
        place.ok(&format!("hugeedit --text --data {name}"));
        let flags: Vec<String> = segments(&place.bytes(name))
            .iter()
            .map(|segment| segment.flags())
            .collect();
        assert!(flags.iter().any(|flags| flags == "REH"), "{flags:?}");
        assert!(flags.iter().any(|flags| flags == "RWH"), "{flags:?}");
        runs(&place, &format!("./{name}"), "table text data b 1\n");
    }
}

#[test]
fn an_aligned_program_is_loaded_at_a_huge_page() {
    let place = Place::new();
    build(&place, "program", "-pie -fPIE -Wl,-z,max-page-size=4096");
    let before = segments(&place.bytes("program"));
    assert!(before.iter().all(|segment| segment.align == 4096));
    place.ok("hugeedit --align=2MB program");
    let after = segments(&place.bytes("program"));
    assert!(
        after
            .iter()
            .filter(|s| s.flags().contains('E'))
            .all(|s| s.align == 2 << 20)
    );
    for _ in 0..20 {
        runs(&place, "./program where", "table text data b 2 0\n");
    }
}

#[test]
fn a_running_program_is_busy() {
    let place = Place::new();
    place.ok("cp /bin/sleep program");
    let before = place.snapshot();
    let done = place.shell(
        "./program 60 & until test /proc/$!/exe -ef program; do :; done; \
         hugeedit --text program; echo $?; kill $!",
    );
    assert_eq!(
        (done.out.as_str(), done.err.as_str()),
        (
            "1\n",
            "hugeedit: error: program: cannot be opened for writing: text file busy (ETXTBSY)\n  \
             a process is running it: stop the process, or change a copy and rename the copy over the file\n"
        )
    );
    assert_eq!(place.snapshot(), before);
    assert!(place.ok("hugeedit program").starts_with("Segment "));
}

#[test]
fn all_hard_links_see_the_change() {
    let place = Place::new();
    build(&place, "program", "");
    place.ok("ln program second && ln -s program third && chmod 751 program");
    let inode = fs::metadata(place.work("program")).unwrap().ino();
    let shown = place.ok("hugeedit --data third");
    assert!(shown.contains("(DATA) default is HUGE pages"), "{shown}");
    for name in ["program", "second", "third"] {
        assert_eq!(place.ok(&format!("hugeedit {name}")), shown);
        let found = fs::metadata(place.work(name)).unwrap();
        assert_eq!((found.ino(), found.mode() & 0o7777), (inode, 0o751));
    }
    assert!(place.work("third").is_symlink());
}

/// Runs a command as a user who does not own the files in `made`.
const AS_NOBODY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups --";

#[test]
fn a_read_only_file_is_unchanged() {
    if !needs::root("a_read_only_file_is_unchanged") {
        return;
    }
    let place = Place::new();
    build(&place, "program", "");
    let before = place.snapshot();
    let done = place.shell(&format!("{AS_NOBODY} hugeedit --text program"));
    assert_eq!(
        (done.status, done.out.as_str(), done.err.as_str()),
        (
            1,
            "",
            "hugeedit: error: program: cannot be opened for writing: permission denied (EACCES)\n  \
             hugeedit changes the file in place and needs permission to write it\n"
        )
    );
    assert_eq!(place.snapshot(), before);
    // Reading needs no write permission.
    place.ok(&format!("{AS_NOBODY} hugeedit program"));
}

/// A write would remove the bits and capabilities.
#[test]
fn programs_with_a_set_id_bit_or_capabilities_stay_unchanged() {
    let test = "programs_with_a_set_id_bit_or_capabilities_stay_unchanged";
    if !needs::root(test) || !needs::programs(test, &["setcap"]) {
        return;
    }
    let place = Place::new();
    build(&place, "program", "");
    place.ok("cp program capable && setcap cap_net_raw+ep capable");
    place.ok("cp program set-id && chmod 4755 set-id");
    for name in ["capable", "set-id"] {
        let done = place.shell(&format!("hugeedit --text {name}"));
        assert_eq!(
            (done.status, done.err.as_str()),
            (
                1,
                &*format!(
                    "hugeedit: error: {name}: has a set-ID bit or capabilities: a change would \
                     remove them\n  change a copy without them, then give them to the copy\n"
                )
            )
        );
        assert!(place.bytes(name) == place.bytes("program"), "{name}");
    }
    assert_eq!(place.ok("getcap capable"), "capable cap_net_raw=ep\n");
}

#[test]
fn marks_equal_those_of_libhugetlbfs() {
    let tool = "/usr/bin/hugeedit";
    if !needs::programs("marks_equal_those_of_libhugetlbfs", &[tool]) {
        return;
    }
    let place = Place::new();
    for (name, flags) in [
        ("pie", "-pie -fPIE"),
        ("no-pie", "-no-pie"),
        ("static", "-static"),
    ] {
        build(&place, name, flags);
        for options in ["", "--text", "--data", "--text --data", "--disable"] {
            place.ok(&format!("cp {name} ours && cp {name} theirs"));
            let ours = place.ok(&format!("hugeedit {options} ours"));
            let theirs = place.ok(&format!("{tool} {options} theirs"));
            assert_eq!(ours, theirs, "{name} {options}");
            assert!(
                place.bytes("ours") == place.bytes("theirs"),
                "{name} {options}"
            );
            place.ok(&format!("cp ours {name}"));
        }
    }
}
