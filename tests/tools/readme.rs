//! Runs README's commands except the build. Commands after the installation run in a mount
//! namespace, pool commands on a recorded machine, lines marked `(as its user)` as postgres.
#![expect(clippy::disallowed_methods, reason = "tests use files of their own")]

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use hugetools_ship::args::{Cli, Task};
use hugetools_ship::install;
use hugetools_ship::tree::Tree;

use crate::support::bless;
use crate::support::empty_pool::thp_machine;
use crate::support::live::{machine, skip};
use crate::support::postgres;
use crate::support::program::{Libc, build};
use crate::support::tool::{self, BUILT, Ran, Run};
use crate::support::tree;

/// Returns the lines of all blocks of a kind below a heading.
pub(super) fn blocks(heading: &str, kind: &str) -> Vec<String> {
    let text = bless::read_text("README.md");
    let start = format!("\n## {heading}\n");
    let (_, section) = text.split_once(&start).expect(heading);
    let section = section.split("\n## ").next().unwrap();
    let fence = format!("\n```{kind}\n");
    let blocks = section.split(&fence).skip(1);
    let lines = blocks.flat_map(|block| block.lines().take_while(|line| *line != "```"));
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    assert!(!lines.is_empty(), "{heading}: no block of {kind}");
    lines
}

/// Returns the command of a line without its comment.
fn command(line: &str) -> &str {
    line.split(" # ").next().unwrap_or(line).trim_end()
}

/// Commands with the file run in sequence on one machine, the others each on a new one.
#[test]
fn pool_commands_work() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, blocks("Pools", "toml").join("\n")).unwrap();
    let shared = tree::machine("x86_64-8node");
    fs::create_dir_all(shared.path().join("lib/systemd/systemd")).unwrap();
    let lines = blocks("Pools", "sh");
    assert!(lines.len() >= 12, "{lines:?}");
    for line in &lines {
        let command = command(line);
        let option = |name: &str| command == format!("hugeadm --{name}");
        let reads = option("apply") || option("check");
        let of_file = reads || option("rollback") || option("install-boot");
        // User names differ between machines; root's group exists everywhere.
        let mut words = command.replace("postgres", "root");
        if reads {
            words = format!("{words}={}", file.path().display());
        }
        let words: Vec<&str> = words.split_whitespace().skip(1).collect();
        let own = tree::machine("x86_64-8node");
        let dir = if of_file { &shared } else { &own };
        let ran = tool::hugeadm(dir.path(), &words);
        assert_eq!(ran.status, 0, "{command}: {ran:?}");
    }
}

/// Returns command, huge memory and child's end from the rows of "Why not just ...?".
fn ways() -> Vec<(String, String, String)> {
    let text = bless::read_text("README.md");
    let rows = text.lines().filter(|line| line.contains("./why_not` "));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let command = cells[1].split('`').nth(1).unwrap();
        (command.to_owned(), cells[2].to_owned(), cells[3].to_owned())
    })
    .collect()
}

#[test]
fn other_ways_do_what_the_table_says() {
    let Some(live) = machine("README's table of other ways") else {
        return;
    };
    let Some(program) = build("why_not", Libc::Glibc, &[]) else {
        return;
    };
    let has_all = r#". /etc/os-release; [ "$VERSION_ID" = 12 ] && [ -x /usr/bin/hugectl ] &&
        /sbin/ldconfig -p | grep -q libmimalloc.so.2"#;
    if !Command::new("sh")
        .args(["-c", has_all])
        .status()
        .unwrap()
        .success()
    {
        let why = "it needs Debian 12 with libhugetlbfs-bin and libmimalloc2.0";
        return skip("README's table of other ways", why).unwrap_or_default();
    }
    let ways = ways();
    assert_eq!(ways.len(), 7, "{ways:?}");
    for (command, huge, child) in ways {
        live.set_pool(150);
        assert_eq!(live.wait_for_free_pages(150), 150);
        let ours = tool::hugectl().display().to_string();
        let line = command.replace("./why_not", &program.display().to_string());
        let line = match line.strip_prefix("hugectl ") {
            Some(rest) => format!("{ours} {rest}"),
            None => line,
        };
        let ran = Command::new("sh").args(["-c", &line]).ran();
        let (kilobytes, end) = ran.out.split_once(" kB huge, ").expect(&ran.out);
        let kilobytes: u64 = kilobytes.parse().unwrap();
        match huge.strip_suffix(" MB") {
            None => assert_eq!((kilobytes, &*huge), (0, "nothing"), "{command}: {ran:?}"),
            Some(megabytes) => {
                let least: u64 = megabytes.parse().unwrap();
                assert!(kilobytes >= least << 10, "{command}: {ran:?}");
            }
        }
        let is_killed = child.contains("Bus error");
        assert_eq!(end.trim() == "Bus error", is_killed, "{command}: {ran:?}");
    }
}

/// A directory with the built files, and a home directory of user postgres.
pub(super) struct Place {
    dir: tempfile::TempDir,
    postgres: PathBuf,
}

impl Place {
    pub(super) fn new() -> Option<Place> {
        if !nix::unistd::geteuid().is_root() {
            return skip("README", "it needs root");
        }
        let (postgres, user) = postgres::installed("README")?;
        let dir = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .tempdir()
            .unwrap();
        let place = Place { dir, postgres };
        let release = place.path("target/release");
        fs::create_dir_all(&release).unwrap();
        for (name, file) in BUILT {
            tool::copy(file, release.join(name));
        }
        // User postgres needs a writable directory.
        let home = place.path("home");
        fs::create_dir(&home).unwrap();
        chown(&home, Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
        fs::create_dir(place.path("over")).unwrap();
        Some(place)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Carries out a `cargo ship install` line, below `staged`.
    pub(super) fn install(&self, line: &str) {
        let words = line.strip_prefix("cargo ship ").expect(line).split(' ');
        let words = std::iter::once("ship").chain(words);
        let Task::Install(mut place) = Cli::try_parse_from(words).unwrap().task else {
            panic!("{line}")
        };
        place.destdir = Some(self.path("staged"));
        let tree = Tree::prepare(Some(&self.path("target/release"))).unwrap();
        install::install(&tree, &place).unwrap();
    }

    /// Runs a script in a mount namespace with the installation in `/usr/local`. Changes
    /// to it and to `/etc` are discarded.
    pub(super) fn run(&self, script: &str) -> Ran {
        // overlayfs needs absolute paths.
        let begin = r#"set -e
            mount -t tmpfs none over
            for dir in usr/local etc; do
                mkdir -p over/$dir over/scratch/$dir
                mkdir -p staged/$dir
                mount -t overlay none -o lowerdir=$PWD/staged/$dir:/$dir,upperdir=over/$dir,workdir=over/scratch/$dir /$dir
            done
            "#;
        let path = format!(
            "/usr/local/bin:{}:/usr/sbin:/usr/bin:/sbin:/bin",
            self.postgres.display()
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &format!("{begin}{script}")]);
        command.env_clear().env("PATH", path).env("LC_ALL", "C");
        command.current_dir(self.dir.path()).ran()
    }
}

/// Returns a text with each number as one digit and each gap as one space.
fn without_numbers(text: &str) -> String {
    let digits = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c });
    let text: String = digits.collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut text = words.join(" ");
    while text.contains("00") {
        text = text.replace("00", "0");
    }
    text
}

#[test]
fn the_first_steps_need_no_pool() {
    let Some(_machine) = thp_machine("README's first steps") else {
        return;
    };
    let Some(place) = Place::new() else { return };
    let lines = blocks("Try it", "sh");
    let line = &lines[0];
    let (build, run) = line.split_once(" && ").unwrap();
    assert_eq!(build, "cargo build --release --workspace");
    let mut command = Command::new("sh");
    command.args(["-c", run]).current_dir(place.dir.path());
    let ran = command.ran();
    assert_eq!(ran.status, 0, "{ran:?}");
    let printed: Vec<String> = ran.err.lines().map(without_numbers).collect();
    for line in blocks("Try it", "text")
        .iter()
        .filter(|line| **line != "...")
    {
        let line = without_numbers(line);
        assert!(printed.contains(&line), "{line}: {ran:?}");
    }
}

const SOLVER: &str = "#include <stdlib.h>\n#include <string.h>\n\
    int main(void) { char *p = malloc(64 << 20); return !p || !memset(p, 1, 64 << 20); }\n";

#[test]
fn commands_work_after_installation() {
    let Some(live) = machine("README") else {
        return;
    };
    let Some(place) = Place::new() else { return };
    live.set_pool(64);
    place.install(&blocks("Install", "sh")[0]);
    let code = blocks("Ask for huge pages in C", "c").join("\n");
    let (include, statement) = code.split_once("\n\n").unwrap();
    let matrix = format!(
        "{include}\n#include <stddef.h>\nint main(void) {{ size_t n = 512;\n{statement}\n\
         if (matrix) matrix[n] = 1; return !matrix; }}\n"
    );
    let home = place.path("home");
    fs::write(home.join("solver.c"), SOLVER).unwrap();
    fs::write(home.join("matrix.c"), matrix).unwrap();
    let compile = blocks("Ask for huge pages in C", "sh").join("\n");
    let script = [
        "ldconfig >&2",
        "cd home",
        "cc solver.c -o solver; cp solver server",
        &program_commands(&home),
        &compile,
        "./a.out",
    ]
    .join("\n");
    let ran = place.run(&script);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.out.contains("server started"), "{ran:?}");
    assert!(ran.out.contains("\nshm "), "the server's status: {ran:?}");
    let report = fs::read_to_string(home.join("solver.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let heap = report["segments"].as_array().unwrap().iter();
    let heap = heap.clone().find(|row| row["segment"] == "heap").unwrap();
    assert!(heap["huge"]["2097152"].as_u64() >= Some(60 << 20), "{heap}");
}

/// Returns the commands of "Programs". First a PostgreSQL cluster is created; its server is stopped
/// at exit.
fn program_commands(home: &Path) -> String {
    let prepare = format!(
        "runuser -u postgres -- initdb -A trust -D data >/dev/null\n\
         printf '%s\\n' \"listen_addresses=''\" \"unix_socket_directories='{}'\" \
         \"huge_pages=off\" \"shared_buffers=32MB\" >>data/postgresql.auto.conf\n\
         trap 'runuser -u postgres -- pg_ctl -D data -m fast stop >/dev/null' EXIT",
        home.display()
    );
    let mut script = vec![prepare];
    for line in blocks("Programs", "sh") {
        let command = command(&line);
        match line.contains("(as its user)") {
            _ if command.is_empty() => {}
            // The server would not end.
            _ if command.ends_with("redis-server") => script.push(format!("{command} --version")),
            // With a log the server does not keep our descriptors open.
            true if command.ends_with(" start") => {
                script.push(format!("runuser -u postgres -- {command} -l log"));
            }
            true => script.push(format!("runuser -u postgres -- {command}")),
            false => script.push(command.to_owned()),
        }
    }
    assert!(script.len() >= 7, "{script:?}");
    script.push("./a.out".to_owned());
    script.join("\n")
}
