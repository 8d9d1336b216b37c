//! What a report says of memory that a program maps past malloc: the heap is small
//! because of it, also where it is given back before the end.

use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

#[test]
fn memory_past_malloc_is_the_reason_also_once_it_is_given_back() {
    let Some(program) = build("own_memory", Libc::Glibc, &["-fno-builtin"]) else {
        return;
    };
    for (how, heap, anon) in [
        (
            "map",
            "(a small heap; most memory was",
            "(mapped by the program itself",
        ),
        (
            "give",
            "(a small heap; most memory was",
            "(most was given back; mapped by",
        ),
        ("malloc", "", ""),
    ] {
        let mut command = tool("hugectl");
        command
            .args(["--heap=thp", "--report"])
            .arg(&program)
            .arg(how);
        let ran: Ran = command.output().unwrap().into();
        let line = |segment: &str| {
            let line = ran.err.lines().find(|line| line.starts_with(segment));
            line.unwrap_or_default()
        };
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(
            line("heap ").contains(heap) && line("anon ").contains(anon),
            "{how}: {ran:?}"
        );
        let is_its_own = ran.err.contains("by the program itself");
        assert_eq!(is_its_own, how != "malloc", "{how}: {ran:?}");
    }
}
