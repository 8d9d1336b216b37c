//! Programs that start another one without the environment they have, and so
//! without anything that hugectl asks for; and the command that does instead.

mod files;
mod table;
mod words;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::caller::Caller;
use crate::probe::command_line::wrapped::{base, layers};
use crate::request::Run;
use crate::say::shortfall::{Remedy, Shortfall};
use crate::say::subject::Subject;
use crate::shell;

/// Directories that login shells, sudo and units look for programs in.
const EVERYWHERE: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin"];

/// What a starter is started with.
pub(crate) struct Start<'s> {
    command: &'s [OsString],
    /// `hugectl` and its options.
    hugectl: Vec<OsString>,
    /// Which words are programs.
    is_program: &'s dyn Fn(&OsStr) -> bool,
    /// Whether systemd starts what units and scripts name.
    has_systemd: bool,
    /// Where `/etc` is.
    etc: &'s Path,
    /// The name of the library that is to be preloaded.
    library: Option<&'s OsStr>,
    /// The socket of the caller's tmux server.
    tmux: PathBuf,
}

impl<'s> Start<'s> {
    /// Of a command line on this machine.
    pub(crate) fn new(
        run: &'s Run,
        caller: &Caller,
        is_program: &'s dyn Fn(&OsStr) -> bool,
        library: Option<&'s Path>,
    ) -> Start<'s> {
        Start {
            command: &run.command,
            hugectl: own_words(run, caller),
            is_program,
            has_systemd: Path::new("/run/systemd/system").is_dir(),
            etc: Path::new("/etc"),
            library: library.and_then(Path::file_name),
            tmux: tmux_socket(caller),
        }
    }
}

/// The socket of the tmux server that a plain `tmux` asks: tmux(1), `TMUX`, `TMUX_TMPDIR`.
fn tmux_socket(caller: &Caller) -> PathBuf {
    let inside = caller.var("TMUX").map(OsStr::as_bytes).unwrap_or_default();
    let current = inside.split(|byte| *byte == b',').next();
    if let Some(path) = current.filter(|path| !path.is_empty()) {
        return Path::new(OsStr::from_bytes(path)).to_owned();
    }
    let dir = caller.var("TMUX_TMPDIR").unwrap_or(OsStr::new("/tmp"));
    let user = format!("tmux-{}", caller.euid);
    Path::new(dir).join(user).join("default")
}

/// hugectl by a name that holds behind the starter too, and the options that are
/// about what starts.
fn own_words(run: &Run, caller: &Caller) -> Vec<OsString> {
    let is_everywhere = |exe: &&Path| {
        let dir = exe.parent().unwrap_or(Path::new("/"));
        EVERYWHERE.iter().any(|known| dir == Path::new(known))
    };
    let exe = caller.exe.as_deref().filter(|exe| !is_everywhere(exe));
    let mut words = vec![exe.map_or("hugectl".into(), |exe| exe.as_os_str().to_owned())];
    let mut options = run.options.iter();
    while let Some(option) = options.next() {
        let bytes = option.as_bytes();
        if bytes == b"--sysroot" {
            options.next();
        }
        // Abbreviations, too.
        let of_a_look: [&[u8]; 3] = [b"--expl", b"--dry", b"--sys"];
        let is_of_a_look = of_a_look.iter().any(|begin| bytes.starts_with(begin));
        if !is_of_a_look && bytes != b"--" {
            words.push(option.clone());
        }
    }
    words
}

/// A starter in a command line.
struct Scene<'s> {
    start: &'s Start<'s>,
    /// The words in front of it.
    before: &'s [OsString],
    /// It and its arguments.
    words: &'s [OsString],
}

impl Scene<'_> {
    fn name(&self) -> &[u8] {
        self.words.first().map_or(&[], |name| base(name))
    }

    /// The command line with hugectl at a place of the starter's arguments.
    fn behind(&self, at: usize) -> Remedy {
        let (starter, program) = self.words.split_at(at);
        let words = [self.before, starter, &self.start.hugectl, program].concat();
        command("start hugectl behind it", shell::line(words))
    }

    fn options(&self) -> String {
        shell::line(&self.start.hugectl)
    }

    /// hugectl with its options, so that it prints what tells a service, or a
    /// container, of all this.
    fn emitting(&self, kind: &str) -> String {
        // What has no meaning where nothing is started.
        const OF_A_START: [&[u8]; 4] = [b"--report", b"--json", b"--no-inherit", b"--thp-policy"];
        let is_left = |word: &&OsString| {
            let bytes = word.as_bytes();
            !OF_A_START.iter().any(|begin| bytes.starts_with(begin))
        };
        let words = self.start.hugectl.iter().filter(is_left);
        let mut words: Vec<OsString> = words.cloned().collect();
        words.insert(1, format!("--emit={kind}").into());
        shell::line(words)
    }
}

fn command(purpose: &'static str, command: String) -> Remedy {
    Remedy::Command { purpose, command }
}

/// What is to be said where something in the command line drops the
/// environment.
pub(crate) fn warning(start: &Start<'_>) -> Option<Shortfall> {
    layers(start.command, start.is_program).find_map(|words| {
        let before = start.command.len().saturating_sub(words.len());
        let scene = Scene {
            start,
            before: start.command.get(..before)?,
            words,
        };
        let remedy = table::instead(&scene)?;
        let fact = format!(
            "{} starts its program without this environment, so nothing of that goes on huge pages",
            String::from_utf8_lossy(scene.name())
        );
        Some(Shortfall::new(Subject::ALL, fact).remedy(remedy))
    })
}

/// What is to be said where something in the command line changes the root, and the
/// library that is to be preloaded is not below the new one.
pub(crate) fn lost_in_new_root(
    command: &[OsString],
    is_program: &dyn Fn(&OsStr) -> bool,
    library: &Path,
) -> Option<Shortfall> {
    layers(command, is_program).find_map(|command| {
        let (name, words) = command.split_first()?;
        let mut plain = words
            .iter()
            .filter(|word| !word.as_bytes().starts_with(b"-"));
        let root = Path::new(plain.next().filter(|_| base(name) == b"chroot")?);
        let inside = root.join(library.strip_prefix("/").ok()?);
        (root.is_dir() && !inside.exists()).then(|| {
            let (root, library) = (root.display(), library.display());
            let fact = format!(
                "{root} has no {library}, so nothing of what is started there goes on huge pages"
            );
            Shortfall::new(Subject::ALL, fact).advise(format!(
                "copy the library there, or start hugectl in it: \
                 chroot {root} hugectl OPTIONS PROGRAM"
            ))
        })
    })
}

#[cfg(test)]
mod tests;
