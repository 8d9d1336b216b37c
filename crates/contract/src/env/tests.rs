//! Reads the variables as the libraries do.
extern crate std;
use super::*;
use proptest::prelude::*;
use std::vec::Vec;

fn read<'a>(vars: &'a [(&str, &str)], program: &str) -> Settings<'a> {
    let get = |name: &str| {
        let found = vars.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| value.as_bytes())
    };
    Settings::read(get, program.as_bytes(), 42)
}

fn rejected(settings: Settings<'_>) -> Vec<&'static str> {
    settings.rejected.names().collect()
}

#[test]
fn classic_values() {
    assert_eq!(read(&[], "x"), Settings::NOTHING);
    assert_eq!(read(&[(MORECORE, "yes")], "x").heap, Some(Pages::Default));
    assert_eq!(read(&[(MORECORE, "Y")], "x").heap, Some(Pages::Default));
    assert_eq!(read(&[(MORECORE, "THP")], "x").heap, Some(Pages::Thp));
    assert_eq!(read(&[(MORECORE, "No")], "x").heap, None);
    assert_eq!(
        read(&[(MORECORE, "2MB")], "x").heap,
        Some(Pages::Size(2 << 20))
    );
    assert_eq!(read(&[(SHM, "yes")], "x").shm, Some(Pages::Default));
    assert_eq!(read(&[(ANON, "thp")], "x").anon, Some(Pages::Thp));
    assert_eq!(read(&[(ANON_MIN, "64k")], "x").anon_min, Some(64 << 10));
    assert_eq!(rejected(read(&[(ANON_MIN, "x")], "x")), [ANON_MIN]);
    assert_eq!(read(&[(STACK, "yes")], "x").stack, Some(Pages::Default));
    assert_eq!(read(&[(STACK_DEPTH, "1M")], "x").stack_depth, Some(1 << 20));
    assert_eq!(read(&[(VERBOSE, "3")], "x").verbosity, 3);
    assert_eq!(read(&[(VERBOSE, "1"), (DEBUG, "")], "x").verbosity, 4);
}

#[test]
fn other_programs_ignore_the_settings() {
    let vars = [
        (RESTRICT_EXE, "a:solver"),
        (MORECORE, "yes"),
        (VERBOSE, "1"),
    ];
    assert_eq!(read(&vars, "solver").heap, Some(Pages::Default));
    assert_eq!(read(&vars, "solve").heap, None);
    assert_eq!(read(&vars, "solve").verbosity, 1);
}

#[test]
fn other_processes_ignore_the_settings() {
    let heap = |only: &str| read(&[(NO_INHERIT, only), (MORECORE, "yes")], "x").heap;
    assert_eq!(heap("42"), Some(Pages::Default));
    assert_eq!(heap("41"), None);
    assert_eq!(heap("0"), Some(Pages::Default));
    assert_eq!(heap("x"), Some(Pages::Default));
    assert_eq!(rejected(read(&[(NO_INHERIT, "x")], "x")), [NO_INHERIT]);
}

#[test]
fn rejected_values_count_as_unset_and_are_listed() {
    let settings = read(&[(MORECORE, "lots"), (FALLBACK, "tape")], "x");
    assert_eq!(settings.heap, None);
    assert_eq!(settings.fallback, Fallback::Thp);
    assert_eq!(rejected(settings), [MORECORE, FALLBACK]);
}

#[test]
fn a_report_to_the_terminal_names_its_process() {
    let rejected = |vars: &[(&'static str, &'static str)]| rejected(read(vars, "x"));
    let check = |value, report| assert_eq!(read(&[(REPORT, value)], "x").report, report);
    assert_eq!(rejected(&[(REPORT, "-")]), [REPORT]);
    assert_eq!(rejected(&[(REPORT, "-"), (REPORT_PID, "x")]), [REPORT_PID]);
    let vars = [(REPORT, "-"), (REPORT_PID, "42"), (REPORT_JSON, "yes")];
    let report = Report::Terminal {
        pid: 42,
        json: true,
    };
    assert_eq!(read(&vars, "x").report, Some(report));
    assert_eq!(read(&vars[..1], "x").report, None);
    check("/tmp/r", Some(Report::File(b"/tmp/r")));
    check("./1", Some(Report::File(b"./1")));
    for word in ["yes", "no", "1", "stderr"] {
        check(word, None);
        assert_eq!(rejected(&[(REPORT, word)]), [REPORT]);
    }
    let long = "x".repeat(PATH_MAX);
    assert_eq!(read(&[(REPORT, &long)], "x").report, None);
    assert_eq!(rejected(&[(REPORT, long.leak())]), [REPORT]);
}

#[test]
fn segments() {
    let settings = read(&[(ELFMAP, "R:W=1G"), (SHARE, "1")], "x");
    assert_eq!(settings.elfmap.data, Some(Pages::Size(1 << 30)));
    assert!(settings.share_text);
    let settings = read(&[(ELFMAP, "R:W=lots"), (SHARE, "2")], "x");
    assert!(settings.elfmap.off && !settings.share_text);
    assert_eq!(rejected(settings), [ELFMAP, SHARE]);
    assert!(read(&[(ELFMAP, "")], "x").elfmap.heeds_marks());
}

#[test]
fn the_heap_base_is_hexadecimal() {
    let base = |value| read(&[(HEAPBASE, value)], "x").heap_base;
    assert_eq!(base("0x300000000000"), Some(0x3000_0000_0000));
    assert_eq!(base("1000"), Some(0x1000));
    assert_eq!(base("1000 or so"), None);
    assert!(read(&[(SHRINK, "Yes")], "x").heap_shrink);
    assert_eq!(
        rejected(read(&[(HEAPBASE, "x"), (SHRINK, "1")], "x")),
        [HEAPBASE, SHRINK]
    );
}

#[test]
fn default_sizes_of_the_c_interface() {
    let of = |value| {
        let variables = [(DEFAULT_PAGE_SIZE, value)];
        let settings = read(&variables, "x");
        (settings.default_size, rejected(settings).is_empty())
    };
    assert_eq!(of(""), (DefaultSize::Kernel, true));
    assert_eq!(of("1G"), (DefaultSize::Size(1 << 30), true));
    assert_eq!(of("2mfoo"), (DefaultSize::Size(2 << 20), false));
    assert_eq!(of("big"), (DefaultSize::None, false));
}

#[test]
fn features_of_the_c_interface() {
    let of = |value| {
        let variables = [(FEATURES, value)];
        let settings = read(&variables, "x");
        (settings.map_hugetlb, rejected(settings).is_empty())
    };
    assert_eq!(of("no_map_hugetlb"), (false, true));
    assert_eq!(of("no_noreserve_safe,no_map_hugetlb,"), (false, true));
    assert_eq!(of("no_map_hugetlb,map_hugetlb"), (true, true));
    assert_eq!(of("no_map"), (true, false));
    // One unknown name invalidates the whole value.
    assert_eq!(of("no_map_hugetlb,frobnicate"), (true, false));
    assert_eq!(of("no_"), (true, false));
}

#[test]
fn verbosity_is_the_leading_digits() {
    assert_eq!(verbosity(b"99"), Some(99));
    assert_eq!(verbosity(b"4x"), Some(4));
    assert_eq!(verbosity(b"1000"), Some(99));
    assert_eq!(verbosity(b"x"), None);
    assert_eq!(rejected(read(&[(VERBOSE, "x")], "x")), [VERBOSE]);
    assert_eq!(read(&[(VERBOSE, "x")], "x").verbosity, 2);
}

proptest! {
    #[test]
    fn written_values_parse_back(bytes in 1u64..1 << 62, shift in 0u32..40) {
        let bytes = (bytes >> shift).max(1) << (shift / 2);
        for pages in [Pages::Default, Pages::Thp, Pages::Size(bytes)] {
            let value = std::format!("{pages}");
            prop_assert_eq!(read(&[(MORECORE, &value)], "x").heap, Some(pages));
        }
    }

    #[test]
    fn parsing_never_panics(value in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = Settings::read(|_| Some(&value), b"x", 42);
    }
}
