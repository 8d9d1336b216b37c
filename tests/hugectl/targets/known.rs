//! `--auto` chooses options by the tables of known programs: built in, the machine's and
//! the user's.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::live::machine;
use crate::support::needs::programs;
use crate::support::tool::{Ran, tool, write};

/// A directory with programs and a user's settings.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    /// Creates a script that prints its HUGETLB_MORECORE.
    fn program(&self, name: &str) -> PathBuf {
        let path = self.0.path().join(name);
        let text = b"#!/bin/sh\nenv | grep ^HUGETLB_MORECORE= || echo no heap\n";
        write(&path, text);
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn table(&self, name: &str, text: &str) {
        let dir = self.0.path().join("settings/hugetools/programs.d");
        fs::create_dir_all(&dir).unwrap();
        write(&dir.join(name), text.as_bytes());
    }

    fn run(&self, words: &[&str]) -> Ran {
        let mut command = tool("hugectl");
        command.env("XDG_CONFIG_HOME", self.0.path().join("settings"));
        command.env("PATH", format!("{}:/usr/bin:/bin", self.0.path().display()));
        command.args(words).output().unwrap().into()
    }
}

const LEDGER: &str = "[[program]]\nname = \"our ledger\"\nexe = [\"ledgerd\"]\n\
                      auto = [\"--heap=thp\"]\nwhy = \"it saves by fork\"\n\
                      beware = \"it is slow on Sundays\"\n";

#[test]
fn options_come_from_the_tables() {
    let place = Place::new();
    place.program("php");
    place.program("ledgerd");
    place.program("whatever");
    place.table("ours.toml", LEDGER);
    for (words, heap, said) in [
        (
            &["--auto", "php"][..],
            "thp",
            "--auto takes --anon --heap=thp for PHP: what scripts take are mappings",
        ),
        (
            &["--auto", "nice", "ledgerd"],
            "thp",
            "--auto takes --heap=thp for our ledger: it saves by fork\n\
             hugectl: INFO: our ledger: it is slow on Sundays\n",
        ),
        (
            &["--auto", "whatever"],
            "yes",
            "--auto takes --heap for a program that is not known: ",
        ),
        // Explicit options win.
        (&["--auto", "--heap", "ledgerd"], "yes", "--heap=thp"),
        (&["--heap", "--auto", "ledgerd"], "yes", "--heap=thp"),
    ] {
        let ran = place.run(words);
        assert_eq!(ran.status, 0, "{words:?}: {ran:?}");
        assert!(ran.err.contains(said), "{words:?}: {ran:?}");
        let set = ran.out.trim_end().strip_prefix("HUGETLB_MORECORE=");
        let is_thp = set.map(|value| value == "thp");
        assert_eq!(is_thp, Some(heap == "thp"), "{words:?}: {ran:?}");
    }
    let quiet = place.run(&["-q", "--auto", "ledgerd"]);
    assert_eq!(quiet.err, "", "{quiet:?}");
}

/// `--auto` never chooses an option that falls short by itself.
#[test]
fn a_program_with_its_own_malloc_gets_no_heap() {
    let Some(_live) = machine("a choice for a program with its own malloc") else {
        return;
    };
    const OWN: &str = "static char pool[1 << 20]; static unsigned long used;
        void *malloc(unsigned long n) { void *p = pool + used; used += (n + 15) & ~15ul; return p; }
        void free(void *p) { (void)p; }
        int main(void) { return 0; }";
    let place = Place::new();
    let (source, own) = (place.0.path().join("own.c"), place.0.path().join("own"));
    write(&source, OWN.as_bytes());
    let mut cc = Command::new("cc");
    cc.arg("-fno-builtin").arg(&source).arg("-o").arg(&own);
    assert!(cc.status().unwrap().success());
    let own = own.to_str().unwrap();
    let ran = place.run(&["--auto", "--explain", own]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.out.contains("--auto takes nothing"), "{ran:?}");
    assert!(ran.out.contains("defines malloc"), "{ran:?}");
    assert!(!ran.out.contains("--anon"), "{ran:?}");
    // An explicit option may.
    let ran = place.run(&["--auto", "--heap", "--explain", own]);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(!ran.out.contains("--anon reaches"), "{ran:?}");
}

/// The table says which argument holds the size of the program's own request.
#[test]
fn the_pool_must_hold_the_program_s_own_request() {
    let Some(live) = machine("a pool smaller than a program takes") else {
        return;
    };
    let place = Place::new();
    place.program("ledgerd");
    let takes = "takes = { with = [\"--own\"], size = [\"--cache=\"] }\n";
    place.table("ours.toml", &format!("{LEDGER}{takes}"));
    let line = ["--auto", "--explain", "ledgerd", "--own", "--cache=64m"];
    let size = live.default_size().get();
    let pages = (64u64 << 20).div_ceil(size);
    for (pool, status) in [(pages - 1, 3), (pages, 0)] {
        live.set_pool(pool);
        let ran = place.run(&line);
        assert_eq!(ran.status, status, "{pool}: {ran:?}");
        let is_said = ran.out.contains("--cache=64m");
        assert_eq!(is_said, status == 3, "{ran:?}");
    }
    live.set_pool(0);
    // Without --own the program makes no request.
    let ran = place.run(&["--auto", "--explain", "ledgerd", "--cache=64m"]);
    assert_eq!(ran.status, 0, "{ran:?}");
}

/// The table says that the program disables transparent huge pages by prctl.
#[test]
fn a_program_that_disables_thp_falls_short() {
    let Some(live) = machine("a ban of the program's own is told before") else {
        return;
    };
    if !live.thp_serves() {
        return;
    }
    let place = Place::new();
    place.program("ledgerd");
    place.table("ours.toml", &format!("{LEDGER}bans = true\n"));
    let ban = "the program turns transparent huge pages off for itself";
    let ran = place.run(&["--anon", "--explain", "ledgerd"]);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(ran.out.contains(ban), "{ran:?}");
    assert!(
        !ran.out.contains("anon     default  transparent"),
        "{ran:?}"
    );
    let mended = ["--anon", "--thp-policy=always", "--explain", "ledgerd"];
    let ran = place.run(&mended);
    assert!(!ran.out.contains(ban), "{ran:?}");
    assert!(ran.out.contains("anon     default  transparent"), "{ran:?}");
    // At a start the library warns when it happens, not hugectl.
    let ran = place.run(&["--anon", "ledgerd"]);
    assert!(!ran.err.contains(ban), "{ran:?}");
}

#[test]
fn an_invalid_table_is_reported_and_ignored() {
    let place = Place::new();
    place.program("ledgerd");
    place.table("b.toml", LEDGER);
    for (text, said) in [
        ("[[program]]\nname = \n", "a.toml: line 2: "),
        (
            "[[program]]\nname = \"x\"\nexes = []\n",
            "unknown field `exes`",
        ),
        (
            "[[program]]\nname = \"x\"\nwhy = \"y\"\nauto = [\"--library-path=/tmp\"]\n",
            "a.toml: x: auto: --library-path=/tmp is none of --anon, ",
        ),
        (
            "[[program]]\nname = \"x\"\nauto = [\"--heap\"]\n",
            "a.toml: x: auto needs why",
        ),
    ] {
        place.table("a.toml", text);
        let ran = place.run(&["--auto", "ledgerd"]);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(ran.err.contains(said), "{text}: {ran:?}");
        assert!(ran.err.contains("for our ledger"), "{text}: {ran:?}");
    }
}

/// Installed programs and the names of their entries.
const REAL: [(&str, &str); 8] = [
    ("java", "Java"),
    ("node", "Node.js"),
    ("php", "PHP"),
    ("python3", "Python"),
    ("redis-server", "Redis"),
    ("mpirun", "Open MPI"),
    ("qemu-system-x86_64", "QEMU"),
    ("qemu-aarch64", "QEMU's user emulation"),
];

#[test]
fn installed_programs_are_recognised() {
    let place = Place::new();
    let (_, path) = std::env::vars_os()
        .find(|(name, _)| name == "PATH")
        .unwrap();
    let path = format!("{}:/usr/sbin", Path::new(&path).display());
    for (program, known) in REAL {
        if !programs(&format!("{program} is known"), &[program]) {
            continue;
        }
        let mut command = tool("hugectl");
        command.env("XDG_CONFIG_HOME", place.0.path());
        command.env("PATH", &path);
        command.args(["--explain", "--json", program, "--version"]);
        let ran: Ran = command.output().unwrap().into();
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(json["program"]["known"], known, "{program}: {ran:?}");
    }
}
