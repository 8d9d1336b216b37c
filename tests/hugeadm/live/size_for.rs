//! `--size-for`: the number of pool pages that a process or program needs.
#![expect(
    clippy::disallowed_methods,
    reason = "creates files of a recorded tree"
)]

use std::fs::create_dir_all;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::support::empty_pool::empty_pool_machine;
use crate::support::needs;
use crate::support::postgres::installed;
use crate::support::tool::{Ran, Run, hugeadm, sh, tool};
use crate::support::tree;

const SMAPS: &str = "\
00400000-00600000 r-xp 00000000 08:01 5 /usr/bin/db
Rss: 2048 kB
10000000-18000000 rw-p 00000000 00:00 0 [heap]
Rss: 5000 kB
20000000-20010000 rw-p 00000000 00:00 0 
Rss: 64 kB
21000000-21010000 rw-p 00000000 00:00 0 
Rss: 64 kB
30000000-38000000 rw-s 00000000 00:01 7 /dev/zero (deleted)
Rss: 4096 kB
40000000-48000000 rw-s 00000000 00:0f 8 /anon_hugepage (deleted)
Rss: 0 kB
Shared_Hugetlb: 6144 kB
50000000-50021000 rw-p 00000000 00:00 0 [stack]
Rss: 132 kB
";

#[test]
fn a_process_needs_its_resident_private_memory_and_all_shared_memory() {
    let dir = tree::machine("x86_64-8node");
    create_dir_all(dir.path().join("proc/77")).unwrap();
    std::fs::write(dir.path().join("proc/77/smaps"), SMAPS).unwrap();
    let ran = hugeadm(dir.path(), &["--size-for", "77"]);
    assert_eq!(
        (ran.status, ran.err.as_str(), ran.out.as_str()),
        (
            0,
            "",
            "       3  private memory in 1 mapping: 5000 kB
       1  private memory in mappings below 2MB: 128 kB
     128  shared memory in 2 mappings: 262144 kB
     132  pages of 2MB in all

[[pool]]
size = \"2MB\"
min = 132
"
        )
    );
}

#[test]
fn a_program_file_needs_its_text_but_its_heap_is_unknown() {
    let dir = tree::machine("x86_64-8node");
    let own = std::env::current_exe().unwrap();
    let ran = hugeadm(dir.path(), &["--size-for", own.to_str().unwrap()]);
    let number = |text: &str| text.trim().parse::<u64>().unwrap();
    let (pages, rest) = ran.out.split_once("  text: ").unwrap();
    let kib = number(rest.split_once(" kB\n").unwrap().0);
    assert!(kib > 4096 && number(pages) == kib / 2048, "{}", ran.out);
    assert!(ran.out.contains("\nThe heap is not included: "));
    let no_elf = hugeadm(dir.path(), &["--size-for", "/etc/passwd"]);
    assert_eq!(no_elf.status, 1);
    assert!(
        no_elf.err.contains("not an ELF file\n  start it"),
        "{no_elf:?}"
    );
}

#[test]
fn java_computes_its_heap_and_code_cache() {
    if !needs::programs("the size of Java", &["java"]) {
        return;
    }
    for (args, least) in [
        ("-Xmx1g -XX:+UseSerialGC", 512),
        ("-Xmx1g -XX:+UseG1GC", 512 + 16),
    ] {
        let ran = tool("hugeadm")
            .env("PATH", "/usr/bin:/bin")
            .args(["--size-for", &format!("java:{args}")])
            .ran();
        assert!(
            ran.out.contains("     512  MaxHeapSize: 1048576 kB\n"),
            "{ran:?}"
        );
        let pages: u64 = ran
            .out
            .split_once("min = ")
            .unwrap()
            .1
            .trim()
            .parse()
            .unwrap();
        assert!(pages > least && pages < 1000, "{ran:?}");
    }
    let ran = sh(&format!(
        "{} --size-for java:-Xmx1q",
        env!("CARGO_BIN_EXE_hugeadm")
    ));
    assert_eq!(ran.status, 1);
    assert!(
        ran.err.contains("Invalid maximum heap size: -Xmx1q"),
        "{ran:?}"
    );
}

/// As root, hugeadm does not run the server: DATADIR names libraries that it loads.
#[test]
fn postgresql_computes_its_shared_memory() {
    let Some((bin, user)) = installed("the size of PostgreSQL") else {
        return;
    };
    // The server tries huge pages by default, so the pool must be empty.
    let Some(_machine) = empty_pool_machine("the size of PostgreSQL") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(dir.path(), Some(user.uid.into()), Some(user.gid.into())).unwrap();
    let data = dir.path().join("data");
    let as_user = |command: &mut Command| {
        command.uid(user.uid.into()).gid(user.gid.into());
        command.current_dir("/").ran()
    };
    let server = |program: &str, words: &[&str]| -> Ran {
        let mut command = Command::new(bin.join(program));
        as_user(command.arg("-D").arg(&data).args(words))
    };
    assert_eq!(server("initdb", &["-N"]).status, 0);
    let what = format!("postgres:{}", data.display());
    let hugeadm = || -> Ran {
        let mut hugeadm = tool("hugeadm");
        as_user(hugeadm.args(["--size-for", &what]))
    };
    let ran = hugeadm();
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
    let told = server("postgres", &["-C", "shared_memory_size_in_huge_pages"]);
    if told.status == 0 {
        assert!(
            ran.out.ends_with(&format!("\nmin = {}\n", told.out.trim())),
            "{ran:?}"
        );
        let conf = data.join("postgresql.conf");
        let text = std::fs::read_to_string(&conf).unwrap();
        std::fs::write(&conf, text + "huge_page_size = 1GB\n").unwrap();
        let ran = hugeadm();
        assert!(ran.out.ends_with("\nsize = \"1GB\"\nmin = 1\n"), "{ran:?}");
    }
    let as_root = tool("hugeadm").args(["--size-for", &what]).ran();
    assert!(
        as_root.status == 1 && as_root.err.contains("does not run as root"),
        "{as_root:?}"
    );
}
