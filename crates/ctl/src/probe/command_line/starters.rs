//! Starters: programs that start another one in a new environment, without hugectl's settings.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::caller::Caller;
use crate::probe::command_line::wrappers::{file_name, layers};
use crate::probe::target;
use crate::request::Run;
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;
use crate::shell;

/// When a starter drops the environment, or `LD_PRELOAD`.
#[derive(Clone, Copy)]
enum Drops {
    Always,
    /// If one of these is an argument. Blanks separate them; `-x=y` also stands for `-x y`.
    With(&'static str),
    /// If none of these is.
    Without(&'static str),
}

/// How to start the program on huge pages instead.
#[derive(Clone, Copy)]
enum Cure {
    /// Let the starter start hugectl.
    Behind,
    /// Start hugectl in the container.
    Container,
    /// Start hugectl in the container, or add what `--emit` prints for this kind.
    Emit(&'static str),
    /// Put hugectl into the job's script.
    Job,
    /// Put a drop-in next to the unit.
    Unit,
    /// Put lines into the environment file of the PostgreSQL cluster.
    PostgresCluster,
}

/// Starters: names, when they drop the environment, and the cure.
const STARTERS: &[(&str, Drops, Cure)] = &[
    ("sudo doas pkexec ssh", Drops::Always, Cure::Behind),
    ("systemd-run", Drops::Without("--scope"), Cure::Behind),
    ("su runuser", Drops::With("- -l -lc --login"), Cure::Behind),
    (
        "env",
        Drops::With(
            "- -i --ignore-environment -u=LD_PRELOAD -uLD_PRELOAD --unset=LD_PRELOAD LD_PRELOAD=",
        ),
        Cure::Behind,
    ),
    ("setpriv", Drops::With("--reset-env"), Cure::Behind),
    ("bwrap", Drops::With("--clearenv"), Cure::Behind),
    (
        "nix nix-shell",
        Drops::With("--pure -i --ignore-environment"),
        Cure::Behind,
    ),
    ("pg_ctlcluster", Drops::Always, Cure::PostgresCluster),
    ("docker podman nerdctl", Drops::Always, Cure::Emit("docker")),
    ("kubectl", Drops::Always, Cure::Emit("kubernetes")),
    (
        "crun runc flatpak distrobox toolbox lxc-attach machinectl",
        Drops::Always,
        Cure::Container,
    ),
    (
        "apptainer singularity",
        Drops::With("-e --cleanenv -C --containall"),
        Cure::Container,
    ),
    (
        "systemctl service invoke-rc.d rc-service",
        Drops::Always,
        Cure::Unit,
    ),
    (
        "at batch cron crond crontab qsub condor_submit nomad",
        Drops::Always,
        Cure::Job,
    ),
    (
        "sbatch",
        Drops::With("--export=NONE --export=NIL"),
        Cure::Job,
    ),
];

/// Directories of running service managers: they start init scripts in a new environment.
const MANAGERS: [&str; 2] = ["/run/systemd/system", "/run/openrc"];

/// Returns a warning if the command line contains a starter that drops the environment.
pub(crate) fn warning(run: &Run, caller: &Caller) -> Option<Shortfall> {
    let is_program = |name: &OsStr| target::is_program(name, caller);
    let has_manager = || MANAGERS.iter().any(|dir| Path::new(dir).exists());
    let mut layers = layers(&run.command, &is_program);
    let (name, cure) = layers.find_map(|words| dropping(words, has_manager))?;
    let fact = format!(
        "{name} starts its program without this environment, so that program gets no huge pages"
    );
    let hugectl = shell::join(hugectl_words(run));
    Some(Shortfall::new(Subject::ALL, fact).advise(cure.advice(&name, &hugectl)))
}

/// Returns name and cure if these words are a starter that drops the environment, and its
/// arguments. An init script does so under a service manager.
fn dropping(words: &[OsString], has_manager: impl Fn() -> bool) -> Option<(String, Cure)> {
    let (first, arguments) = words.split_first()?;
    let name = file_name(first);
    let text = String::from_utf8_lossy(name).into_owned();
    if Path::new(first).parent()?.ends_with("init.d") && has_manager() {
        return Some((text, Cure::Unit));
    }
    let (_, drops, cure) = STARTERS.iter().find(|(names, ..)| is_in(name, names))?;
    let has = |options: &str| {
        let pairs = arguments.windows(2);
        let pairs = pairs.map(|pair| pair.join(OsStr::new("=")));
        let mut words = arguments.iter().cloned().chain(pairs);
        words.any(|word| is_in(word.as_bytes(), options))
    };
    let drops = match drops {
        Drops::Always => true,
        Drops::With(options) => has(options),
        Drops::Without(options) => !has(options),
    };
    drops.then_some((text, *cure))
}

/// Whether a word is in a list. An entry that ends in `=` stands for all words that begin so.
fn is_in(word: &[u8], list: &str) -> bool {
    list.split(' ').any(|known| match known.ends_with('=') {
        true => word.starts_with(known.as_bytes()),
        false => word == known.as_bytes(),
    })
}

impl Cure {
    /// Returns the cure as a sentence. `hugectl` is this call's command line without the program.
    fn advice(self, name: &str, hugectl: &str) -> String {
        let emitting = |kind: &str| {
            let options = hugectl.strip_prefix("hugectl").unwrap_or_default();
            format!("hugectl --emit={kind}{options}")
        };
        match self {
            Cure::Behind => format!("start hugectl behind it: {name} ... {hugectl} PROGRAM"),
            Cure::Container => format!(
                "start hugectl inside, before the program of the container: {hugectl} PROGRAM"
            ),
            Cure::Emit(kind) => format!(
                "start hugectl inside, before the program of the container, or add what this \
                 prints: {}",
                emitting(kind)
            ),
            Cure::Job => format!("in the job, put in front of its program: {hugectl}"),
            Cure::Unit => format!(
                "this prints a drop-in for the unit: {} UNIT; without systemd, this prints lines \
                 for /etc/default: {}",
                emitting("systemd"),
                emitting("environment")
            ),
            Cure::PostgresCluster => format!(
                "start the server without hugectl after this: {} \
                 >>/etc/postgresql/VERSION/CLUSTER/environment",
                emitting("environment")
            ),
        }
    }
}

/// Returns `hugectl` and the options of this call that concern the program.
fn hugectl_words(run: &Run) -> Vec<&OsStr> {
    let mut words = vec![OsStr::new("hugectl")];
    let mut options = run.options.iter();
    while let Some(option) = options.next() {
        match option.as_bytes() {
            b"--explain" | b"--dry-run" | b"--" => {}
            b"--sysroot" => _ = options.next(),
            word if word.starts_with(b"--sysroot=") => {}
            _ => words.push(option),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starters_that_drop_the_environment() {
        let advice = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let layer = layers(&words, &|word| word == "y").next()?;
            let (name, cure) = dropping(layer, || line != "/etc/init.d/plain start")?;
            Some(cure.advice(&name, "hugectl --shm"))
        };
        for (line, expected) in [
            ("sudo -u x y", "sudo ... hugectl --shm PROGRAM"),
            ("/bin/su - x -c y", "su ... hugectl --shm PROGRAM"),
            ("/bin/su -lc y x", "su ... hugectl --shm PROGRAM"),
            ("env -i A=b y", "env ... hugectl --shm PROGRAM"),
            ("env -u A -u LD_PRELOAD y", "env ... hugectl --shm PROGRAM"),
            ("env LD_PRELOAD=z y", "env ... hugectl --shm PROGRAM"),
            ("systemd-run y", "systemd-run ... hugectl --shm PROGRAM"),
            ("docker run x", "hugectl --emit=docker --shm"),
            ("systemctl start x", "hugectl --emit=systemd --shm UNIT"),
            ("/etc/init.d/x start", "--emit=environment --shm"),
            ("pg_ctlcluster 15 main start", "/CLUSTER/environment"),
            ("sbatch --export=NONE x", "in front of its program: hugectl"),
            ("sbatch --export NONE x", "in front of its program: hugectl"),
        ] {
            let advice = advice(line).expect(line);
            assert!(advice.contains(expected), "{line}: {advice}");
        }
        for line in [
            "su x -c y",
            "systemd-run --scope -p MemoryMax=1G y",
            "env A=b y -i",
            "env -u A y",
            "sbatch x",
            "y --reset-env",
            "/etc/init.d/plain start",
        ] {
            assert_eq!(advice(line), None, "{line}");
        }
    }
}
