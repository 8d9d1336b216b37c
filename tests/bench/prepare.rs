//! Builds the workloads before anything is timed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::support::bless::project;
use super::support::program::{Libc, build};
use super::support::tool;
use super::way::{Tools, Way};
use super::work::{Kind, Work};

/// The path for programs.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

const MIMALLOC: &str = "libmimalloc.so.2.0";

/// Returns the paths of the tools.
pub(crate) fn tools() -> Tools {
    Tools {
        hugectl: tool::hugectl().to_owned(),
        libhugetlbfs: PathBuf::from("/usr/bin/hugectl"),
        mimalloc: mimalloc().unwrap_or_default(),
    }
}

fn mimalloc() -> Option<PathBuf> {
    let triplet = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let dirs = [triplet.as_str(), "/usr/lib64", "/usr/lib", "/usr/local/lib"];
    let files = dirs.iter().map(|dir| Path::new(dir).join(MIMALLOC));
    files.into_iter().find(|file| file.exists())
}

/// Returns why a way cannot run.
pub(crate) fn missing(way: Way, tools: &Tools) -> Option<String> {
    match way {
        Way::Mimalloc if tools.mimalloc.as_os_str().is_empty() => {
            Some(format!("{MIMALLOC} is not installed"))
        }
        Way::Libhugetlbfs => {
            let version = run(&["dpkg-query", "-W", "-f", "${Version}", "libhugetlbfs-bin"]);
            let is_here = version.is_ok_and(|version| version.starts_with("2."));
            (!is_here || !tools.libhugetlbfs.exists())
                .then(|| "libhugetlbfs-bin is not installed".to_owned())
        }
        _ => None,
    }
}

/// Returns a command with only the way's environment.
pub(crate) fn command(way: Way, tools: &Tools, program: &[String]) -> Command {
    let words = [way.words(tools), program.to_vec()].concat();
    let mut command = clean(&words[0]);
    command.args(&words[1..]).envs(way.environment(tools));
    command
}

/// Returns a command with an empty environment.
pub(crate) fn clean(program: &str) -> Command {
    let mut command = Command::new(found(program).unwrap_or_else(|| PathBuf::from(program)));
    command.env_clear().env("PATH", PATH).env("LC_ALL", "C");
    command
}

fn found(program: &str) -> Option<PathBuf> {
    let files = PATH.split(':').map(|dir| Path::new(dir).join(program));
    files.into_iter().find(|file| file.exists())
}

fn run(words: &[&str]) -> Result<String, String> {
    let output = clean(words[0]).args(&words[1..]).output();
    let output = output.map_err(|error| format!("{}: {error}", words[0]))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!(
            "{}: {}",
            words[0],
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Returns the command line of a workload, or why it cannot run.
pub(crate) fn program(work: &Work, libc: Libc, size: u64) -> Result<Vec<String>, String> {
    match work.kind {
        Kind::C(name, rest) => {
            let built = build(&format!("bench/{name}"), libc, &[]).ok_or("there is no compiler")?;
            let rest = rest.iter().map(|&word| word.to_owned());
            Ok([text(&built), size.to_string()]
                .into_iter()
                .chain(rest)
                .collect())
        }
        Kind::Cxx => cxx(size),
        Kind::Redis => needs("redis-server")
            .and(needs("redis-benchmark"))
            .map(|()| vec!["redis-server".to_owned()]),
        Kind::Python => {
            needs("python3")?;
            Ok(vec![
                "python3".to_owned(),
                text(&source("keys.py")),
                size.to_string(),
            ])
        }
        Kind::Java => java(size),
    }
}

/// Returns the program that touches memory; `None` without a compiler.
pub(crate) fn warmer() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT
        .get_or_init(|| build("bench/warm", Libc::Glibc, &[]))
        .as_deref()
}

/// Checks that a program is installed.
fn needs(name: &str) -> Result<(), String> {
    found(name)
        .map(drop)
        .ok_or_else(|| format!("there is no {name}"))
}

fn source(name: &str) -> PathBuf {
    project("tests/programs/bench").join(name)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Returns a directory for generated files.
fn scratch() -> Result<PathBuf, String> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench");
    fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    Ok(dir)
}

/// Returns cc1plus and a preprocessed file.
fn cxx(instances: u64) -> Result<Vec<String>, String> {
    needs("g++")?;
    let file = scratch()?.join(format!("file-{instances}.ii"));
    let count = format!("-DINSTANCES={instances}");
    run(&[
        "g++",
        "-E",
        &count,
        &text(&source("file.cc")),
        "-o",
        &text(&file),
    ])?;
    let compiler = run(&["g++", "-print-prog-name=cc1plus"])?;
    let words = [
        &compiler,
        "-quiet",
        "-fpreprocessed",
        "-O2",
        &text(&file),
        "-o",
        "/dev/null",
    ];
    Ok(words.map(str::to_owned).to_vec())
}

fn java(keys: u64) -> Result<Vec<String>, String> {
    needs("java").and(needs("javac"))?;
    let dir = text(&scratch()?);
    run(&["javac", "-d", &dir, &text(&source("Keys.java"))])?;
    let words = ["java", "-Xmx768m", "-XX:+UseSerialGC", "-cp", &dir, "Keys"];
    Ok(words
        .map(str::to_owned)
        .into_iter()
        .chain([keys.to_string()])
        .collect())
}
