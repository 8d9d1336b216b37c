//! Text, data and bss.

use super::*;

/// A program of 5 MB of text and 9 MB of data and bss, at its own addresses.
fn large(image: Image) -> Look {
    let mut look = target(image);
    let load = |address: u64, size: u64, writable| Load {
        offset: address,
        address,
        file_size: size,
        memory_size: size,
        align: 0x1000,
        writable,
        executable: !writable,
        marked: false,
    };
    let loads = vec![
        load(0x40_0000, 5 << 20, false),
        load(0x100_0000, 9 << 20, true),
    ];
    look.target.as_mut().unwrap().layout = Layout::fixed(loads);
    look
}

fn infos(plan: &Plan) -> String {
    let texts = plan.notes.iter().map(|note| note.text.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// Who may copy text that others cannot share.
const COPY: &str = "HUGETLB_TEXT_COPY=$$:'/bin/x'";

#[test]
fn segments_in_the_classic_order() {
    let line = "--text=2MB --data --bss --heap --shm --no-reserve --share-text --text-libs \
                --perf-map --fallback=base x";
    let plan = planned(line, large(Image::Dynamic(Libc::Glibc)), &[]);
    let set = [
        "HUGETLB_VERBOSE='2'",
        "HUGETLB_ELFMAP='R=2MB:W'",
        "HUGETLB_MORECORE='yes'",
        "HUGETLB_SHM='yes'",
        "HUGETLB_STARTER=$$",
        "HUGETLB_FALLBACK='base'",
        "HUGETLB_TEXT_LIBS='yes'",
        "HUGETLB_PERF_MAP='yes'",
        COPY,
        "LD_PRELOAD='/l/libhugetlbfs_heap.so'",
        "HUGETLB_NO_RESERVE='yes'",
        "HUGETLB_SHARE='1'",
        "HUGETLB_PID=$$",
    ];
    assert_eq!(lines(&plan), set);
    assert!(warnings(&plan).is_empty(), "{:?}", plan.notes);
    let said = infos(&plan);
    assert!(
        said.contains("text: 4 MB of 5 MB lie in whole 2MB pages"),
        "{said}"
    );
    assert!(
        said.contains("data and bss: 8 MB of 9 MB lie in whole 2MB pages"),
        "{said}"
    );
}

#[test]
fn segments_of_a_linked_program_are_named_by_variables_alone() {
    let plan = planned(
        "--text --data --no-preload x",
        large(Image::Dynamic(Libc::Glibc)),
        &[],
    );
    let set = [
        "HUGETLB_VERBOSE='2'",
        "HUGETLB_ELFMAP='R:W'",
        COPY,
        "HUGETLB_PID=$$",
    ];
    assert_eq!(lines(&plan), set);
}

#[test]
fn what_masks_what_is_said() {
    let said = |line: &str| {
        let plan = planned(line, large(Image::Dynamic(Libc::Glibc)), &[]);
        (lines(&plan)[1].clone(), warnings(&plan).join("\n"))
    };
    let (set, warned) = said("--text --disable x");
    assert_eq!(set, "HUGETLB_ELFMAP='no'");
    assert!(warned.starts_with("--disable:"), "{warned}");
    assert_eq!(said("--disable x"), (set, String::new()));
    let (set, warned) = said("--data=thp --bss=2MB x");
    assert_eq!(set, "HUGETLB_ELFMAP='W=thp'");
    assert!(
        warned.starts_with("data and bss are one segment"),
        "{warned}"
    );
    assert_eq!(said("--data=2MB --bss=2MB x").1, "");
}

#[test]
fn where_nothing_can_be_huge_one_line_says_so() {
    let plan = planned("--text --data --bss x", dynamic(), &[]);
    let said = ["text, data and bss of /bin/x stay on base pages: no whole 2MB page lies there"];
    assert_eq!(warnings(&plan), said);
    assert!(infos(&plan).contains("-Wl,--hugetlbfs-align"));
    let large = large(Image::Dynamic(Libc::Glibc));
    let plan = planned("--data=1GB --text=2MB x", large, &[]);
    let said = ["no whole 1GB page lies in data and bss of /bin/x: smaller pages are taken"];
    assert_eq!(warnings(&plan), said);
}

fn prepared(state: State) -> Prepared {
    Prepared {
        job: Job {
            path: "/bin/x".into(),
            parts: vec![0..2 << 20, 2 << 20..4 << 20],
            size: PageSize::new(2 << 20).unwrap(),
        },
        wanted: Bytes::new(4 << 20),
        state,
        cost: Duration::from_micros(1500),
    }
}

#[test]
fn text_that_its_file_holds_needs_no_pool() {
    let run = run("--text x");
    let mut findings = findings(&run, large(Image::Dynamic(Libc::Glibc)));
    findings.kernel.sources.clear();
    findings.parts.prepared = vec![prepared(State::Made)];
    let plan = make(&run, &caller(&[]), &findings);
    assert!(warnings(&plan).is_empty(), "{:?}", plan.notes);
    let said = infos(&plan);
    assert!(
        said.contains("text: 4 MB are huge pages of /bin/x now (1.5 ms)"),
        "{said}"
    );
    let why = Why::FileSystem;
    findings.parts.prepared = vec![prepared(State::Short { huge: None, why })];
    let plan = make(&run, &caller(&[]), &findings);
    assert!(infos(&plan).contains("its file system keeps it on base pages"));
    assert_eq!(
        warnings(&plan),
        ["this machine has no huge page pools: text goes to transparent huge pages"]
    );
    let lines = lines(&plan);
    assert!(lines.ends_with(&["HUGETLB_PID='0'".into(), "HUGETLB_STARTER=$$".into()]));
}

/// A look changes nothing: what it leaves to the start is a step of the plan.
#[test]
fn text_that_is_left_to_the_start_is_a_step_of_the_plan() {
    for (line, is_said) in [("--text x", false), ("--dry-run --text x", true)] {
        let run = run(line);
        let mut findings = findings(&run, large(Image::Dynamic(Libc::Glibc)));
        findings.parts.prepared = vec![prepared(State::Left)];
        let plan = make(&run, &caller(&[]), &findings);
        assert_eq!(plan.text, [prepared(State::Left).job], "{line}");
        assert_eq!(
            infos(&plan).contains("the start will try"),
            is_said,
            "{line}"
        );
        let why = Why::FileSystem;
        findings.parts.prepared = vec![prepared(State::Short { huge: None, why })];
        assert!(make(&run, &caller(&[]), &findings).text.is_empty());
    }
}

#[test]
fn a_static_program_has_its_file_s_own_pages_or_none() {
    let run = run("--text --data x");
    let mut findings = findings(&run, large(Image::Static));
    findings.parts.prepared = vec![prepared(State::Ready)];
    let plan = make(&run, &caller(&[]), &findings);
    let data = "data and bss stay on base pages: the program is static";
    assert_eq!(warnings(&plan).len(), 1);
    assert!(warnings(&plan)[0].starts_with(data));
    findings.parts.prepared.clear();
    let plan = make(&run, &caller(&[]), &findings);
    assert!(warnings(&plan)[1].starts_with("text stays on base pages: the program is static"));
}

/// Of the heap hugectl has said it; of stacks there may be news.
#[test]
fn what_was_said_of_the_heap_is_not_said_again_beside_stacks() {
    for (options, last) in [
        ("--heap x", "HUGETLB_STARTER=$$"),
        ("--heap --stack x", "HUGETLB_STARTER=$$"),
        ("--heap --anon --stack x", "HUGETLB_STARTER=$$"),
        ("--heap --stack --fallback=none x", "HUGETLB_STARTER=$$"),
    ] {
        let run = run(options);
        let mut findings = findings(&run, large(Image::Dynamic(Libc::Glibc)));
        findings.kernel.sources.clear();
        let lines = lines(&make(&run, &caller(&[]), &findings));
        assert!(
            lines.ends_with(&["HUGETLB_PID='0'".into(), last.into()]),
            "{options}: {lines:?}"
        );
    }
}
