//! What will run: found as `execvp(3)` finds it, then looked at.

pub mod elf_layout;
mod image;
mod search;
mod shebang;

pub use image::{Image, Libc, Secure};

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use hugetools_elf::Elf;
use hugetools_model::root::error::describe_errno;
use nix::unistd::AccessFlags;

use crate::caller::Caller;
use crate::files::{self, access};
use crate::probe::target::elf_layout::Layout;
use crate::probe::target::shebang::{DEEPEST, Head, LOOKED_AT};
use crate::say::failure::Failure;

/// The shell that runs files which are neither programs nor name one.
pub const SHELL: &str = "/bin/sh";

/// What will run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The file that is started.
    pub path: PathBuf,
    /// Whether it is text that names no interpreter: should the kernel not
    /// take it, the shell does.
    pub is_text: bool,
    /// The program that runs in the end: the file itself, or the last of the
    /// interpreters that it leads to.
    pub program: PathBuf,
    /// The files that lead to it, the first one first; none where it is that
    /// itself.
    pub through: Vec<PathBuf>,
    /// What that program is.
    pub image: Image,
    /// What its headers say of its segments; nothing where they cannot be read.
    pub layout: Layout,
    /// Why the loader ignores what the user tells it, if it does.
    pub secure: Option<Secure>,
}

/// A target with its program open, for all who look into it.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The target.
    pub(crate) target: Target,
    /// The program that runs in the end, where its headers can be read.
    pub(crate) elf: Option<Elf<File>>,
}

/// Why one candidate cannot run.
#[derive(Debug)]
struct Refused {
    errno: i32,
    text: String,
    /// Whether there is no such candidate, rather than one that cannot run.
    is_absent: bool,
}

impl Refused {
    fn new(errno: i32, text: impl Into<String>) -> Refused {
        Refused {
            errno,
            text: text.into(),
            is_absent: false,
        }
    }

    fn absent(mut self) -> Refused {
        self.is_absent = true;
        self
    }

    fn io(path: &Path, error: &io::Error) -> Refused {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        Refused::new(
            errno,
            format!("{}: {}", path.display(), describe_errno(errno)),
        )
    }

    /// Whether `execvp(3)` goes on with the next directory.
    fn lets_search_go_on(&self) -> bool {
        const GO_ON: [i32; 6] = [
            libc::EACCES,
            libc::ENOENT,
            libc::ENOTDIR,
            libc::ESTALE,
            libc::ENODEV,
            libc::ETIMEDOUT,
        ];
        GO_ON.contains(&self.errno)
    }

    fn failure(self, name: &OsStr) -> Failure {
        let name = Path::new(name).display();
        match self.errno {
            libc::ENOENT if self.is_absent => {
                Failure::NotFound(format!("cannot find {name}: {}", self.text))
            }
            libc::ENOENT => Failure::NotFound(format!("cannot run {name}: {}", self.text)),
            _ => Failure::CannotRun(format!("cannot run {name}: {}", self.text)),
        }
    }
}

/// Finds the program `name` and looks at it.
///
/// # Errors
/// When it cannot be run, with the status that `env` would end with.
pub fn find(name: &OsStr, caller: &Caller) -> Result<Target, Failure> {
    open(name, caller).map(|opened| opened.target)
}

/// The same, and keeps the program open.
pub(crate) fn open(name: &OsStr, caller: &Caller) -> Result<Opened, Failure> {
    let mut refused: Option<Refused> = None;
    for candidate in search::candidates(name, caller.var("PATH")) {
        match look(&candidate, caller) {
            Ok(opened) => return Ok(opened),
            Err(error) if error.lets_search_go_on() => {
                // What is there and cannot run says more than what is not.
                if refused.as_ref().is_none_or(|old| old.is_absent) {
                    refused = Some(error);
                }
            }
            Err(error) => return Err(error.failure(name)),
        }
    }
    Err(match refused {
        Some(refused) if search::is_path(name) || !refused.is_absent => refused.failure(name),
        _ => Refused::new(libc::ENOENT, "no directory of PATH holds it")
            .absent()
            .failure(name),
    })
}

/// Whether a name is that of a program that can be found.
pub(crate) fn is_program(name: &OsStr, caller: &Caller) -> bool {
    search::candidates(name, caller.var("PATH")).any(|path| may_run(&path))
}

/// Whether a file is one that can be executed.
fn may_run(path: &Path) -> bool {
    path.is_file() && access::may(path, AccessFlags::X_OK).is_ok()
}

/// Looks at one file: through all scripts to the program.
fn look(path: &Path, caller: &Caller) -> Result<Opened, Refused> {
    let mut walk = Walk {
        caller,
        path: path.to_owned(),
        is_text: false,
        program: path.to_owned(),
        through: Vec::new(),
    };
    for _ in 0..=DEEPEST {
        if let Some(opened) = walk.step()? {
            return Ok(opened);
        }
    }
    Err(Refused::new(
        libc::ELOOP,
        format!("more than {DEEPEST} scripts lead from one to the next"),
    ))
}

/// A walk from interpreter to interpreter.
struct Walk<'c> {
    caller: &'c Caller,
    path: PathBuf,
    is_text: bool,
    program: PathBuf,
    through: Vec<PathBuf>,
}

impl Walk<'_> {
    /// Looks at one file; `None` when it leads to another.
    fn step(&mut self) -> Result<Option<Opened>, Refused> {
        self.check_executable()?;
        let (mut file, metadata) = match files::open_regular(&self.program) {
            Ok(opened) => opened,
            // It may be executable without being readable.
            Err(error) => {
                let why = error.raw_os_error().map(describe_errno);
                let why = why.unwrap_or_else(|| error.to_string());
                return Ok(Some(self.end(Image::Unknown(why))));
            }
        };
        let mut head = [0; LOOKED_AT];
        let read =
            read_head(&mut file, &mut head).map_err(|error| Refused::io(&self.program, &error))?;
        match shebang::parse(&head[..read]) {
            Head::Script(line) => {
                self.enter(&line)?;
                Ok(None)
            }
            Head::Text if self.is_text || self.program == Path::new(SHELL) => {
                let image = Image::Unknown("neither a program nor a script".to_owned());
                Ok(Some(self.end(image)))
            }
            Head::Text => {
                self.is_text = true;
                self.go_on(PathBuf::from(SHELL));
                Ok(None)
            }
            Head::Elf => {
                let secure = image::secure(&self.program, &metadata, self.caller);
                let mut opened = self.headers(file)?;
                opened.target.secure = secure;
                Ok(Some(opened))
            }
        }
    }

    /// What the headers of a program say.
    fn headers(&self, file: File) -> Result<Opened, Refused> {
        let elf = match Elf::read(file) {
            Ok(elf) => elf,
            Err(error) => return Ok(self.end(Image::Unknown(error.to_string()))),
        };
        let mut opened = self.end(image::classify(&self.program, &elf)?);
        opened.target.layout = Layout::of(&elf);
        opened.elf = Some(elf);
        Ok(opened)
    }

    fn end(&self, image: Image) -> Opened {
        let target = Target {
            path: self.path.clone(),
            is_text: self.is_text,
            program: self.program.clone(),
            through: self.through.clone(),
            image,
            layout: Layout::default(),
            secure: None,
        };
        Opened { target, elf: None }
    }

    /// What the kernel checks first.
    fn check_executable(&self) -> Result<(), Refused> {
        let path = &self.program;
        let metadata = std::fs::metadata(path).map_err(|error| self.missing(&error))?;
        if metadata.is_dir() {
            let text = format!("{} is a directory", path.display());
            return Err(Refused::new(libc::EACCES, text));
        }
        if metadata.is_file() && access::may(path, AccessFlags::X_OK).is_ok() {
            return Ok(());
        }
        let name = path.display();
        let text = match metadata.is_file() {
            false => format!("{name} is no plain file"),
            true if is_noexec(path) => format!(
                "{name} lies on a mount from which no program runs (noexec)\n  findmnt -T {name} \
                 names it, and mount -o remount,exec lets them run"
            ),
            true => format!("{name} is not executable"),
        };
        Err(Refused::new(libc::EACCES, text))
    }

    fn missing(&self, error: &io::Error) -> Refused {
        let mut refused = Refused::io(&self.program, error);
        if self.program == self.path {
            refused.text = describe_errno(refused.errno);
            return refused.absent();
        }
        let name = self.program.display().to_string();
        refused.text = match name.strip_suffix('\r') {
            Some(name) => format!(
                "its interpreter {name} is not meant: the first line of the script ends in a \
                 carriage return"
            ),
            None => format!("its interpreter {}", refused.text),
        };
        refused
    }

    /// Goes on with the interpreter of a script; with the program that `env`
    /// is told to find, where that is plain.
    fn enter(&mut self, line: &shebang::Line) -> Result<(), Refused> {
        self.go_on(line.interpreter.clone());
        let Some(name) = line.argument.as_deref().and_then(env_program) else {
            return Ok(());
        };
        if self.program.file_name() != Some(OsStr::new("env")) {
            return Ok(());
        }
        self.check_executable()?;
        let path = self.caller.var("PATH");
        let found = search::candidates(&name, path).find(|candidate| may_run(candidate));
        if let Some(found) = found {
            self.go_on(found);
        }
        Ok(())
    }

    fn go_on(&mut self, program: PathBuf) {
        let before = std::mem::replace(&mut self.program, program);
        self.through.push(before);
    }
}

/// The program in the argument of `#!/usr/bin/env`, where it is plain which:
/// `NAME`, or `-S NAME …` without a variable.
fn env_program(argument: &OsStr) -> Option<OsString> {
    let text = argument.to_str()?;
    let words = text.strip_prefix("-S").unwrap_or(text);
    let name = words.split_ascii_whitespace().next()?;
    let plain = !name.starts_with('-') && !name.contains(['=', '$', '\\', '"', '\'']);
    plain.then(|| OsString::from(name))
}

fn read_head(file: &mut impl Read, head: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < head.len() {
        match file.read(&mut head[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// Whether programs of its mount may not be executed.
fn is_noexec(path: &Path) -> bool {
    use nix::sys::statvfs::{FsFlags, statvfs};
    statvfs(path).is_ok_and(|fs| fs.flags().contains(FsFlags::ST_NOEXEC))
}

#[cfg(test)]
mod tests;
