//! Memory control groups with little memory left.

use crate::libs::smaps::HeapPages;
use crate::support::live::{Group, machine};
use crate::support::program::{Libc, build};
use crate::support::tool::{Run, tool};

/// A heap that fills its group continues on base pages and is not killed.
#[test]
fn a_full_memory_group_gets_base_pages() {
    let Some(live) = machine("memory group") else {
        return;
    };
    live.set_pool(0);
    let Some(group) = Group::of_memory("memory group", "260M") else {
        return;
    };
    let Some(program) = build("blocks", Libc::Glibc, &[]) else {
        return;
    };
    for mode in ["medium", "one", "threads"] {
        let mut command = group.enter(tool("hugectl").args(["--heap=thp", "--report"]));
        let ran = command.arg(&program).args([mode, "200"]).ran();
        assert_eq!(ran.status, 0, "{mode}: {ran:?}");
        assert!(
            HeapPages::find(&ran.out, mode).resident >= 195 << 10,
            "{ran:?}"
        );
        if mode == "one" {
            assert!(ran.err.contains("warning: "), "{ran:?}");
            let heap = ran.err.lines().find(|line| line.starts_with("heap "));
            assert!(heap.unwrap().contains("too little left"), "{ran:?}");
        }
    }
}

/// Page cache that the kernel can reclaim leaves room for huge pages.
#[test]
fn page_cache_of_a_memory_group_does_not_count() {
    let Some(live) = machine("cache of a memory group") else {
        return;
    };
    live.set_pool(0);
    let Some(group) = Group::of_memory("cache of a memory group", "160M") else {
        return;
    };
    let Some(program) = build("blocks", Libc::Glibc, &[]) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let script = "dd if=/dev/zero of=cache bs=1M count=125 && sync cache && exec \"$@\"";
    let mut command = group.enter(std::process::Command::new("sh").args(["-c", script, "sh"]));
    let hugectl = crate::support::tool::hugectl();
    command.arg(hugectl).arg("--heap=thp").arg(&program);
    let ran = command.args(["one", "40"]).current_dir(dir.path()).ran();
    assert_eq!(ran.status, 0, "{ran:?}");
    let pages = HeapPages::find(&ran.out, "one");
    assert!(pages.share(pages.thp) >= 90, "{pages:?} {ran:?}");
}

/// The original text stays in the page cache, so a copy would exceed the limit. Clean pages of the
/// file itself may still become huge.
#[test]
fn text_is_not_copied_in_a_full_memory_group() {
    let Some(live) = machine("a copy of code in a memory group") else {
        return;
    };
    live.set_pool(0);
    let Some(program) = build("segments", Libc::Glibc, &["-fPIE", "-pie"]) else {
        return;
    };
    let Some(group) = Group::of_memory("a copy of code in a memory group", "24M") else {
        return;
    };
    let mut command = group.enter(tool("hugectl").args(["--text=thp", "--report"]));
    let ran = command.arg(&program).ran();
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.out.starts_with("sum "), "{ran:?}");
    let text = ran
        .err
        .lines()
        .find(|line| line.starts_with("text "))
        .unwrap();
    let is_copy = !text.contains("too little left") && !text.contains("2MB file ");
    assert!(!is_copy, "{ran:?}");
}
