//! Which processes get a heap (`--only`, `--no-inherit`), and which malloc (`--heap-engine`).

use super::quota::{machine_with_steps, run};
use crate::libs::smaps::HeapPages;
use crate::support::tool::{Ran, Run, tool};

#[test]
fn only_and_no_inherit_limit_the_heap_to_a_process() {
    let Some((_live, program)) = machine_with_steps("only", 100) else {
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
    let huge = |ran: &Ran, label: &str| HeapPages::find(&ran.out, label).hugetlb > 50 << 10;
    let in_child = "PROGRAM +80 =child; true";
    assert!(huge(&shell("", in_child), "child"));
    assert!(huge(&shell(&format!("--only=x,{name}"), in_child), "child"));
    assert!(!huge(&shell("--only=sh", in_child), "child"));
    assert!(!huge(&shell("--no-inherit", in_child), "child"));
    let by_exec = "exec PROGRAM +80 =same x80";
    let ran = shell("--no-inherit", by_exec);
    assert!(huge(&ran, "same") && !huge(&ran, "executed"), "{ran:?}");
    assert!(huge(&shell("", by_exec), "executed"));
}

#[test]
fn heap_engine_libc_keeps_glibcs_malloc() {
    let Some((live, program)) = machine_with_steps("libc", 100) else {
        return;
    };
    let thp = run("-v --heap --heap-engine=libc", &program, "+200 =full x200");
    for label in ["full", "executed"] {
        let full = HeapPages::find(&thp.out, label);
        assert_eq!(full.hugetlb, 0, "{thp:?}");
        assert!(!live.can_use_thp() || full.share(full.thp) >= 80, "{thp:?}");
    }
    assert!(!thp.err.contains("libhugetlbfs_heap"), "{thp:?}");
    let size = live.default_size();
    let pool = format!("--heap={size} --heap-engine=libc");
    let pool = run(&pool, &program, "+100 =full");
    let full = HeapPages::find(&pool.out, "full");
    assert!(full.share(full.hugetlb) >= 80, "{pool:?}");
    assert!(pool.err.contains("may be killed"), "{pool:?}");
}
