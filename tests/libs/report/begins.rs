//! What the report says of when a process began.

use std::path::Path;
use std::process::Command;

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

/// A shell may give its own process to hugectl: what was before is not the program's,
/// whoever tells of its end.
#[test]
fn it_begins_where_hugectl_does() {
    for (ends, how) in [("exit 3", "exit"), ("kill -KILL $$", "signal")] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("report");
        let report = format!("--report={}", file.display());
        let words = ["-c", &format!("sleep 0.2; {ends}")];
        let started = hugectl(&report, Path::new("/bin/sh"), &words);
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "sleep 1; exec \"$@\"", "sh"]);
        shell
            .arg(started.get_program())
            .args(started.get_args())
            .env_clear();
        let kept = started.get_envs();
        shell.envs(kept.filter_map(|(name, value)| Some((name, value?))));
        let _ = shell.status().unwrap();
        let all = lines(&file, 2);
        let shell = all
            .iter()
            .find(|line| line["name"] == "sh")
            .expect("a line");
        assert_eq!(shell["ended"]["how"], how, "{shell}");
        let time = |field: &str| shell[field].as_f64().unwrap();
        let lived = time("end") - time("start");
        assert!((0.19..0.9).contains(&lived), "{lived}: {shell}");
    }
}
