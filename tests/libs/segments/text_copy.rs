//! Only the program that hugectl itself starts gets a private copy of its text: the many
//! processes of a starter script would have one each.

use crate::libs::smaps::segment_pages::SegmentPages;
use crate::support::empty_pool::thp_machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{Run, copy, tool};

#[test]
fn only_the_started_program_has_a_copy() {
    let Some(_live) = thp_machine("copies of code") else {
        return;
    };
    let Some(program) = build("stream", Libc::Glibc, &["-fPIE", "-pie", "-DN=100000"]) else {
        return;
    };
    // A file that no other test runs.
    let alone = program.with_file_name("stream-text-copy");
    copy(&program, &alone);
    let mut command = tool("hugectl");
    let ran = command.args(["--text=thp", "-v"]).arg(&alone).ran();
    let text = SegmentPages::find(&ran.out, "text");
    assert!(text.whole > 0 && text.is_huge(), "{ran:?}");

    // A child of a shell, and the shell's own process.
    for line in ["\"$1\"; true", "exec \"$1\""] {
        let mut command = tool("hugectl");
        command.args(["--text=thp", "-v", "sh", "-c", line, "sh"]);
        let ran = command.arg(&alone).ran();
        assert_eq!(ran.status, 0, "{ran:?}");
        let text = SegmentPages::find(&ran.out, "text");
        assert_eq!((text.pool, text.thp), (0, 0), "{line}: {ran:?}");
        assert!(ran.err.contains("hugeedit --align"), "{ran:?}");
    }
}
