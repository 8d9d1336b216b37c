//! The environment that the program really gets.

use super::place::{Place, done};
use crate::support::live::{machine, skip};

/// The variables, as `env` prints them under hugectl.
fn variables(place: &Place, line: &str) -> Vec<String> {
    let done = place.shell(line);
    assert_eq!(done.status, 0, "{}", done.err);
    let mut lines: Vec<String> = place
        .neutral(&done.out)
        .lines()
        .map(without_process)
        .collect();
    lines.sort();
    lines
}

/// What the classic tool does not set, each with the number of a process.
const OURS: [&str; 4] = [
    "HUGETLB_PID=",
    "HUGETLB_STARTER=",
    "HUGETLB_TEXT_COPY=",
    "HUGETLB_REQUIRE=",
];

/// A line without the number of the process, since each run is one of its own; 0
/// is none.
fn without_process(line: &str) -> String {
    let mut names = OURS.into_iter();
    let found = names.find_map(|name| Some((name, line.strip_prefix(name)?)));
    match found {
        Some((name, value)) if value != "0" => {
            let rest = value.trim_start_matches(|digit: char| digit.is_ascii_digit());
            format!("{name}$${rest}")
        }
        _ => line.to_owned(),
    }
}

#[test]
fn only_what_was_planned_differs() {
    let place = Place::new();
    let before = variables(&place, "A=1 B='x y' env");
    let mut after = variables(&place, "A=1 B='x y' hugectl -q --shm env");
    let ours = |line: &String| line.starts_with("HUGETLB_") || line.starts_with("LD_PRELOAD");
    for line in &mut after {
        // Behind it there is where the start keeps what it has said.
        if line.starts_with("HUGETLB_STARTER=$$:") {
            line.truncate("HUGETLB_STARTER=$$".len());
        }
    }
    let added: Vec<String> = after.extract_if_matches(ours);
    assert_eq!(after, before);
    assert_eq!(
        added,
        [
            "HUGETLB_SHM=yes",
            "HUGETLB_STARTER=$$",
            "HUGETLB_VERBOSE=1",
            "LD_PRELOAD=DIR/prefix/lib/libhugetlbfs.so"
        ]
    );
}

trait ExtractIf {
    fn extract_if_matches(&mut self, matches: impl Fn(&String) -> bool) -> Vec<String>;
}

impl ExtractIf for Vec<String> {
    fn extract_if_matches(&mut self, matches: impl Fn(&String) -> bool) -> Vec<String> {
        let (out, rest) = self.drain(..).partition(matches);
        *self = rest;
        out
    }
}

/// What a dry run prints, run by `sh`, starts the program in the same
/// environment as hugectl does.
#[test]
fn the_printed_shell_does_the_same() {
    // Who says what falls short depends on the pool, which another test may change.
    let is_root = nix::unistd::geteuid().is_root();
    let _live = is_root.then(|| machine("the environment"));
    let place = Place::new();
    // Where a start keeps what it has said, no dry run knows.
    let without_place = |mut lines: Vec<String>| {
        let name = "HUGETLB_STARTER=$$";
        for line in lines.iter_mut().filter(|line| line.starts_with(name)) {
            line.truncate(name.len());
        }
        lines
    };
    for options in [
        "-q --heap",
        "-q --shm --library-path prefix",
        "-q --no-preload --heap=2MB --fallback=base",
        "-q --text --bss=thp --heap --share-text --no-reserve --text-libs --perf-map",
        "-q --disable --shm",
        "-q --heap=thp --require=heap:50",
        "--verbose 99 --heap --shm",
    ] {
        let given = "LD_LIBRARY_PATH=/x LD_PRELOAD=$PWD/others.so";
        place.build("others.so", "int x;", &["-shared", "-fPIC"]);
        let run = variables(&place, &format!("{given} hugectl {options} env"));
        let mut run = without_place(run);
        let line = format!("{given} hugectl {options} --dry-run env > plan; {given} sh plan");
        let printed = variables(&place, &line);
        run.retain(|line| !line.starts_with("HUGETLB_STARTER") || printed.contains(line));
        assert_eq!(printed, run, "{options}");
    }
}

#[test]
fn the_library_is_in_the_program_and_in_its_children() {
    let place = Place::new();
    let done = place.shell("SAY_LOADED=1 hugectl -q --heap sh -c 'echo a; echo b | cat'");
    assert_eq!(done.out, "a\nb\n");
    let lines: Vec<&str> = done.err.lines().collect();
    assert!(lines.len() >= 2, "{lines:?}");
    assert!(
        lines
            .iter()
            .all(|line| *line == "libhugetlbfs_heap is loaded"),
        "{lines:?}"
    );
}

#[test]
fn one_hugectl_under_another_loads_one_library() {
    let place = Place::new();
    let line = "hugectl -q --heap hugectl -q --shm env SAY_LOADED=1 /bin/true";
    let done = place.shell(line);
    assert_eq!(
        (done.status, done.err.as_str()),
        (0, "libhugetlbfs_heap is loaded\n")
    );
    let both = variables(&place, "hugectl -q --heap hugectl -q --shm env");
    assert!(
        both.contains(&"LD_PRELOAD=DIR/prefix/lib/libhugetlbfs_heap.so".to_owned()),
        "{both:?}"
    );
    assert!(both.contains(&"HUGETLB_MORECORE=yes".to_owned()));
    assert!(both.contains(&"HUGETLB_SHM=yes".to_owned()));
    // Another copy of ours, put there by hand, goes as well.
    std::fs::copy(
        place.path("prefix/lib/libhugetlbfs.so"),
        place.path("libhugetlbfs.so"),
    )
    .unwrap();
    let line = "LD_PRELOAD=$PWD/libhugetlbfs.so hugectl -q --shm env";
    let one = variables(&place, line);
    assert!(
        one.contains(&"LD_PRELOAD=DIR/prefix/lib/libhugetlbfs.so".to_owned()),
        "{one:?}"
    );
}

/// Another malloc that is preloaded already has no use beside ours: it is named.
#[test]
fn a_malloc_that_is_replaced_is_named() {
    let place = Place::new();
    let malloc = "void *__libc_malloc(unsigned long); \
                  void *malloc(unsigned long n) { return __libc_malloc(n); }";
    let args = ["-shared", "-fPIC", "-fno-builtin"];
    place.build("libjemalloc-x.so", malloc, &args);
    let said = |options: &str| {
        let line = format!("LD_PRELOAD=$PWD/libjemalloc-x.so hugectl {options} /bin/true");
        let done = place.shell(&line);
        assert_eq!(done.status, 0, "{done:?}");
        done.err.contains("--anon instead")
    };
    assert!(said("--heap=thp"));
    assert!(!said("--shm"));
}

#[test]
fn values_that_are_no_text_get_through() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let mut command = place.command(&[
        "-q",
        "--shm",
        "sh",
        "-c",
        "printf %s \"$ODD\" | od -An -tx1",
    ]);
    command.env("ODD", OsStr::from_bytes(b"a\xff\n"));
    assert_eq!(done(&command.output().unwrap()).out.trim(), "61 ff 0a");
    let odd = OsStr::from_bytes(b"\xfe");
    let words = [
        OsStr::new("-q"),
        OsStr::new("--shm"),
        OsStr::new("printf"),
        OsStr::new("%s"),
        odd,
    ];
    assert_eq!(place.command(&words).output().unwrap().stdout, b"\xfe");
}

/// What `execve` lets pass comes through as it is: entries that are no variable, and two of
/// one name.
#[test]
fn what_is_no_variable_gets_through() {
    let place = Place::new();
    let source = r#"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv) {
    char *env[] = {"A=1", "odd", "=x", "", "A=2", "B=", "=", 0};
    if (strcmp(argv[1], "print")) return execve(argv[1], argv + 1, env);
    for (char **entry = environ; *entry; entry++) puts(*entry);
    return 0;
}"#;
    let program = place.build("odd", source, &[]);
    let program = program.to_str().unwrap();
    let plain = place.shell(&format!("{program} {program} print"));
    assert_eq!(plain.out, "A=1\nodd\n=x\n\nA=2\nB=\n=\n");
    let line = format!("{program} $PWD/prefix/bin/hugectl -q --shm {program} print");
    let ours = place.shell(&line);
    let is_ours = |line: &&str| line.starts_with("HUGETLB_") || line.starts_with("LD_PRELOAD=");
    let rest: Vec<&str> = ours.out.lines().filter(|line| !is_ours(line)).collect();
    assert_eq!(rest, plain.out.lines().collect::<Vec<_>>(), "{ours:?}");
}

/// What is in the environment already counts for what is said and required, as the options do.
#[test]
fn who_is_left_out_already_is_left_out() {
    let place = Place::new();
    let left_out = "HUGETLB_RESTRICT_EXE=solver does not name env";
    let small = "HUGETLB_LIMIT=1MB is less than a page of 2MB";
    for (given, fact) in [
        ("HUGETLB_RESTRICT_EXE=solver", left_out),
        ("HUGETLB_LIMIT=1M", small),
    ] {
        let line = format!("{given} hugectl --sysroot pool --heap=2MB");
        let explained = place.shell(&format!("{line} --explain env"));
        assert_eq!(explained.status, 3, "{explained:?}");
        assert!(explained.out.contains(fact), "{explained:?}");
        let printed = place.shell(&format!("{line} --require=heap --dry-run env"));
        let refused = format!("--require=heap is not met: {fact}");
        assert!(printed.err.contains(&refused), "{printed:?}");
    }
    let required = "hugectl --heap=thp --require=heap";
    let refused = place.shell(&format!("HUGETLB_RESTRICT_EXE=solver {required} env"));
    assert_eq!((refused.status, refused.out.as_str()), (125, ""));
    // What is asked for there is of others.
    for (given, is_said) in [("", true), ("HUGETLB_RESTRICT_EXE=solver", false)] {
        let line = format!("HUGETLB_MORECORE=2MB {given} hugectl --sysroot empty --dry-run");
        let printed = place.shell(&format!("{line} --shm=2MB env"));
        assert_eq!(printed.err.contains("heap"), is_said, "{printed:?}");
        assert!(printed.out.contains("libhugetlbfs_heap.so"), "{printed:?}");
    }
    // A shell leads to others, of which one may be named.
    for line in ["HUGETLB_RESTRICT_EXE=solver", "HUGETLB_RESTRICT_EXE=sh"] {
        let started = place.shell(&format!("{line} {required} sh -c 'echo here'"));
        assert_eq!(started.out, "here\n", "{started:?}");
    }
}

/// The classic tool, where it is installed, sets the same variables to the
/// same values, besides ours.
#[test]
fn the_classic_tool_agrees() {
    let place = Place::new();
    let classic = std::path::Path::new("/usr/bin/hugectl");
    if !classic.exists() {
        return skip(
            "the classic tool",
            "Debian's libhugetlbfs-bin is not installed",
        )
        .unwrap_or(());
    }
    for options in [
        "--heap",
        "--shm",
        "--heap --shm",
        "--thp",
        "--verbose 4 --heap",
        "--verbose 99 --shm",
        "--text",
        "--te=2MB --data --heap",
        "--data=2MB --bss --shm",
        "--data --bss=2MB",
        "--bss=2MB --no-preload",
        "--disable",
        "--disable=x --heap",
        "--text --heap --share-text --no-reserve",
        "",
    ] {
        let lines = |tool: &str| -> Vec<String> {
            let done = place.shell(&format!("{tool} --dry-run {options} true 2>/dev/null"));
            let lines = done.out.lines().filter(|line| line.starts_with("HUGETLB_"));
            let lines = lines.filter(|line| !OURS.iter().any(|name| line.starts_with(name)));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(lines("hugectl"), lines("/usr/bin/hugectl"), "{options}");
    }
}
