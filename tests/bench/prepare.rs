//! Prepares programs and data of the workloads before anything is timed.
#![expect(
    clippy::disallowed_methods,
    reason = "the benchmark uses files of its own"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::support::bless::project;
use super::support::program::{Libc, build};

/// `PATH` of all programs that the benchmark starts.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// A workload's program and the options of hugectl for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Job {
    /// The program and its arguments.
    pub(crate) program: Vec<String>,
    /// `--driver` and `--ready` of a server.
    pub(crate) options: Vec<String>,
}

impl Job {
    pub(crate) fn of(words: &[&str]) -> Job {
        let program = words.iter().map(|&word| word.to_owned()).collect();
        Job {
            program,
            options: vec![],
        }
    }
}

/// A directory for data, removed at the end. Every user can enter it.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        let mode = fs::Permissions::from_mode(0o755);
        Scratch(
            tempfile::Builder::new()
                .permissions(mode)
                .tempdir()
                .unwrap(),
        )
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// Writes a file and returns its path.
    fn write(&self, name: &str, text: &str) -> Result<String, String> {
        let path = self.path(name);
        let written = fs::write(&path, text).map_err(|error| format!("{path}: {error}"));
        written.map(|()| path)
    }
}

/// Returns the path of a program, or an error if it isn't installed.
pub(crate) fn needs(name: &str) -> Result<PathBuf, String> {
    let files = PATH.split(':').map(|dir| Path::new(dir).join(name));
    let found = files.into_iter().find(|file| file.exists());
    found.ok_or_else(|| format!("{name} is not installed"))
}

/// Runs a program to its end.
pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let mut command = Command::new(words[0]);
    command.env_clear().env("PATH", PATH).env("LC_ALL", "C");
    let output = command.args(&words[1..]).output();
    let output = output.map_err(|error| format!("{}: {error}", words[0]))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().last().unwrap_or_default();
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{}: {}: {last}", words[0], output.status)),
    }
}

fn source_path(name: &str) -> String {
    let path = project("tests/programs/bench").join(name);
    path.display().to_string()
}

fn compile(name: &str, flags: &[&str]) -> Result<String, String> {
    let built = build(&format!("bench/{name}"), Libc::Glibc, flags);
    let path = built.ok_or("there is no compiler")?;
    Ok(path.display().to_string())
}

/// Returns the job of a program in `tests/programs/bench`. Its first argument is the size.
pub(crate) fn c_program(name: &str, size: u64, rest: &[&str]) -> Result<Job, String> {
    let (program, size) = (compile(name, &[])?, size.to_string());
    Ok(Job::of(&[&[&program, size.as_str()], rest].concat()))
}

/// Returns the job of STREAM with static arrays.
pub(crate) fn stream(size: u64) -> Result<Job, String> {
    let program = compile("stream", &[&format!("-DSTATIC_MIB={size}")])?;
    Ok(Job::of(&[&program, &size.to_string()]))
}

/// Touches memory and pool before anything is timed. In a virtual machine, the first touch of a
/// page is many times slower, because the host allocates it.
pub(crate) fn warm_up(mib: u64) {
    let ran = compile("warm", &[]).and_then(|program| run(&[&program, &mib.to_string()]));
    // A failure only makes the figures less exact.
    drop(ran);
}

pub(crate) fn java(scratch: &Scratch, thousands: u64) -> Result<Job, String> {
    needs("java").and(needs("javac"))?;
    let dir = scratch.path("");
    run(&["javac", "-d", &dir, &source_path("Keys.java")])?;
    let thousands = thousands.to_string();
    let options = ["-Xmx768m", "-XX:+UseSerialGC", "-cp", &dir];
    Ok(Job::of(
        &[&["java"], &options[..], &["Keys", &thousands]].concat(),
    ))
}

/// Runs hpcc on all CPUs. A small matrix runs on one, so that MPI needs no network.
pub(crate) fn linpack(scratch: &Scratch, size: u64) -> Result<Job, String> {
    needs("hpcc").and(needs("mpirun"))?;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let processes = if size < 1000 { 1 } else { cpus };
    let input = fs::read_to_string(source_path("hpccinf.txt")).unwrap_or_default();
    let input = input.replace("SIZE", &size.to_string());
    scratch.write(
        "hpccinf.txt",
        &input.replace("PROCESSES", &processes.to_string()),
    )?;
    let dir = scratch.path("");
    let script = format!(
        "cd {dir} && rm -f hpccoutf.txt && \
         mpirun --allow-run-as-root --bind-to none -np {processes} hpcc && \
         awk -F= '/^HPL_Tflops/ {{ printf \"HPL_Gflops=%.6f\\n\", $2 * 1000 }}' hpccoutf.txt"
    );
    Ok(Job::of(&["sh", "-c", &script]))
}
