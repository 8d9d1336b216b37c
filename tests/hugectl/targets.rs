//! Programs of every kind under hugectl: they run, and a warning names each shortfall.

mod known;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::place::{PROGRAM, Place, Ran, as_nobody};
use crate::support::live::skip;
use crate::support::needs;
use crate::support::program::{Libc, build};
use crate::support::tool::{Run, tool};

/// Asserts that the program succeeded with this output.
fn succeeded(done: &Ran, out: &str) {
    assert_eq!((done.status, done.out.as_str()), (0, out), "{}", done.err);
}

#[test]
fn musl_programs_get_the_same_library() {
    if !needs::programs("musl_programs_get_the_same_library", &["musl-gcc"]) {
        return;
    }
    let place = Place::new();
    place.build_with("musl-gcc", "program", PROGRAM, &[]);
    let done = place.shell("SAY_LOADED=1 hugectl -v --heap=thp ./program");
    succeeded(&done, "program HUGETLB_MORECORE=thp\n");
    assert!(
        done.err.contains("./program is dynamic, with musl\n"),
        "{}",
        done.err
    );
    assert!(
        done.err.contains("libhugetlbfs_heap is loaded\n"),
        "{}",
        done.err
    );
}

#[test]
fn a_static_glibc_program_gets_tunables() {
    let place = Place::new();
    place.build("program", PROGRAM, &["-static"]);
    let threshold = (4 * size_of::<usize>()) << 20;
    let tunables = format!("glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold={threshold}");
    let done = place.shell("hugectl -v --heap=thp ./program");
    succeeded(
        &done,
        &format!("program HUGETLB_MORECORE=thp GLIBC_TUNABLES={tunables}\n"),
    );
    assert!(
        done.err
            .contains("info: the program's own glibc serves the heap"),
        "{}",
        done.err
    );
    let merged =
        place.shell("GLIBC_TUNABLES=glibc.malloc.hugetlb=0 hugectl -v --heap=thp ./program");
    assert!(
        merged
            .out
            .ends_with("GLIBC_TUNABLES=glibc.malloc.hugetlb=0\n"),
        "{}",
        merged.out
    );
    assert!(
        merged
            .err
            .contains("glibc.malloc.hugetlb keeps its value 0"),
        "{}",
        merged.err
    );
    let shm = place.shell("hugectl --shm --report ./program");
    succeeded(&shm, "program HUGETLB_SHM=yes\n");
    assert!(
        shm.err
            .contains("warning: shared memory stays on base pages: the program is static"),
        "{}",
        shm.err
    );
    assert!(
        shm.err
            .contains("warning: no library is added to the program: unless"),
        "{}",
        shm.err
    );
}

#[test]
fn a_program_with_its_own_malloc_keeps_it() {
    let place = Place::new();
    let own = format!(
        "{PROGRAM}\nstatic char pool[1 << 20]; static unsigned long used;\n\
         void *malloc(unsigned long n) {{ void *p = pool + used; used += (n + 15) & ~15ul; return p; }}\n\
         void free(void *p) {{ (void)p; }}"
    );
    place.build("program", &own, &["-fno-builtin"]);
    let done = place.shell("SAY_LOADED=1 hugectl --heap=thp ./program");
    succeeded(&done, "program\n");
    assert!(
        done.err
            .contains("its own allocator (it defines malloc itself)"),
        "{}",
        done.err
    );
    assert!(done.err.contains("libhugetlbfs is loaded"), "{}", done.err);
    let forced = place.shell("SAY_LOADED=1 hugectl --force-preload --heap=thp ./program");
    succeeded(&forced, "program HUGETLB_MORECORE=thp\n");
    assert_eq!(forced.err, "libhugetlbfs_heap is loaded\n");
}

/// Warnings are about the program, not about its wrapper.
#[test]
fn behind_a_wrapper_the_program_counts() {
    let place = Place::new();
    place.build("small", PROGRAM, &[]);
    let large = format!("{PROGRAM}\nchar large[8 << 20];");
    place.build("large", &large, &[]);
    place.build("static", PROGRAM, &["-static"]);
    let messages = |line: &str| {
        let done = place.shell(&format!("hugectl {line}"));
        assert_eq!(done.status, 0, "{}", done.err);
        done.err
    };
    let small = "data and bss of ./small stay on base pages: no whole 2MB page fits there\n";
    for wrapper in ["", "nice ", "env A=b timeout 9 "] {
        // A few bytes are no reason for a warning.
        assert_eq!(
            messages(&format!("--data=thp {wrapper}./small")),
            "",
            "{wrapper}"
        );
        let err = messages(&format!("-v --data=thp {wrapper}./small"));
        assert!(err.contains(small), "{wrapper}: {err}");
        let err = messages(&format!("-q --data=thp {wrapper}./large"));
        assert_eq!(err, "", "{wrapper}");
        let err = messages(&format!("--data=thp {wrapper}./large"));
        assert!(!err.contains("no whole"), "{wrapper}: {err}");
    }
    // hugectl doesn't know which programs a shell starts.
    let err = messages("-v --data=thp sh -c ./large");
    assert!(
        err.contains("no whole 2MB page fits there; for the programs that it starts"),
        "{err}"
    );
    let err = messages("--heap=thp nice ./static");
    assert!(
        err.ends_with(
            "the heap stays on base pages: ./static is static, so no library can be added \
                       to it; start hugectl right before ./static\n"
        ),
        "{err}"
    );
}

#[test]
fn a_set_user_id_program_gets_nothing() {
    if !needs::root("a_set_user_id_program_gets_nothing") {
        return;
    }
    let place = Place::new();
    let program = place.build("program", PROGRAM, &[]);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let command = place.command(&["--heap=thp", "--shm=thp", "./program"]);
    let other = as_nobody(&command).ran();
    succeeded(&other, "program HUGETLB_SHM=thp\n");
    assert!(
        other
            .err
            .contains("nothing can be put on huge pages: ./program is set-user-id"),
        "{}",
        other.err
    );
    assert!(
        other
            .err
            .ends_with("; start hugectl as the owner of the file\n"),
        "{}",
        other.err
    );
    // With no_new_privs the kernel ignores the bit.
    let quoted = place.path("prefix/bin/hugectl").display().to_string();
    let line = format!(
        "setpriv --no-new-privs --reuid=65534 --clear-groups env SAY_LOADED=1 {quoted} --heap=thp ./program"
    );
    let harmless = place.shell(&line);
    assert!(
        harmless.err.contains("libhugetlbfs_heap is loaded"),
        "{}",
        harmless.err
    );
    // For root it is an ordinary program.
    let root = place.shell("SAY_LOADED=1 hugectl --heap=thp ./program");
    assert!(
        root.err.contains("libhugetlbfs_heap is loaded"),
        "{}",
        root.err
    );
}

#[test]
fn a_program_with_file_capabilities_gets_nothing() {
    if !needs::root("a_program_with_file_capabilities_gets_nothing") {
        return;
    }
    let place = Place::new();
    place.build("program", PROGRAM, &[]);
    let set = place.shell("/usr/sbin/setcap cap_net_raw+ep program");
    if set.status != 0 {
        return skip("capabilities", &set.err).unwrap_or(());
    }
    let command = place.command(&["--heap=thp", "./program"]);
    let other = as_nobody(&command).ran();
    succeeded(&other, "program\n");
    assert!(
        other.err.contains("is given capabilities by its file"),
        "{}",
        other.err
    );
}

/// The kernel refuses it; a shell would report a syntax error.
#[test]
fn a_foreign_program_is_reported() {
    let place = Place::new();
    let mut bytes = fs::read(place.build("program", PROGRAM, &[])).unwrap();
    // An architecture without emulator.
    bytes[18..20].copy_from_slice(&0x1234u16.to_ne_bytes());
    place.file("foreign", &bytes, 0o755);
    let done = place.shell("hugectl --heap=thp ./foreign");
    assert_eq!((done.status, done.out.as_str()), (126, ""));
    assert!(
        done.err.contains(
            "cannot run ./foreign: exec format error (ENOEXEC); it is for 64-bit machine 4660"
        ),
        "{}",
        done.err
    );
    place.file("damaged", &bytes[..60], 0o755);
    let done = place.shell("hugectl --heap=thp ./damaged");
    assert_eq!(done.status, 126);
    assert!(done.err.contains("its header is cut off"), "{}", done.err);
}

#[test]
fn json_contains_the_exit_status() {
    let place = Place::new();
    place.file("text", b"#!/no/such/loader\n", 0o755);
    place.file("data", b"x", 0o644);
    for options in ["--report", "--dry-run", "--explain"] {
        for (program, status) in [
            ("no-such-program", 127),
            ("./text", 127),
            ("./data", 126),
            ("--heap=3MB true", 125),
        ] {
            let done = place.shell(&format!("hugectl --json {options} {program}"));
            let document: serde_json::Value = serde_json::from_str(&done.out).unwrap();
            assert_eq!(done.status, status, "{options} {program}: {done:?}");
            assert_eq!(document["status"], status, "{options} {program}: {done:?}");
        }
    }
}

#[test]
fn a_missing_loader_is_named() {
    let place = Place::new();
    place.build(
        "program",
        PROGRAM,
        &["-Wl,--dynamic-linker=/lib/ld-none.so"],
    );
    let done = place.shell("hugectl --heap=thp ./program");
    assert_eq!(done.status, 127);
    let expected =
        "cannot run ./program: its loader /lib/ld-none.so: no such file or directory (ENOENT)";
    assert!(done.err.contains(expected), "{}", done.err);
}

#[test]
fn the_interpreter_of_a_script_counts() {
    if !needs::programs("the_interpreter_of_a_script_counts", &["musl-gcc"]) {
        return;
    }
    let place = Place::new();
    place.build_with("musl-gcc", "interpreter", PROGRAM, &["-static"]);
    let line = format!("#!{}\n", place.path("interpreter").display());
    place.file("script", &line, 0o755);
    let done = place.shell("hugectl -v --heap=thp ./script");
    assert!(
        done.err.contains("./script is run by") && done.err.contains("which is static"),
        "{}",
        done.err
    );
    assert!(
        done.err.contains("warning: the heap stays on base pages"),
        "{}",
        done.err
    );
    place.file("text", "echo from text\n", 0o755);
    let done = place.shell("hugectl -v --heap=thp ./text");
    assert_eq!(done.out, "from text\n");
    assert!(
        done.err.contains("./text is run by /bin/sh"),
        "{}",
        done.err
    );
}

#[test]
fn a_noexec_mount_is_named() {
    if !needs::mounts("a noexec mount") {
        return;
    }
    let Some(program) = build("segments", Libc::Glibc, &[]) else {
        return;
    };
    let script =
        "mount -t tmpfs -o noexec none /mnt && cp \"$1\" /mnt/x && exec \"$2\" --heap=thp /mnt/x";
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]);
    command.arg(program);
    command.arg(tool("hugectl").get_program());
    let ran = command.ran();
    assert_eq!(ran.status, 126, "{ran:?}");
    let cause = "/mnt/x is on a noexec mount";
    assert!(ran.err.contains(cause), "{ran:?}");
}

/// hugectl contains the marks by which it recognises other programs.
#[test]
fn hugectl_is_not_taken_for_another_program() {
    let mut command = tool("hugectl");
    command
        .args(["--heap=thp"])
        .arg(tool("hugectl").get_program());
    let ran = command.arg("--version").ran();
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
}
