//! Closed standard descriptors: lost output is an error, and a program finds the same ones closed.

use std::path::Path;

use super::place::{Done, Place};
use crate::support::tool::tool;

/// Commands that print, and their exit status if standard output is closed.
const LINES: [(&str, i32); 12] = [
    ("hugeadm --help", 1),
    ("hugeadm --json --pool-list", 1),
    ("hugeadm --stats --json", 1),
    ("hugeadm --dry-run --pool-pages-min DEFAULT:1", 1),
    ("hugeadm --json --nonsense", 2),
    ("hugectl --help", 125),
    ("hugectl --explain --stack true", 125),
    ("hugectl --dry-run --json --stack true", 125),
    ("hugectl --status $$", 125),
    ("hugectl --json --nonsense", 125),
    ("pagesize", 1),
    ("hugeedit --json /bin/true", 1),
];

/// Runs a line whose first word is one of our tools.
fn run(place: &Place, line: &str) -> Done {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let tool = tool(name);
    let program = Path::new(tool.get_program());
    place.shell(&format!("'{}' {rest}", program.display()))
}

#[test]
fn lost_output_is_an_error() {
    let place = Place::new();
    for (line, status) in LINES {
        let open = run(&place, line);
        assert_ne!(
            (open.status, open.out.as_str()),
            (status, ""),
            "{line}: {open:?}"
        );
        let done = run(&place, &format!("{line} >&-"));
        assert_eq!(done.status, status, "{line}: {done:?}");
        let error = "error: cannot write to standard output: bad file descriptor (EBADF)";
        assert_eq!(done.err.matches("error: ").count(), 1, "{line}: {done:?}");
        // An ordinary user also gets warnings about unreadable files.
        let last = done.err.lines().rfind(|text| !text.contains("warning: "));
        assert!(
            last.is_some_and(|text| text.ends_with(error)),
            "{line}: {done:?}"
        );
    }
    // With both outputs closed, only the exit status reports the error.
    assert_eq!(run(&place, "hugeadm --pool-list >&- 2>&-").status, 1);
    assert_eq!(run(&place, "hugeadm --nonsense 2>&-").status, 2);
    let done = run(&place, "hugectl --messages=1 --stack true >&-");
    assert!(
        done.err.contains("no file of that number is open"),
        "{done:?}"
    );
}

/// Exits with a bit for each closed standard descriptor.
const CLOSED: &str = "
#include <fcntl.h>
int main(void)
{
    int closed = 0;
    for (int fd = 0; fd < 3; fd++)
        closed |= (fcntl(fd, F_GETFD) < 0) << fd;
    return closed;
}
";

#[test]
fn a_program_finds_the_same_descriptors_closed() {
    let place = Place::new();
    place.file("bits.c", CLOSED);
    place.ok("gcc -O1 bits.c -o bits");
    for (closed, bits) in [
        ("", 0),
        ("<&-", 1),
        (">&-", 2),
        ("2>&-", 4),
        ("<&- >&-", 3),
        (">&- 2>&-", 6),
        ("<&- >&- 2>&-", 7),
    ] {
        for options in [
            "--heap=thp --shm --stack=thp --anon=thp",
            "--text=thp --data=thp --bss=thp",
            "--heap=thp --report",
            "--heap=thp --report=report",
            "--heap=thp --messages=messages",
        ] {
            let line = format!("hugectl {options} ./bits {closed}");
            let done = run(&place, &line);
            assert_eq!(
                (done.status, done.out.as_str()),
                (bits, ""),
                "{line}: {done:?}"
            );
        }
        assert_eq!(
            place.shell(&format!("./bits {closed}")).status,
            bits,
            "{closed}"
        );
    }
}
