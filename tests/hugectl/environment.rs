//! The environment of the started program.

use super::place::Place;
use crate::support::live::machine;
use crate::support::needs;

/// Variables that the classic tool does not set. Their values can begin with a PID.
const OURS: [&str; 4] = [
    "HUGETLB_PID=",
    "HUGETLB_STARTER=",
    "HUGETLB_TEXT_COPY=",
    "HUGETLB_REQUIRE=",
];

/// Returns the variables that a line prints, sorted, with PIDs as `$$`.
fn variables(place: &Place, line: &str) -> Vec<String> {
    let done = place.shell(line);
    assert_eq!(done.status, 0, "{}", done.err);
    let out = place.normalize(&done.out);
    let mut lines: Vec<String> = out.lines().map(without_pid).collect();
    lines.sort();
    lines
}

/// Replaces a PID by `$$`, except 0, which means none.
fn without_pid(line: &str) -> String {
    let mut names = OURS.into_iter();
    match names.find_map(|name| Some((name, line.strip_prefix(name)?))) {
        // A real start adds the path of the ledger.
        Some(("HUGETLB_STARTER=", _)) => "HUGETLB_STARTER=$$".to_owned(),
        Some((name, value)) if value != "0" => {
            let rest = value.trim_start_matches(|digit: char| digit.is_ascii_digit());
            format!("{name}$${rest}")
        }
        _ => line.to_owned(),
    }
}

#[test]
fn only_the_planned_variables_change() {
    let place = Place::new();
    let before = variables(&place, "A=1 B='x y' env");
    let after = variables(&place, "A=1 B='x y' hugectl -q --shm env");
    let (added, kept): (Vec<_>, Vec<_>) = after
        .into_iter()
        .partition(|line| line.starts_with("HUGETLB_") || line.starts_with("LD_PRELOAD"));
    assert_eq!(kept, before);
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

#[test]
fn the_printed_script_sets_the_same_variables() {
    // HUGETLB_PID and HUGETLB_STARTER depend on the pool, which another test may change.
    let is_root = nix::unistd::geteuid().is_root();
    let _live = is_root.then(|| machine("the environment"));
    let place = Place::new();
    place.build("others.so", "int x;", &["-shared", "-fPIC"]);
    let given = "LD_LIBRARY_PATH=/x LD_PRELOAD=$PWD/others.so";
    for options in [
        "-q --heap",
        "-q --no-preload --heap=2MB --fallback=base",
        "-q --text --bss=thp --heap --share-text --no-reserve --text-libs --perf-map",
        "-q --disable --shm",
        "-q --heap=thp --require=heap:50",
        "--verbose 99 --heap --shm",
    ] {
        let mut run = variables(&place, &format!("{given} hugectl {options} env"));
        let line = format!("{given} hugectl {options} --dry-run env > plan; {given} sh plan");
        let printed = variables(&place, &line);
        run.retain(|line| !line.starts_with("HUGETLB_STARTER") || printed.contains(line));
        assert_eq!(printed, run, "{options}");
    }
}

#[test]
fn the_library_is_loaded_by_the_program_and_its_children() {
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
}

#[test]
fn a_replaced_malloc_gets_a_hint() {
    let place = Place::new();
    let malloc = "void *__libc_malloc(unsigned long); \
                  void *malloc(unsigned long n) { return __libc_malloc(n); }";
    let args = ["-shared", "-fPIC", "-fno-builtin"];
    place.build("libjemalloc-x.so", malloc, &args);
    let has_hint = |options: &str| {
        let line = format!("LD_PRELOAD=$PWD/libjemalloc-x.so hugectl {options} /bin/true");
        let done = place.shell(&line);
        assert_eq!(done.status, 0, "{done:?}");
        done.err.contains("--anon instead")
    };
    assert!(has_hint("--heap=thp"));
    assert!(!has_hint("--shm"));
}

/// Duplicate names and values that are not UTF-8 reach the program. Entries without a name or a `=`
/// are dropped.
#[test]
fn odd_entries_are_passed_on() {
    let place = Place::new();
    let source = r#"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv) {
    char *env[] = {"A=1", "odd", "=x", "", "A=2", "B=\xff", "=", 0};
    if (strcmp(argv[1], "print")) return execve(argv[1], argv + 1, env);
    for (char **entry = environ; *entry; entry++) puts(*entry);
    return 0;
}"#;
    let program = place.build("odd", source, &[]);
    let program = program.to_str().unwrap();
    let plain = place.shell(&format!("{program} {program} print"));
    assert_eq!(plain.out, "A=1\nodd\n=x\n\nA=2\nB=\u{fffd}\n=\n");
    let line = format!("{program} $PWD/prefix/bin/hugectl -q --shm {program} print");
    let ours = place.shell(&line);
    let is_ours = |line: &&str| line.starts_with("HUGETLB_") || line.starts_with("LD_PRELOAD=");
    let rest: Vec<&str> = ours.out.lines().filter(|line| !is_ours(line)).collect();
    assert_eq!(rest, ["A=1", "A=2", "B=\u{fffd}"], "{ours:?}");
}

/// Existing variables count for warnings and for `--require`, as options do.
#[test]
fn existing_restrictions_are_respected() {
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
    // A shell may start the named program.
    for line in ["HUGETLB_RESTRICT_EXE=solver", "HUGETLB_RESTRICT_EXE=sh"] {
        let started = place.shell(&format!("{line} {required} sh -c 'echo here'"));
        assert_eq!(started.out, "here\n", "{started:?}");
    }
}

#[test]
fn variables_equal_those_of_libhugetlbfs() {
    let place = Place::new();
    if !needs::programs("the classic tool", &["/usr/bin/hugectl"]) {
        return;
    }
    for options in [
        "--heap --shm",
        "--thp",
        "--verbose 4 --heap",
        "--verbose 99 --shm",
        "--te=2MB --data --heap",
        "--data=2MB --bss --shm",
        "--data --bss=2MB",
        "--bss=2MB --no-preload",
        "--disable=x --heap",
        "--text --heap --share-text --no-reserve",
        "",
    ] {
        let lines = |tool: &str| -> Vec<String> {
            let done = place.shell(&format!("{tool} --dry-run {options} true 2>/dev/null"));
            let lines = done.out.lines().filter(|line| line.starts_with("HUGETLB_"));
            let lines = lines.filter(|line| !OURS.iter().any(|name| line.starts_with(name)));
            // Our hugectl does not set the default.
            let lines = lines.filter(|line| *line != "HUGETLB_VERBOSE='2'");
            lines.map(str::to_owned).collect()
        };
        assert_eq!(lines("hugectl"), lines("/usr/bin/hugectl"), "{options}");
    }
}
