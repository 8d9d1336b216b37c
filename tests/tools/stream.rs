//! A program with 480 MB of arrays, linked again: every byte in whole huge
//! pages is on huge pages, and the result is the same to the bit.

use super::place::{Done, Place};
use crate::libs::parts::Part;
use crate::support::bless::project;
use crate::support::live::machine;

/// How it is linked, started, and what lies on huge pages then.
const WAYS: [(&str, &str, &[&str]); 6] = [
    ("", "HUGETLB_ELFMAP=no", &[]),
    ("-Wl,--hugetlbfs-align", "HUGETLB_ELFMAP=no", &[]),
    (
        "-Wl,--hugetlbfs-align",
        "HUGETLB_ELFMAP=RW",
        &["text", "data", "bss"],
    ),
    ("-Wl,--hugetlbfs-link=B", "", &["data", "bss"]),
    ("-Wl,--hugetlbfs-link=BDT", "", &["text", "data", "bss"]),
    (
        "-Wl,--hugetlbfs-link=BDT -no-pie",
        "",
        &["text", "data", "bss"],
    ),
];

fn build(place: &Place, linker: &str, options: &str) {
    let source = project("tests/programs/stream.c");
    let line = format!(
        "HUGETLB_DEPRECATED_LINK=yes gcc -B $PLACE/B -fuse-ld={linker} -O2 {options} '{}' \
         -L$PLACE/tools -lhugetlbfs -o stream",
        source.display()
    );
    place.ok(&line);
}

fn run(place: &Place, variables: &str) -> Done {
    let line = format!("{variables} HUGETLB_VERBOSE=1 LD_LIBRARY_PATH=$PLACE/tools ./stream");
    let done = place.shell(line.trim_start());
    assert_eq!((done.status, done.err.as_str()), (0, ""), "{line}");
    done
}

fn result(done: &Done) -> String {
    let mut lines = done.out.lines();
    lines
        .find(|line| line.starts_with("result "))
        .unwrap()
        .to_owned()
}

#[test]
fn a_large_program_linked_again() {
    let Some(live) = machine("a_large_program_linked_again") else {
        return;
    };
    let place = Place::new();
    let mut expected = None;
    for pages in [0, 300] {
        live.set_pool(pages);
        for linker in ["bfd", "gold", "lld"] {
            for (options, variables, huge) in WAYS {
                build(&place, linker, options);
                let done = run(&place, variables);
                let what = format!("{linker} {options} {variables} {pages}: {done:?}");
                let expected = expected.get_or_insert_with(|| result(&done));
                assert_eq!(result(&done), *expected, "{what}");
                for segment in ["text", "data", "bss"] {
                    let part = Part::find(&done.out, segment);
                    match huge.contains(&segment) {
                        true => assert!(part.is_huge(), "{segment} {what}"),
                        false => assert_eq!(part.huge() - part.file, 0, "{segment} {what}"),
                    }
                    let from_pool = huge.contains(&segment) && pages > 0 && part.whole > 0;
                    assert_eq!(part.pool > 0, from_pool, "{segment} {what}");
                }
                assert_eq!(live.free_pages(), pages, "{what}");
            }
        }
    }
}
