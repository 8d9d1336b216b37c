//! Processes that get a heap (`--only`, `--no-inherit`), and its malloc (`--heap-engine`).

use super::quota::{live, run};
use crate::libs::smaps::HeapPages;
use crate::support::tool::{Ran, Run, tool};

#[test]
fn only_named_programs_or_the_first_process() {
    let Some((_live, program)) = live("only", 100) else {
        return;
    };
    let name = program.file_name().unwrap().to_str().unwrap().to_owned();
    let shell = |options: &str, script: &str| -> Ran {
        let mut command = tool("hugectl");
        command.arg("--heap").args(options.split_whitespace());
        let script = script.replace("PROGRAM", program.to_str().unwrap());
        let ran = command.args(["sh", "-c", &script]).ran();
        assert_eq!(ran.status, 0, "{options}: {ran:?}");
        ran
    };
    let huge = |ran: &Ran, what: &str| HeapPages::find(&ran.out, what).hugetlb > 50 << 10;
    let child = "PROGRAM +80 =child; true";
    assert!(huge(&shell("", child), "child"));
    assert!(huge(&shell(&format!("--only=x,{name}"), child), "child"));
    assert!(!huge(&shell("--only=sh", child), "child"));
    assert!(!huge(&shell("--no-inherit", child), "child"));
    let same = "exec PROGRAM +80 =same x80";
    let ran = shell("--no-inherit", same);
    assert!(huge(&ran, "same") && !huge(&ran, "executed"), "{ran:?}");
    assert!(huge(&shell("", same), "executed"));
}

#[test]
fn heap_engine_libc_keeps_glibcs_malloc() {
    let Some((live, program)) = live("libc", 100) else {
        return;
    };
    let thp = run("-v --heap --heap-engine=libc", &program, "+200 =full x200");
    for what in ["full", "executed"] {
        let full = HeapPages::find(&thp.out, what);
        assert_eq!(full.hugetlb, 0, "{thp:?}");
        assert!(!live.thp_serves() || full.share(full.thp) >= 80, "{thp:?}");
    }
    assert!(!thp.err.contains("libhugetlbfs_heap"), "{thp:?}");
    let size = live.default_size();
    let pool = format!("--heap={size} --heap-engine=libc");
    let pool = run(&pool, &program, "+100 =full");
    let full = HeapPages::find(&pool.out, "full");
    assert!(full.share(full.hugetlb) >= 80, "{pool:?}");
    assert!(pool.err.contains("may be killed"), "{pool:?}");
}
