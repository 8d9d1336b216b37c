//! The starters that are known: when they drop the environment, and what does
//! instead.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::words::{Options, is_login, script_of};
use super::{Scene, command, files};
use crate::say::shortfall::Remedy;
use crate::shell;

/// What drops the environment, and what does it instead.
struct Starter {
    names: &'static [&'static str],
    /// `None` where it does not drop it.
    instead: fn(&Scene<'_>) -> Option<Remedy>,
}

const STARTERS: &[Starter] = &[
    Starter {
        names: &["pg_ctlcluster"],
        instead: |scene| files::postgresql(scene, &[files::cluster(scene.words)]),
    },
    Starter {
        names: &["su", "runuser"],
        instead: login_shell,
    },
    Starter {
        names: &["sudo", "doas", "pkexec", "systemd-run", "ssh"],
        instead: |scene| Some(behind(scene)),
    },
    Starter {
        names: &["env", "setpriv"],
        instead: clearing,
    },
    Starter {
        names: &["docker", "podman", "nerdctl"],
        instead: |scene| Some(container(scene, "docker")),
    },
    Starter {
        names: &["kubectl"],
        instead: |scene| Some(container(scene, "kubernetes")),
    },
    Starter {
        names: &[
            "crun",
            "distrobox",
            "distrobox-enter",
            "flatpak",
            "lxc-attach",
            "machinectl",
            "runc",
            "toolbox",
        ],
        instead: |_| Some(inside()),
    },
    Starter {
        names: &["apptainer", "singularity"],
        instead: |scene| cleared(scene, &["-e", "--cleanenv", "-C", "--containall"], inside),
    },
    Starter {
        names: &["bwrap"],
        instead: |scene| cleared(scene, &["--clearenv"], || unplaced(scene)),
    },
    Starter {
        names: &["nix", "nix-shell"],
        instead: |scene| {
            let clear = ["--pure", "-i", "--ignore-environment", "--ignore-env"];
            cleared(scene, &clear, || in_shell(scene))
        },
    },
    Starter {
        names: &["tmux"],
        instead: running_tmux,
    },
    Starter {
        names: &["bazel", "bazelisk"],
        instead: |scene| {
            let options = shell::line([scene.options()]);
            Some(Remedy::Advice(format!(
                "start it with --run_under={options}"
            )))
        },
    },
    Starter {
        names: &["systemctl"],
        instead: |scene| Some(unit(scene, plain(scene).nth(1))),
    },
    Starter {
        names: &["service", "invoke-rc.d", "rc-service"],
        instead: |scene| Some(service(scene)),
    },
    Starter {
        names: &[
            "anacron",
            "at",
            "atd",
            "batch",
            "condor_submit",
            "cron",
            "crond",
            "crontab",
            "nomad",
            "supervisorctl",
        ],
        instead: |scene| Some(in_job(scene)),
    },
    Starter {
        names: &["qsub"],
        instead: |scene| (!has_option(scene, &["-V"])).then(|| in_job(scene)),
    },
    Starter {
        names: &["sbatch"],
        instead: |scene| cleared(scene, &["--export=NONE", "--export=NIL"], || in_job(scene)),
    },
];

/// What does instead of the starter that a command line begins with, if it drops
/// the environment.
pub(super) fn instead(scene: &Scene<'_>) -> Option<Remedy> {
    let is_it = |known: &&str| known.as_bytes() == scene.name();
    let mut starters = STARTERS.iter();
    match starters.find(|starter| starter.names.iter().any(is_it)) {
        Some(starter) => (starter.instead)(scene),
        None => init_script(scene),
    }
}

/// The words behind the name that are no options.
fn plain<'w>(scene: &Scene<'w>) -> impl Iterator<Item = &'w OsStr> {
    let words = scene.words.iter().skip(1).map(OsString::as_os_str);
    words.filter(|word| !word.as_bytes().starts_with(b"-"))
}

fn behind(scene: &Scene<'_>) -> Remedy {
    match Options::of(scene.name()).program_at(scene.words) {
        Some(at) => scene.behind(at),
        None => unplaced(scene),
    }
}

/// The same where the place of the program is unknown.
fn unplaced(scene: &Scene<'_>) -> Remedy {
    let name = String::from_utf8_lossy(scene.name());
    let options = scene.options();
    Remedy::Advice(format!("start hugectl behind it: {name} {options} PROGRAM"))
}

/// What starts a container whose files are its own.
fn inside() -> Remedy {
    let advice = "start hugectl inside, before the program of the container";
    Remedy::Advice(advice.to_owned())
}

/// A shell with an environment of its own.
fn in_shell(scene: &Scene<'_>) -> Remedy {
    let options = scene.options();
    Remedy::Advice(format!("start hugectl in that shell: {options} PROGRAM"))
}

/// A job or a service that a daemon starts.
fn in_job(scene: &Scene<'_>) -> Remedy {
    let options = scene.options();
    Remedy::Advice(format!(
        "in the job, put in front of its program: {options}"
    ))
}

/// Whether one of the arguments is one of these options. Programs whose own arguments
/// have such a name are rare enough.
fn has_option(scene: &Scene<'_>, options: &[&str]) -> bool {
    let mut words = scene.words.iter().skip(1);
    words.any(|word| options.iter().any(|option| word == option))
}

/// Starters that keep the environment unless an option clears it.
fn cleared(
    scene: &Scene<'_>,
    options: &[&str],
    instead: impl FnOnce() -> Remedy,
) -> Option<Remedy> {
    has_option(scene, options).then(instead)
}

/// A tmux whose server runs already, with the environment that it was started with.
fn running_tmux(scene: &Scene<'_>) -> Option<Remedy> {
    if !files::answers(&tmux_socket(scene)?) {
        return None;
    }
    let words = scene.words.iter();
    let command = Options::of(b"tmux").program_at(scene.words)?;
    let starts = |word: &OsStr| STARTING_TMUX.iter().any(|name| word == *name);
    if !starts(scene.words.get(command)?) {
        return None;
    }
    let after: Vec<OsString> = words.skip(command).cloned().collect();
    match Options::of(b"tmux new-session").program_at(&after) {
        // A single word is a script.
        Some(at) if at + 1 == after.len() => {
            let at = command + at;
            let script = scene.words.get(at)?;
            Some(in_script(scene, at, OsStr::new(""), script))
        }
        Some(at) => Some(scene.behind(command + at)),
        None => Some(in_shell(scene)),
    }
}

/// Commands of tmux that start a program.
const STARTING_TMUX: [&str; 10] = [
    "new",
    "new-session",
    "new-window",
    "neww",
    "respawn-pane",
    "respawnp",
    "respawn-window",
    "respawnw",
    "split-window",
    "splitw",
];

/// The socket of the server that a tmux asks.
fn tmux_socket(scene: &Scene<'_>) -> Option<PathBuf> {
    let words = scene.words;
    let value = |option: &str| {
        let at = words.iter().position(|word| word == option)?;
        words.get(at + 1)
    };
    let server = &scene.start.tmux;
    match (value("-S"), value("-L")) {
        (Some(path), _) => Some(path.into()),
        (None, Some(name)) => Some(server.with_file_name(name)),
        (None, None) => Some(server.clone()),
    }
}

/// Programs that keep the environment unless they are told to clear it.
fn clearing(scene: &Scene<'_>) -> Option<Remedy> {
    const CLEAR: &[&str] = &["-", "-i", "--ignore-environment", "--reset-env"];
    let clears = |word: &OsString| CLEAR.iter().any(|known| word == known);
    let program = Options::of(scene.name()).program_at(scene.words);
    let options = scene.words.get(..program.unwrap_or(scene.words.len()))?;
    options.iter().any(clears).then(|| behind(scene))
}

/// `su -` and the like, and what they are to run.
fn login_shell(scene: &Scene<'_>) -> Option<Remedy> {
    if !scene.words.iter().any(|word| is_login(word)) {
        return None;
    }
    let Some((at, begin, script)) = script_of(scene.words) else {
        return Some(in_shell(scene));
    };
    Some(in_script(scene, at, begin, script))
}

/// The command line with hugectl in front of the shell script at the end of one of the
/// arguments, behind `begin`.
fn in_script(scene: &Scene<'_>, at: usize, begin: &OsStr, script: &OsStr) -> Remedy {
    let options = scene.options();
    let script = match shell::is_one_command(script) {
        true => script.to_string_lossy().into_owned(),
        false => shell::line([OsStr::new("sh"), OsStr::new("-c"), script]),
    };
    let mut words = scene.words.to_vec();
    if let Some(word) = words.get_mut(at) {
        *word = begin.to_owned();
        word.push(format!("{options} {script}"));
    }
    let words = [scene.before, &words].concat();
    command("start hugectl in that shell", shell::line(words))
}

/// What tells a unit, from its next start on.
fn unit(scene: &Scene<'_>, name: Option<&OsStr>) -> Remedy {
    let name = name.map_or("UNIT".into(), |name| shell::line([name]));
    let emitting = scene.emitting("systemd");
    Remedy::Advice(format!(
        "what tells the unit, and where that goes, is printed by: {emitting} {name}"
    ))
}

/// What tells those that start containers.
fn container(scene: &Scene<'_>, kind: &str) -> Remedy {
    let emitting = scene.emitting(kind);
    Remedy::Advice(format!(
        "start hugectl inside, before the program of the container, or tell it what this prints: \
         {emitting}"
    ))
}

/// `service NAME start` clears the environment; the script itself has it.
fn service(scene: &Scene<'_>) -> Remedy {
    let mut words = plain(scene);
    let name = words.next();
    let Some(script) = name.filter(|_| !scene.start.has_systemd) else {
        return unit(scene, name);
    };
    let script = Path::new("/etc/init.d").join(script);
    let words: Vec<OsString> = words.map(OsStr::to_owned).collect();
    let hugectl = scene.start.hugectl.as_slice();
    let line = [hugectl, scene.before, &[script.into()], &words].concat();
    command(
        "start the script itself (for each boot, hugectl --emit=environment prints what \
         /etc/default has to export)",
        shell::line(line),
    )
}

/// A script in `/etc/init.d`, where systemd starts it in its own way, or it clears
/// the environment itself.
fn init_script(scene: &Scene<'_>) -> Option<Remedy> {
    let path = Path::new(scene.words.first()?);
    if !path.parent()?.ends_with("init.d") {
        return None;
    }
    if scene.start.has_systemd {
        return Some(unit(scene, path.file_name()));
    }
    if scene.name() == b"postgresql" {
        return files::postgresql(scene, &files::clusters(scene.start.etc));
    }
    if !files::has_line_with(path, b"env -i") {
        return None;
    }
    let options = scene.options();
    if scene.name() == b"apache2" {
        let action = shell::line(scene.words.get(1));
        let line = format!("{options} apache2ctl {action}");
        return Some(command("start without the script", line));
    }
    Some(Remedy::Advice(format!(
        "start without the script what it starts (it calls env -i): {options} PROGRAM"
    )))
}
