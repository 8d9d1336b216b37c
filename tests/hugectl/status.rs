//! `--status`, against an independent reading of what the kernel says.

mod folios;
mod several;
mod speed;

use std::io::{Read, Write};
use std::process::{Child, Stdio};

use super::place::{Done, Place, as_nobody, done, is_root};
use crate::support::bless;
use crate::support::live::machine;

pub(super) const PROGRAM: &str = "
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
char zero[6 << 20];
char data[3 << 20] = {1};
int main(void) {
    memset(zero, 1, sizeof zero);
    memset(data, 2, sizeof data);
    char *p = mmap(0, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *huge = (char *)(((unsigned long)p + (4 << 20) - 1) & ~((4ul << 20) - 1));
    madvise(huge, 8 << 20, MADV_HUGEPAGE);
    memset(huge, 3, 8 << 20);
    puts(\"ready\");
    fflush(stdout);
    return getchar() == 'x';
}";

pub(super) struct Running(Child);

impl Running {
    fn start(place: &Place) -> Running {
        Running::wait_for(std::process::Command::new(place.build(
            "program",
            PROGRAM,
            &[],
        )))
    }

    /// Starts a program, and waits until it has touched its memory.
    pub(super) fn wait_for(mut command: std::process::Command) -> Running {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut [0; 6])
            .unwrap();
        Running(child)
    }

    pub(super) fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// The sum of the fields over all mappings, in bytes.
    fn kernel(&self, fields: &[&str]) -> u64 {
        let smaps = std::fs::read_to_string(format!("/proc/{}/smaps", self.pid())).unwrap();
        let kib = |line: &str| -> Option<u64> {
            let (name, value) = line.split_once(':')?;
            let value = value.trim().strip_suffix(" kB")?;
            fields.contains(&name).then(|| value.parse().unwrap())
        };
        smaps.lines().filter_map(kib).sum::<u64>() * 1024
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut stdin = self.0.stdin.take().unwrap();
        // It may have ended already.
        let _ = stdin.write_all(b"y");
        drop(stdin);
        self.0.wait().unwrap();
    }
}

pub(super) fn json(done: &Done) -> serde_json::Value {
    assert_eq!((done.status, done.err.as_str()), (0, ""));
    assert_eq!(done.out.lines().count(), 1);
    serde_json::from_str(&done.out).unwrap()
}

#[test]
fn the_figures_are_the_kernel_s() {
    let place = Place::new();
    let running = Running::start(&place);
    let value = json(&place.run(&["--status", &running.pid(), "--json"]));
    let rows = value["segments"].as_array().unwrap();
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let resident: u64 = rows.iter().map(|row| number(&row["resident"])).sum();
    let huge = |row: &serde_json::Value| -> u64 {
        row["huge"].as_object().unwrap().values().map(number).sum()
    };
    let all_huge: u64 = rows.iter().map(huge).sum();
    let theirs = running.kernel(&["Rss", "Shared_Hugetlb", "Private_Hugetlb"]);
    assert!(
        theirs.abs_diff(resident) <= 64 << 10,
        "{resident} of {theirs}"
    );
    let fields = [
        "AnonHugePages",
        "ShmemPmdMapped",
        "FilePmdMapped",
        "Private_Hugetlb",
        "Shared_Hugetlb",
    ];
    assert_eq!(all_huge, running.kernel(&fields));
    for row in rows {
        assert!(huge(row) <= number(&row["resident"]), "{row}");
        assert!(number(&row["resident"]) <= number(&row["mapped"]), "{row}");
    }
    assert_eq!(value["exe"], place.path("program").to_str().unwrap());
    assert_eq!(value["pid"].to_string(), running.pid());
}

/// The schema that hugectl(8) documents: these keys, of these types.
#[test]
fn the_schema_is_the_documented_one() {
    let place = Place::new();
    let running = Running::start(&place);
    let value = json(&place.run(&["--json", "--status", &running.pid()]));
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    let head = ["errors", "schema", "status", "tool", "version", "warnings"];
    let mut own = keys(&value);
    own.retain(|key| !head.contains(&key.as_str()));
    let wanted = ["exe", "host", "name", "parent", "pid", "rank", "segments"];
    assert_eq!(own, wanted);
    assert_eq!(keys(&value).len(), own.len() + head.len());
    let page = bless::text("man/hugectl.8");
    let bold = |key: &String| {
        page.lines().any(|line| {
            let mut words = line.split([' ', ',']);
            matches!(words.next(), Some(".B" | ".BR"))
                && words.any(|word| word.trim_start_matches("\\~") == key)
        })
    };
    let row = keys(&value["segments"][0]);
    assert!(
        keys(&value).iter().chain(&row).all(bold),
        "{row:?} in the man page"
    );
    let segments = [
        "text", "data", "bss", "heap", "stack", "shm", "anon", "file",
    ];
    for row in value["segments"].as_array().unwrap() {
        assert_eq!(
            keys(row),
            [
                "huge",
                "mapped",
                "mechanism",
                "object",
                "reason",
                "resident",
                "segment"
            ]
        );
        assert!(
            segments.contains(&row["segment"].as_str().unwrap()),
            "{row}"
        );
        assert!(
            row["object"].is_null() || row["object"].is_string(),
            "{row}"
        );
        assert!(
            row["reason"].is_null() || row["reason"].is_string(),
            "{row}"
        );
        let huge = row["huge"].as_object().unwrap();
        assert!(huge.keys().all(|size| size.parse::<u64>().is_ok()), "{row}");
        assert_eq!(row["mechanism"].is_null(), huge.is_empty(), "{row}");
    }
}

#[test]
fn a_table_for_people() {
    let place = Place::new();
    let running = Running::start(&place);
    let done = place.run(&["--status", &running.pid()]);
    assert_eq!((done.status, done.err.as_str()), (0, ""));
    let mut lines = done.out.lines();
    let first = format!(
        "{}, process {}",
        place.path("program").display(),
        running.pid()
    );
    assert_eq!(lines.next(), Some(first.as_str()));
    assert!(lines.next().unwrap().starts_with("segment    mapped kB"));
    let names: Vec<&str> = lines.map(|line| line.split(' ').next().unwrap()).collect();
    for name in ["text", "data", "bss", "stack", "anon"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

const POOLED: &str = "
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(int argc, char **argv) {
    size_t page = strtoul(argv[1], 0, 10);
    int flags = MAP_ANONYMOUS | MAP_HUGETLB;
    char *private = mmap(0, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, -1, 0);
    char *shared = mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED | flags, -1, 0);
    int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    char *code = mmap(0, page, all, MAP_PRIVATE | flags, -1, 0);
    if (private == MAP_FAILED || shared == MAP_FAILED || code == MAP_FAILED) return 1;
    code[0] = 1;
    for (int i = 0; i < 3; i++) private[i * page] = 1;
    for (int i = 0; i < 2; i++) shared[i * page] = 1;
    puts(\"ready\");
    fflush(stdout);
    return getchar() == 'x';
}";

/// Pages of a pool count as resident, which the kernel's own figure leaves
/// out; those of a virtual machine, code that it makes included, are of no file.
#[test]
fn pages_of_a_pool() {
    let Some(live) = machine("pages of a pool") else {
        return;
    };
    let size = live.default_size();
    assert_eq!(live.hugeadm(&["--pool-pages-min", "DEFAULT:8"]).status, 0);
    let place = Place::new();
    let program = place.build("pooled", POOLED, &[]);
    let mut command = std::process::Command::new(program);
    command.arg(size.get().to_string());
    let running = Running::wait_for(command);
    let value = json(&place.run(&["--status", &running.pid(), "--json"]));
    let rows = value["segments"].as_array().unwrap();
    let key = size.get().to_string();
    for (segment, pages) in [("anon", 4), ("shm", 2)] {
        let row = rows.iter().find(|row| row["segment"] == segment).unwrap();
        assert_eq!(row["huge"][&key], pages * size.get(), "{row}");
        assert!(
            row["resident"].as_u64().unwrap() >= pages * size.get(),
            "{row}"
        );
        assert_eq!(row["mechanism"], "hugetlb", "{row}");
    }
    let table = place.run(&["--status", &running.pid()]).out;
    assert!(table.contains(&format!("{size} hugetlb\n")), "{table}");
}

/// One error and the status, in the form that was asked for.
#[test]
fn what_cannot_be_looked_at() {
    let place = Place::new();
    let mut child = std::process::Command::new("/bin/true").spawn().unwrap();
    child.wait().unwrap();
    let pid = child.id().to_string();
    let why = format!("there is no process {pid}");
    let dead = place.run(&["--status", &pid]);
    assert_eq!((dead.status, dead.out.as_str()), (125, ""));
    assert_eq!(dead.err, format!("hugectl: ERROR: {why}\n"));
    let dead = place.run(&["--status", &pid, "--json"]);
    assert_eq!((dead.status, dead.err.as_str()), (125, ""));
    let value: serde_json::Value = serde_json::from_str(&dead.out).unwrap();
    assert_eq!(
        (&value["status"], &value["errors"]),
        (&125.into(), &serde_json::json!([why]))
    );
    if is_root("what_cannot_be_looked_at") {
        let running = Running::start(&place);
        let command = place.command(&["--status", &running.pid()]);
        let denied = done(&as_nobody(&command).output().unwrap());
        assert_eq!((denied.status, denied.out.as_str()), (125, ""));
        assert!(
            denied
                .err
                .contains("permission denied (EACCES); ask as the owner"),
            "{}",
            denied.err
        );
        assert_eq!(denied.err.lines().count(), 1);
    }
}

#[test]
fn the_owner_may_look_without_privileges() {
    if !is_root("the_owner_may_look_without_privileges") {
        return;
    }
    let place = Place::new();
    let program = place.build("program", PROGRAM, &["-no-pie"]);
    let running = Running::wait_for(as_nobody(&std::process::Command::new(&program)));
    let look = place.command(&["--status", &running.pid(), "--json"]);
    let value = json(&done(&as_nobody(&look).output().unwrap()));
    let bss = value["segments"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["segment"] == "bss" && row["object"] == program.to_str().unwrap());
    assert!(bss.unwrap()["resident"].as_u64().unwrap() >= 6 << 20);
}

/// A recorded process is looked at in its own tree.
#[test]
fn a_recorded_process() {
    let place = Place::new();
    let running = Running::start(&place);
    for file in ["smaps", "auxv", "environ", "status"] {
        let bytes = std::fs::read(format!("/proc/{}/{file}", running.pid())).unwrap();
        place.file(
            &format!("empty/proc/{}/{file}", running.pid()),
            bytes,
            0o644,
        );
    }
    let recorded = place.path(&format!("empty/proc/{}", running.pid()));
    std::os::unix::fs::symlink(place.path("program"), recorded.join("exe")).unwrap();
    // The headers come from the tree, which has the program at the same path.
    let inside = format!("empty{}", place.path("program").display());
    place.file(
        &inside,
        std::fs::read(place.path("program")).unwrap(),
        0o755,
    );
    let pid = running.pid();
    let value = json(&place.run(&["--sysroot", "empty", "--status", &pid, "--json"]));
    drop(running);
    let again = json(&place.run(&["--sysroot", "empty", "--status", &pid, "--json"]));
    assert_eq!(value, again);
    let rows = value["segments"].as_array().unwrap();
    let bss = rows.iter().find(|row| row["segment"] == "bss").unwrap();
    assert!(bss["resident"].as_u64().unwrap() >= 6 << 20, "{bss}");
    let anon = rows.iter().find(|row| row["segment"] == "anon").unwrap();
    assert_eq!(
        anon["huge"]["2097152"].as_u64().is_some(),
        anon["mechanism"] == "thp"
    );
}

/// The kernel marks a program whose real and effective user differ, and its loader takes
/// nothing from the environment.
#[test]
fn a_start_with_other_rights_is_named() {
    if !is_root("a_start_with_other_rights_is_named") {
        return;
    }
    let place = Place::new();
    let source = PROGRAM
        .replace("<stdio.h>", "<stdio.h>\n#include <unistd.h>")
        .replace("puts", "memset(sbrk(8 << 20), 4, 8 << 20);\n    puts");
    let program = place.build("program", &source, &[]);
    let options = ["-q", "--heap=thp", "--data=thp"];
    let secure = "the library is not loaded: exec raised its privileges (AT_SECURE: a set-user-id \
                  file, or another effective user)";
    let dropped = "its starter dropped LD_PRELOAD";
    for (starter, told, other) in [
        (&["setpriv", "--ruid=65534"][..], secure, dropped),
        (&["env", "-u", "LD_PRELOAD"], dropped, secure),
    ] {
        let mut command = place.command(&options);
        command.args(starter).arg(&program);
        let running = Running::wait_for(command);
        let status = place.run(&["--status", &running.pid(), "--json"]);
        let value = json(&status);
        let segments = value["segments"].as_array().unwrap();
        let reason = |name: &str| {
            let row = segments.iter().find(|row| row["segment"] == name).unwrap();
            row["reason"].as_str().unwrap_or_default().to_owned()
        };
        assert!(reason("bss").contains(told), "{status:?}");
        assert!(reason("heap").contains(told), "{status:?}");
        assert!(!status.out.contains(other), "{status:?}");
    }
}
