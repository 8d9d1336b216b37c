//! Runs README's commands literally after the build, in a mount namespace that isolates
//! the installation. Pools are changed on a recorded machine. A line that names a user
//! runs as that user.
#![expect(clippy::disallowed_methods, reason = "tests use files of their own")]

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use hugetools_ship::args::{Line, Task};
use hugetools_ship::install;
use hugetools_ship::tree::Tree;

use crate::support::bless;
use crate::support::live::{machine, skip};
use crate::support::postgres;
use crate::support::tool::{self, BUILT, Ran};
use crate::support::tree;

/// Returns the lines of the first block of a kind below a heading.
pub(super) fn block(heading: &str, kind: &str) -> Vec<String> {
    let text = bless::text("README.md");
    let (_, section) = text
        .split_once(&format!("\n## {heading}\n"))
        .expect(heading);
    let (_, block) = section
        .split_once(&format!("\n```{kind}\n"))
        .expect(heading);
    let lines = block.lines().take_while(|line| *line != "```");
    lines.map(str::to_owned).collect()
}

/// Returns the command of a line without its comment.
fn command(line: &str) -> &str {
    line.split(" # ").next().unwrap_or(line).trim_end()
}

/// Returns the commands of "A dozen things to do" for one tool.
fn of_the_dozen(name: &str) -> Vec<String> {
    let lines = block("A dozen things to do", "sh");
    let commands = lines.iter().map(|line| command(line).to_owned());
    commands
        .filter(|command| command.starts_with(name))
        .collect()
}

#[test]
fn pool_commands_work() {
    let commands = of_the_dozen("hugeadm ");
    assert!(commands.len() >= 6, "{commands:?}");
    for command in commands {
        // User names differ between machines; root's group exists everywhere.
        let words = command.replace("postgres", "root");
        let words: Vec<&str> = words.split_whitespace().skip(1).collect();
        let dir = tree::machine("x86_64-8node");
        let ran = tool::hugeadm(dir.path(), &words);
        assert_eq!(ran.status, 0, "{command}: {ran:?}");
    }
}

/// A directory as after the build, and a home for the experiments.
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
        let Task::Install(mut place) = Line::try_parse_from(words).unwrap().task else {
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
        command
            .current_dir(self.dir.path())
            .output()
            .unwrap()
            .into()
    }
}

#[test]
fn the_first_steps_need_no_pool() {
    let Some(place) = Place::new() else { return };
    let lines = block("Try it", "sh");
    let [line] = &lines[..] else {
        panic!("{lines:?}")
    };
    let (build, run) = line.split_once(" && ").unwrap();
    assert_eq!(build, "cargo build --release --workspace");
    let mut command = Command::new("sh");
    command.args(["-c", run]).current_dir(place.dir.path());
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.err.contains("\nheap "), "{ran:?}");
}

/// The plan is compared literally; of the running program's table only the head.
#[test]
fn the_shown_output_is_real() {
    let Some(live) = machine("README's transcript") else {
        return;
    };
    live.set_pool(64);
    // Programs of earlier tests may still be ending.
    assert_eq!(live.free_pages_at_last(64), 64);
    let path = "/usr/bin:/bin";
    let explain = block("What it looks like", "console");
    let words = explain[0].strip_prefix("$ hugectl ").unwrap().split(' ');
    let mut command = tool::tool("hugectl");
    let ran: Ran = command
        .args(words)
        .env("PATH", path)
        .output()
        .unwrap()
        .into();
    let expected = explain[1..].join("\n");
    assert!(ran.out.starts_with(&expected), "{expected}\n{ran:?}");
    let text = bless::text("README.md");
    let mut command = tool::tool("hugectl");
    let own = std::process::id().to_string();
    let ran: Ran = command.args(["--status", &own]).output().unwrap().into();
    let head = ran.out.lines().nth(1).unwrap();
    assert!(text.contains(&format!("\n{head}\n")), "{ran:?}");
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
    let [line] = &block("Install", "sh")[..] else {
        panic!("one command installs")
    };
    place.install(line);
    let code = block("Ask for huge pages in C", "c").join("\n");
    let (include, statement) = code.split_once("\n\n").unwrap();
    let matrix = format!(
        "{include}\n#include <stddef.h>\nint main(void) {{ size_t n = 512;\n{statement}\n\
         if (matrix) matrix[n] = 1; return !matrix; }}\n"
    );
    let home = place.path("home");
    fs::write(home.join("solver.c"), SOLVER).unwrap();
    fs::write(home.join("matrix.c"), matrix).unwrap();
    let compile = block("Ask for huge pages in C", "sh").join("\n");
    let script = [
        "ldconfig >&2",
        "cd home",
        "cc solver.c -o solver; cp solver server",
        &as_written(&home),
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

/// Returns the commands of the dozen except hugeadm's, each as its user, with a server
/// for one of them that is always stopped at the end.
fn as_written(home: &Path) -> String {
    let prepare = format!(
        "runuser -u postgres -- initdb -A trust -D data >/dev/null\n\
         printf '%s\\n' \"listen_addresses=''\" \"unix_socket_directories='{}'\" \
         \"huge_pages=off\" \"shared_buffers=32MB\" >>data/postgresql.auto.conf\n\
         trap 'runuser -u postgres -- pg_ctl -D data -m fast stop >/dev/null' EXIT",
        home.display()
    );
    let mut script = vec![prepare];
    for line in block("A dozen things to do", "sh") {
        let command = command(&line);
        match line.contains("(as its user)") {
            _ if command.starts_with("hugeadm ") || command.is_empty() => {}
            // The server would not end.
            _ if command.ends_with("redis-server") => script.push(format!("{command} --version")),
            // A shell per user does not wait for descriptors that a server keeps open.
            true => script.push(format!("runuser -u postgres -- {command} -l log")),
            false => script.push(command.to_owned()),
        }
    }
    assert!(script.len() >= 7, "{script:?}");
    script.push("./a.out".to_owned());
    script.join("\n")
}
