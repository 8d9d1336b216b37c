//! Relinks a program with 48 MB of arrays. Every byte in a whole huge page is on huge
//! pages, and the results are identical.

use super::place::{Done, Place};
use crate::libs::smaps::segment_pages::SegmentPages;
use crate::support::bless::project;
use crate::support::live::machine;
use crate::support::needs;

/// The options by which the program is linked, the variables by which it is started, and the
/// segments expected on huge pages.
type Way = (&'static str, &'static str, &'static [&'static str]);

/// Whether the linker is installed.
fn can_be_linked(options: &str) -> bool {
    let linker = options.strip_prefix("-fuse-ld=");
    let linker = linker.and_then(|rest| rest.split(' ').next());
    linker.is_none_or(|linker| needs::linker("a_relinked_large_program", linker))
}

const ALL: &[&str] = &["text", "data", "bss"];
const NONE: &[&str] = &[];

const WAYS: [Way; 8] = [
    ("-L$PLACE/tools -lhugetlbfs", "HUGETLB_ELFMAP=no", NONE),
    ("-Wl,--hugetlbfs-align", "HUGETLB_ELFMAP=no", NONE),
    ("-Wl,--hugetlbfs-align", "HUGETLB_ELFMAP=RW", ALL),
    ("-Wl,--hugetlbfs-link=B", "", &["data", "bss"]),
    ("-Wl,--hugetlbfs-link=BDT", "", ALL),
    ("-Wl,--hugetlbfs-link=BDT -no-pie", "", ALL),
    ("-fuse-ld=gold -Wl,--hugetlbfs-link=BDT", "", ALL),
    ("-fuse-ld=lld -Wl,--hugetlbfs-link=BDT", "", ALL),
];

/// Builds the program and returns its name.
fn build(place: &Place, options: &str) -> String {
    let name: String = options.replace(['$', '/', ' ', ','], "_");
    let source = project("tests/programs/stream.c");
    place.ok(&format!(
        "HUGETLB_DEPRECATED_LINK=yes gcc -B $PLACE/B -O2 -DN=2000000 '{}' {options} -o '{name}'",
        source.display()
    ));
    name
}

fn run(place: &Place, variables: &str, name: &str) -> Done {
    let line = format!("{variables} HUGETLB_VERBOSE=1 LD_LIBRARY_PATH=$PLACE/tools './{name}'");
    let done = place.shell(&line);
    assert_eq!((done.status, done.err.as_str()), (0, ""), "{line}");
    done
}

fn result(done: &Done) -> String {
    let mut lines = done.out.lines();
    let line = lines.find(|line| line.starts_with("result "));
    line.unwrap().to_owned()
}

fn judge(done: &Done, huge: &[&str], pages: u64, what: &str) {
    for segment in ALL {
        let part = SegmentPages::find(&done.out, segment);
        let wanted = huge.contains(segment);
        match wanted {
            true => assert!(part.is_huge(), "{segment} {what}"),
            false => assert_eq!(part.huge(), part.file, "{segment} {what}"),
        }
        let from_pool = wanted && pages > 0 && part.whole > 0;
        assert_eq!(part.pool > 0, from_pool, "{segment} {what}");
    }
}

#[test]
fn a_relinked_large_program() {
    let place = Place::new();
    let ways = WAYS
        .into_iter()
        .filter(|(options, ..)| can_be_linked(options));
    let programs: Vec<_> = ways.map(|way| (build(&place, way.0), way)).collect();
    let Some(live) = machine("a_relinked_large_program") else {
        return;
    };
    let mut expected = None;
    for pages in [0, 60] {
        // Disable overcommit, whatever the machine had.
        let spec = format!("DEFAULT:{pages}");
        let ran = live.hugeadm(&["--pool-pages-min", &spec, "--pool-pages-max", &spec]);
        assert_eq!(ran.status, 0, "{ran:?}");
        for (program, (options, variables, huge)) in &programs {
            let done = run(&place, variables, program);
            let what = format!("{options} {variables} {pages}: {done:?}");
            judge(&done, huge, pages, &what);
            assert_eq!(live.wait_for_free_pages(pages), pages, "{program}");
            let expected = expected.get_or_insert_with(|| result(&done));
            assert_eq!(result(&done), *expected, "{program}");
        }
    }
}
