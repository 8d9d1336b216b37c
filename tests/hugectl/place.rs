//! A directory with an installed hugectl, libraries, programs and recorded machines.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) use crate::support::tool::Ran;
use crate::support::tool::{Run, copy, write};

/// A library with the symbol that marks ours. If `SAY_LOADED` is set it reports that it was loaded.
const OURS: &str = "
#include <stdlib.h>
#include <unistd.h>
const char __hugetools_library = 1;
__attribute__((constructor)) static void start(void) {
    if (getenv(\"SAY_LOADED\")) write(2, NAME \" is loaded\\n\", sizeof NAME \" is loaded\\n\" - 1);
}";

/// A library named libhugetlbfs.so without our mark, such as Debian's.
const OTHERS: &str = "int gethugepagesize(void) { return 0; }";

/// Prints its arguments and some variables that hugectl sets.
pub(super) const PROGRAM: &str = "
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    printf(\"program\");
    for (int i = 1; i < argc; i++) printf(\" %s\", argv[i]);
    const char *names[] = {\"HUGETLB_MORECORE\", \"HUGETLB_SHM\", \"GLIBC_TUNABLES\"};
    for (int i = 0; i < 3; i++) if (getenv(names[i])) printf(\" %s=%s\", names[i], getenv(names[i]));
    printf(\"\\n\");
    return argc > 1 ? atoi(argv[1]) : 0;
}";

pub(super) struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    /// Creates `prefix/bin/hugectl`, `prefix/lib/libhugetlbfs*.so`, and two machines: `pool`
    /// with 512 free pages, `empty` with none.
    pub(super) fn new() -> Place {
        let place = Place {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::set_permissions(place.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let bin = place.path("prefix/bin");
        fs::create_dir_all(&bin).unwrap();
        copy(env!("CARGO_BIN_EXE_hugectl"), bin.join("hugectl"));
        for name in ["libhugetlbfs", "libhugetlbfs_heap"] {
            let define = format!("-DNAME=\"{name}\"");
            let args = ["-shared", "-fPIC", &define];
            place.build(&format!("prefix/lib/{name}.so"), OURS, &args);
        }
        place.machine("pool", 512, "madvise", "advise");
        place.machine("empty", 0, "never", "never");
        place
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn hugectl(&self) -> PathBuf {
        self.path("prefix/bin/hugectl")
    }

    /// Writes a file and creates its directories.
    pub(super) fn file(&self, name: &str, contents: impl AsRef<[u8]>, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, contents.as_ref());
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    /// Compiles a C source.
    pub(super) fn build(&self, name: &str, source: &str, args: &[&str]) -> PathBuf {
        self.build_with("cc", name, source, args)
    }

    /// Compiles with another compiler.
    pub(super) fn build_with(&self, cc: &str, name: &str, source: &str, args: &[&str]) -> PathBuf {
        let input = self.file(&format!("{name}.c"), source, 0o644);
        let output = self.path(name);
        let mut command = Command::new(cc);
        command.arg(&input).args(args).arg("-o").arg(&output);
        assert!(command.status().unwrap().success(), "{cc} {args:?}");
        fs::remove_file(input).unwrap();
        output
    }

    /// Builds a libhugetlbfs.so without our mark.
    pub(super) fn others_library(&self, dir: &str) -> PathBuf {
        fs::create_dir_all(self.path(dir)).unwrap();
        self.build(
            &format!("{dir}/libhugetlbfs.so"),
            OTHERS,
            &["-shared", "-fPIC"],
        )
    }

    /// Creates a recorded machine with pages of 2 MB and 1 GB.
    pub(super) fn machine(&self, name: &str, free: u64, thp: &str, shmem: &str) {
        let put = |path: &str, text: String| self.file(&format!("{name}/{path}"), text, 0o644);
        put(
            "proc/meminfo",
            format!(
                "MemTotal: 8000000 kB\nHugePages_Total: {free}\nHugePages_Free: {free}\n\
                 HugePages_Rsvd: 0\nHugePages_Surp: 0\nHugepagesize: 2048 kB\n"
            ),
        );
        put("proc/sys/vm/nr_hugepages", format!("{free}\n"));
        put("proc/sys/vm/nr_overcommit_hugepages", "0\n".to_owned());
        put("proc/sys/vm/overcommit_memory", "0\n".to_owned());
        for (size, free) in [(2048, free), (1_048_576, 0)] {
            for file in ["nr_hugepages", "free_hugepages"] {
                let path = format!("sys/kernel/mm/hugepages/hugepages-{size}kB/{file}");
                put(&path, format!("{free}\n"));
            }
            for file in [
                "resv_hugepages",
                "surplus_hugepages",
                "nr_overcommit_hugepages",
            ] {
                let path = format!("sys/kernel/mm/hugepages/hugepages-{size}kB/{file}");
                put(&path, "0\n".to_owned());
            }
        }
        let choice =
            |all: &str, word: &str| format!("{}\n", all.replace(word, &format!("[{word}]")));
        let dir = "sys/kernel/mm/transparent_hugepage";
        put(
            &format!("{dir}/enabled"),
            choice("always madvise never", thp),
        );
        let all = "always within_size advise never deny force";
        put(&format!("{dir}/shmem_enabled"), choice(all, shmem));
        put(&format!("{dir}/hpage_pmd_size"), "2097152\n".to_owned());
    }

    /// Returns hugectl's command, with the place as current directory.
    pub(super) fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(self.hugectl());
        command.args(args);
        self.prepare(&mut command);
        command
    }

    /// Runs a line in `sh`, with hugectl in `PATH`.
    pub(super) fn shell(&self, line: &str) -> Ran {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        self.prepare(&mut command);
        command.ran()
    }

    fn prepare(&self, command: &mut Command) {
        command.current_dir(self.dir.path()).env_clear();
        command.env(
            "PATH",
            format!("{}:/usr/bin:/bin", self.path("prefix/bin").display()),
        );
        command.env("LC_ALL", "C");
    }

    pub(super) fn run(&self, args: &[impl AsRef<OsStr>]) -> Ran {
        self.command(args).ran()
    }

    /// Replaces the place's path by `DIR` and the version by `VERSION`.
    pub(super) fn normalize(&self, text: &str) -> String {
        let version = concat!("\"", env!("CARGO_PKG_VERSION"), "\"");
        text.replace(self.dir.path().to_str().unwrap(), "DIR")
            .replace(version, "\"VERSION\"")
    }
}

/// Returns the command that runs another one as nobody.
pub(super) fn as_nobody(command: &Command) -> Command {
    let mut other = Command::new("setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
    other.arg(command.get_program()).args(command.get_args());
    other.env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            other.env(name, value);
        }
    }
    other.current_dir(command.get_current_dir().unwrap_or(Path::new("/")));
    other
}
