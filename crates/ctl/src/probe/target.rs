//! The program that will run, found as `execvp(3)` finds it.

pub(crate) mod elf_layout;
mod image;
mod shebang;

pub(crate) use image::{Image, Libc, SecureExec};

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hugetools_elf::Elf;
use hugetools_model::root::error::{describe, describe_errno};
use nix::sys::statvfs::{FsFlags, Statvfs, statvfs};
use nix::unistd::AccessFlags;

use crate::caller::Caller;
use crate::files;
use crate::probe::target::elf_layout::Layout;
use crate::probe::target::shebang::{HEAD, Head, MOST_SCRIPTS};
use crate::say::failure::Failure;

/// The shell that runs text files without `#!`.
pub(crate) const SHELL: &str = "/bin/sh";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    /// Whether it is text without `#!`, which the shell runs if the kernel doesn't.
    pub(crate) is_text: bool,
    /// The program that runs in the end: the file itself, or the last interpreter.
    pub(crate) program: PathBuf,
    /// The scripts and interpreters that lead to it, the started file first.
    pub(crate) through: Vec<PathBuf>,
    pub(crate) image: Image,
    /// Its segments; none if its headers cannot be read.
    pub(crate) layout: Layout,
    /// Why its loader ignores the user's settings, if it does.
    pub(crate) secure_exec: Option<SecureExec>,
}

/// A target whose program is open.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) target: Target,
    /// The program, if its headers can be read.
    pub(crate) elf: Option<Elf>,
}

/// Why one candidate cannot run.
#[derive(Debug)]
struct Refused {
    errno: i32,
    text: String,
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

    fn io(error: &io::Error, path: &Path) -> Refused {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        Refused::new(
            errno,
            format!("{}: {}", path.display(), describe_errno(errno)),
        )
    }

    /// Whether `execvp(3)` continues with the next directory.
    fn continues_search(&self) -> bool {
        use libc::{EACCES, ENODEV, ENOENT, ENOTDIR, ESTALE, ETIMEDOUT};
        [EACCES, ENODEV, ENOENT, ENOTDIR, ESTALE, ETIMEDOUT].contains(&self.errno)
    }

    fn failure(self, name: &OsStr) -> Failure {
        let (name, text) = (Path::new(name).display(), self.text);
        match self.errno {
            libc::ENOENT if self.is_absent => {
                Failure::NotFound(format!("cannot find {name}: {text}"))
            }
            libc::ENOENT => Failure::NotFound(format!("cannot run {name}: {text}")),
            _ => Failure::CannotRun(format!("cannot run {name}: {text}")),
        }
    }
}

/// Whether a name is a path, so that `PATH` is not searched.
fn is_path(name: &OsStr) -> bool {
    name.as_bytes().contains(&b'/')
}

/// Returns the files that a name may mean, in order. An empty entry of `PATH` means `.`.
fn candidates(name: &OsStr, path: Option<&OsStr>) -> impl Iterator<Item = PathBuf> {
    /// The directories to search without `PATH`.
    const WITHOUT_PATH: &str = "/bin:/usr/bin";
    let dirs = match is_path(name) {
        true => vec![PathBuf::new()],
        false => {
            let path = path.unwrap_or(OsStr::new(WITHOUT_PATH));
            let dirs = path.as_bytes().split(|byte| *byte == b':');
            dirs.map(|dir| match dir {
                b"" => PathBuf::from("."),
                dir => PathBuf::from(OsStr::from_bytes(dir)),
            })
            .collect()
        }
    };
    let name = Path::new(name).to_owned();
    dirs.into_iter().map(move |dir| dir.join(&name))
}

/// Finds and opens the program `name`.
///
/// # Errors
/// It cannot be run. The exit status is that of `env`.
pub(crate) fn open(name: &OsStr, caller: &Caller) -> Result<Opened, Failure> {
    let mut refused: Option<Refused> = None;
    for candidate in candidates(name, caller.var("PATH")) {
        match look(&candidate, caller) {
            Ok(opened) => return Ok(opened),
            Err(error) if error.continues_search() => {
                // An existing file that cannot run makes the better message.
                if refused.as_ref().is_none_or(|old| old.is_absent) {
                    refused = Some(error);
                }
            }
            Err(error) => return Err(error.failure(name)),
        }
    }
    Err(match refused {
        Some(refused) if is_path(name) || !refused.is_absent => refused.failure(name),
        _ => {
            let name = Path::new(name).display();
            Failure::NotFound(format!("cannot find {name}: no directory of PATH holds it"))
        }
    })
}

/// Whether a program of this name can be found.
pub(crate) fn is_program(name: &OsStr, caller: &Caller) -> bool {
    candidates(name, caller.var("PATH")).any(|path| may_run(&path))
}

fn may_run(path: &Path) -> bool {
    path.is_file() && files::may(path, AccessFlags::X_OK).is_ok()
}

/// Follows one file through all scripts to the program.
fn look(path: &Path, caller: &Caller) -> Result<Opened, Refused> {
    let mut walk = Walk {
        caller,
        is_text: false,
        program: path.to_owned(),
        through: Vec::new(),
    };
    for _ in 0..=MOST_SCRIPTS {
        if let Some(opened) = walk.step()? {
            return Ok(opened);
        }
    }
    let text = format!("more than {MOST_SCRIPTS} scripts lead from one to the next");
    Err(Refused::new(libc::ELOOP, text))
}

struct Walk<'c> {
    caller: &'c Caller,
    is_text: bool,
    program: PathBuf,
    through: Vec<PathBuf>,
}

impl Walk<'_> {
    /// Looks at one file. Returns `None` if it leads to another.
    fn step(&mut self) -> Result<Option<Opened>, Refused> {
        let (mut file, metadata) = match files::open_regular(&self.program) {
            Ok(opened) => opened,
            Err(error) => return self.unreadable(&error).map(Some),
        };
        self.check_executable()?;
        let mut head = Vec::with_capacity(HEAD);
        let read = file.by_ref().take(HEAD as u64).read_to_end(&mut head);
        read.map_err(|error| Refused::io(&error, &self.program))?;
        match shebang::parse(&head) {
            Head::Script(line) => self.enter(&line)?,
            Head::Text if self.is_text || self.program == Path::new(SHELL) => {
                let image = Image::Unknown("neither a program nor a script".to_owned());
                return Ok(Some(self.end(image)));
            }
            Head::Text => {
                self.is_text = true;
                self.continue_with(PathBuf::from(SHELL));
            }
            Head::Elf => {
                let mut opened = self.read_headers(file)?;
                opened.target.secure_exec =
                    image::secure_exec(&self.program, &metadata, self.caller);
                return Ok(Some(opened));
            }
        }
        Ok(None)
    }

    /// Returns the target of a file that cannot be opened: it may be executable all the same.
    fn unreadable(&self, error: &io::Error) -> Result<Opened, Refused> {
        let name = self.program.display();
        let metadata = self.program.metadata();
        let metadata = metadata.map_err(|error| self.missing(&error))?;
        let text = match (metadata.is_dir(), metadata.is_file()) {
            (true, _) => format!("{name} is a directory"),
            (_, false) => format!("{name} is no plain file"),
            (false, true) => {
                self.check_executable()?;
                let mut opened = self.end(Image::Unknown(describe(error)));
                opened.target.secure_exec =
                    image::secure_exec(&self.program, &metadata, self.caller);
                return Ok(opened);
            }
        };
        Err(Refused::new(libc::EACCES, text))
    }

    fn read_headers(&self, file: File) -> Result<Opened, Refused> {
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
            path: self.through.first().unwrap_or(&self.program).clone(),
            is_text: self.is_text,
            program: self.program.clone(),
            through: self.through.clone(),
            image,
            layout: Layout::default(),
            secure_exec: None,
        };
        Opened { target, elf: None }
    }

    fn check_executable(&self) -> Result<(), Refused> {
        let path = &self.program;
        if files::may(path, AccessFlags::X_OK).is_ok() {
            return Ok(());
        }
        let name = path.display();
        let is_noexec = |fs: Statvfs| fs.flags().contains(FsFlags::ST_NOEXEC);
        let text = match statvfs(path).is_ok_and(is_noexec) {
            true => format!(
                "{name} is on a noexec mount\n  findmnt -T {name} shows the mount; \
                 mount -o remount,exec allows programs on it"
            ),
            false => format!("{name} is not executable"),
        };
        Err(Refused::new(libc::EACCES, text))
    }

    fn missing(&self, error: &io::Error) -> Refused {
        let mut refused = Refused::io(error, &self.program);
        if self.through.is_empty() {
            refused.text = describe_errno(refused.errno);
            refused.is_absent = true;
        } else {
            // Quoted: a script from DOS has a carriage return in its name.
            let why = describe_errno(refused.errno);
            refused.text = format!("its interpreter {:?}: {why}", self.program);
        }
        refused
    }

    /// Continues with the interpreter of a script, or with the program that `env` would find.
    fn enter(&mut self, line: &shebang::Line) -> Result<(), Refused> {
        self.continue_with(line.interpreter.clone());
        let name = line.argument.as_deref().and_then(env_program);
        let is_env = self.program.file_name() == Some(OsStr::new("env"));
        let Some(name) = name.filter(|_| is_env) else {
            return Ok(());
        };
        // The kernel runs env first, so without env the script fails.
        if !may_run(&self.program) {
            return Ok(());
        }
        let mut candidates = candidates(&name, self.caller.var("PATH"));
        if let Some(found) = candidates.find(|candidate| may_run(candidate)) {
            self.continue_with(found);
        }
        Ok(())
    }

    fn continue_with(&mut self, program: PathBuf) {
        let before = std::mem::replace(&mut self.program, program);
        self.through.push(before);
    }
}

/// Returns the program in the argument of `#!/usr/bin/env`: `NAME`, or `-S NAME ...`.
fn env_program(argument: &OsStr) -> Option<OsString> {
    let text = argument.to_str()?;
    let words = text.strip_prefix("-S").unwrap_or(text);
    let name = words.split_ascii_whitespace().next()?;
    let is_plain = !name.starts_with('-') && !name.contains(['=', '$', '\\', '"', '\'']);
    is_plain.then(|| OsString::from(name))
}

#[cfg(test)]
mod tests;
