//! What the report says of when a process began.

use std::path::Path;

use super::ends::{hugectl, lines};

/// Of a child it is told when it was forked, and by which name it goes now.
#[test]
fn a_child_says_when_it_began() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let report = format!("--report={}", file.display());
    let words = ["-c", "sleep 0.3; /bin/true; exit 3"];
    let mut shell = hugectl(&report, Path::new("/bin/sh"), &words);
    assert_eq!(shell.status().unwrap().code(), Some(3));
    let all = lines(&file, 3);
    let of = |name: &str| {
        all.iter()
            .find(|line| line["name"] == name)
            .expect("a line")
    };
    let time = |name: &str, field: &str| of(name)[field].as_f64().unwrap();
    let (shell, sleep, last) = (
        time("sh", "start"),
        time("sleep", "start"),
        time("true", "start"),
    );
    assert!(last - sleep > 0.28 && sleep - shell > -0.02, "{all:?}");
    assert!(
        last <= time("true", "end") && time("true", "end") <= time("sh", "end"),
        "{all:?}"
    );
    assert!(time("true", "end") - last < 5.0, "{all:?}");
}
