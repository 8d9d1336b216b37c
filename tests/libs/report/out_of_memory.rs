//! The report of a program that the kernel ends for want of memory.
#![expect(
    clippy::disallowed_methods,
    reason = "control groups are files like others"
)]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use serde_json::json;

use super::ends::{Running, be_seen, child_of, lines, resident};
use crate::support::live::{remove_group, skip};
use crate::support::program::{Libc, build};
use crate::support::tool::tool;

/// The kernel ends what its control group has no memory for.
#[test]
fn the_end_for_want_of_memory_is_told() {
    let Some(group) = Group::new(64 << 20) else {
        return skip("the end for want of memory", "no memory control group").unwrap_or(());
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let Some(program) = build("ends", Libc::Glibc, &[]) else {
        return;
    };
    let report = format!("--report={}", file.display());
    let mut command = tool("hugectl");
    command
        .args(["-q", "--shm", &report])
        .arg(&program)
        .args(["grow", "16"]);
    let mut running = Running::start(command);
    assert_eq!(running.line(), "ready");
    be_seen(running.child.id());
    // hugectl stays outside.
    group.take(child_of(running.child.id()));
    assert_eq!(running.end().0.signal(), Some(9));
    let all = lines(&file, 1);
    let ended = json!({"how": "signal", "value": 9, "out_of_memory": true});
    assert_eq!(all[0]["ended"], ended, "{all:?}");
    assert!(resident(&all[0]) >= 16 << 20, "{all:?}");
}

/// A memory control group, taken away when dropped.
struct Group(std::path::PathBuf);

impl Group {
    fn new(limit: u64) -> Option<Group> {
        let name = format!("hugetools-ends-{}", std::process::id());
        for (top, file) in [
            ("/sys/fs/cgroup", "memory.max"),
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ] {
            let dir = Path::new(top).join(&name);
            // Not a directory like others, where nothing is limited.
            let is_kernels = Path::new(top).join("cgroup.procs").exists();
            if !is_kernels || fs::create_dir(&dir).is_err() {
                continue;
            }
            let group = Group(dir);
            let limited = group.0.join(file);
            if limited.exists() && fs::write(limited, limit.to_string()).is_ok() {
                // Memory that is swapped out is none that is missed.
                for file in ["memory.swap.max", "memory.memsw.limit_in_bytes"] {
                    let value = if file == "memory.swap.max" { 0 } else { limit };
                    let file = group.0.join(file);
                    if file.exists() {
                        fs::write(file, value.to_string()).unwrap();
                    }
                }
                return Some(group);
            }
        }
        None
    }

    fn take(&self, pid: u32) {
        fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        remove_group(&self.0).unwrap();
    }
}
