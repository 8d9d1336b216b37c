//! A copy of code that other processes cannot share is made once, by the
//! program that hugectl itself started: a starter script's many processes would
//! have one each.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::libs::judge::parts::Part;
use crate::support::live::{Group, machine};
use crate::support::program::{Libc, build};
use crate::support::still::with_thp;
use crate::support::tool::{Ran, copy, tool};

/// Runs a line of `sh`, which finds the program as `$1`.
fn behind_a_shell(program: &Path, line: &str) -> Ran {
    let mut command = tool("hugectl");
    command.args(["--text=thp", "-v", "sh", "-c", line, "sh"]);
    command.arg(program).output().unwrap().into()
}

#[test]
fn a_copy_is_for_the_program_that_was_started() {
    let Some(_live) = with_thp("copies of code") else {
        return;
    };
    let Some(program) = build("stream", Libc::Glibc, &["-fPIE", "-pie", "-DN=100000"]) else {
        return;
    };
    // A file of its own, which nobody else runs meanwhile.
    let alone = program.with_file_name("stream-text-copy");
    copy(&program, &alone);
    let mut command = tool("hugectl");
    let ran: Ran = (command.args(["--text=thp", "-v"]).arg(&alone).output())
        .unwrap()
        .into();
    let text = Part::find(&ran.out, "text");
    assert!(text.whole > 0 && text.is_huge(), "{ran:?}");

    // In the same process as the shell, and in a child of it.
    for line in ["exec \"$1\"", "\"$1\"; true"] {
        let ran = behind_a_shell(&alone, line);
        assert_eq!(ran.status, 0, "{ran:?}");
        let text = Part::find(&ran.out, "text");
        assert_eq!((text.pool, text.thp), (0, 0), "{line}: {ran:?}");
        assert!(
            ran.err
                .contains("not copied, since hugectl has not started"),
            "{ran:?}"
        );
        assert!(ran.err.contains("hugeedit --align"), "{ran:?}");
    }
}

/// The original stays with the kernel's page cache, and whoever is beyond the limit is
/// killed.
#[test]
fn a_memory_group_that_leaves_little_gets_no_copy() {
    let Some(live) = machine("a copy of code in a memory group") else {
        return;
    };
    if !live.thp_serves() {
        return;
    }
    live.set_pool(0);
    let Some(program) = build("segments", Libc::Glibc, &["-fPIE", "-pie"]) else {
        return;
    };
    let Some(group) = Group::of_memory("a copy of code in a memory group", "24M") else {
        return;
    };
    let enter = format!(
        "echo $$ > {}/cgroup.procs; exec \"$@\"",
        group.path.display()
    );
    let inside = |words: &[&str]| -> Ran {
        let mut command = Command::new("sh");
        command.args(["-c", &enter, "sh"]).args(words).arg(&program);
        command.output().unwrap().into()
    };
    let plain = inside(&["env"]);
    assert_eq!(plain.status, 0, "{plain:?}");
    let hugectl = tool("hugectl");
    let hugectl = hugectl.get_program().to_str().unwrap();
    let said = "the memory control group has little left, or cannot be seen: base pages follow\n";
    for _ in 0..3 {
        let ran = inside(&[hugectl, "--text=thp"]);
        assert_eq!((ran.status, &ran.out), (0, &plain.out), "{ran:?}");
        assert_eq!(ran.err.matches(said).count(), 1, "{ran:?}");
    }
    let explained = inside(&[hugectl, "--explain", "--text=thp"]);
    assert_eq!(explained.status, 3, "{explained:?}");
    assert!(
        explained.out.contains("the memory control group leaves"),
        "{explained:?}"
    );
}
