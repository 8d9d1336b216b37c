//! Programs whose memory is not malloc's: virtual machines, and allocators that
//! ask the kernel themselves. What `--heap` does not reach of them is said before
//! the start, with the program's own switch.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use hugetools_elf::Elf;

use crate::caller::Caller;
use crate::files;
use crate::preflight::Subject;
use crate::shortfall::Shortfall;
use crate::target;
use crate::wrapped::{base, layers};

/// What a program manages itself, and what puts that on huge pages.
#[derive(Debug, PartialEq, Eq)]
struct Runtime {
    name: &'static str,
    /// What is not reached.
    memory: &'static str,
    /// What reaches it.
    instead: &'static str,
    by: &'static [By],
}

/// How a program is known.
#[derive(Debug, PartialEq, Eq)]
enum By {
    /// Its file's name, or one that begins so before a version.
    Name(&'static str),
    /// A library that it needs; its name begins so.
    Needs(&'static str),
    /// A symbol that it shows to others.
    Defines(&'static str),
    /// What Go writes at the start of the data.
    GoBuild,
}

const ALWAYS: &str = "hugeadm --thp-always reaches it";

const RUNTIMES: &[Runtime] = &[
    Runtime {
        name: "Go",
        memory: "Go's own heap",
        instead: ALWAYS,
        by: &[By::GoBuild],
    },
    Runtime {
        name: "Java",
        memory: "the Java heap",
        instead: "java -XX:+UseTransparentHugePages, or -XX:+UseLargePages with a pool",
        by: &[By::Needs("libjli.so"), By::Needs("libjvm.so")],
    },
    Runtime {
        name: "Node.js",
        memory: "the heap of JavaScript",
        instead: ALWAYS,
        by: &[
            By::Name("node"),
            By::Name("nodejs"),
            By::Needs("libnode.so"),
        ],
    },
    Runtime {
        name: "PHP",
        memory: "the memory of PHP scripts",
        instead: "USE_ZEND_ALLOC_HUGE_PAGES=1 in its environment",
        by: &[By::Defines("zend_startup"), By::Name("php")],
    },
    Runtime {
        name: "Erlang",
        memory: "the memory of Erlang processes",
        instead: ALWAYS,
        by: &[
            By::Name("beam.smp"),
            By::Name("erl"),
            By::Name("elixir"),
            By::Name("iex"),
        ],
    },
    Runtime {
        name: "LuaJIT",
        memory: "the memory of Lua scripts",
        instead: "nothing reaches all of it, hugeadm --thp-always a part",
        by: &[By::Name("luajit"), By::Needs("libluajit-")],
    },
    Runtime {
        name: "Haskell",
        memory: "the heap of Haskell",
        instead: "nothing reaches it yet",
        by: &[By::Needs("libHSrts")],
    },
    Runtime {
        name: "MariaDB or MySQL",
        memory: "the buffer pool of the database",
        instead: "its own option --large-pages takes pages of a pool",
        by: &[By::Name("mariadbd"), By::Name("mysqld")],
    },
];

/// Memory that is not malloc's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beyond {
    /// By which name the program is known, if it is.
    pub known: Option<&'static str>,
    /// What is so.
    pub(crate) fact: String,
    /// What reaches it.
    pub(crate) instead: String,
}

impl Beyond {
    /// What falls short.
    pub(crate) fn shortfall(&self) -> Shortfall {
        Shortfall::new(Subject::HEAP, &self.fact).advise(&self.instead)
    }
}

/// What is to be said of a command line: of its program, or of one that it
/// leads to by wrappers and scripts.
pub(crate) fn beyond(command: &[OsString], caller: &Caller) -> Option<Beyond> {
    let is_program = |name: &OsStr| target::is_program(name, caller);
    let found = layers(command, &is_program).find_map(|command| {
        let target = target::find(command.first()?, caller).ok()?;
        find(&target.path).or_else(|| find(&target.program))
    })?;
    Some(Beyond {
        known: Some(found.name),
        fact: format!(
            "{} is not taken from malloc, so --heap does not reach it",
            found.memory
        ),
        instead: found.instead.to_owned(),
    })
}

fn find(program: &Path) -> Option<&'static Runtime> {
    let real = std::fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    let elf = files::open_elf(&real);
    let is = |by: &By| match by {
        By::Name(name) => {
            is_named(base(program.as_os_str()), name) || is_named(base(real.as_os_str()), name)
        }
        By::Needs(name) => elf.as_ref().is_some_and(|elf| needs(elf, name)),
        By::Defines(name) => elf
            .as_ref()
            .is_some_and(|elf| elf.defines(name).unwrap_or(false)),
        By::GoBuild => elf.as_ref().is_some_and(|elf| is_of_go(&real, elf)),
    };
    RUNTIMES.iter().find(|runtime| runtime.by.iter().any(is))
}

/// `php` and `php8.2`, but not `phpize`.
fn is_named(file: &[u8], name: &str) -> bool {
    let rest = file.strip_prefix(name.as_bytes());
    let is_version = |byte: &u8| byte.is_ascii_digit() || *byte == b'.' || *byte == b'-';
    rest.is_some_and(|rest| rest.iter().all(is_version))
}

fn needs(elf: &Elf<File>, name: &str) -> bool {
    let mut needed = elf
        .dynamic()
        .into_iter()
        .flat_map(|dynamic| &dynamic.needed);
    needed.any(|library| library.starts_with(name.as_bytes()))
}

/// Go's own tools look there, too: within the first 64 kB of what can be
/// written.
fn is_of_go(path: &Path, elf: &Elf<File>) -> bool {
    const MAGIC: &[u8] = b"\xff Go buildinf:";
    let data = elf.loads().iter().find(|load| load.writable);
    let (Some(data), Ok((file, _))) = (data, files::open_regular(path)) else {
        return false;
    };
    let len = usize::try_from(data.file_size.min(64 << 10)).unwrap_or(0);
    let mut bytes = vec![0; len];
    let read = file.read_at(&mut bytes, data.offset).unwrap_or(0);
    bytes.truncate(read);
    bytes.windows(MAGIC.len()).any(|window| window == MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::process::Command;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Place {
            Place(tempfile::tempdir().unwrap())
        }

        fn put(&self, name: &str, text: &str) -> PathBuf {
            use std::io::Write;
            let path = self.0.path().join(name);
            let mut file = File::create(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.set_permissions(std::fs::Permissions::from_mode(0o755))
                .unwrap();
            path
        }

        fn build(&self, name: &str, source: &str, args: &[&str]) {
            let input = self.put(&format!("{name}.c"), source);
            let mut command = Command::new("cc");
            command.current_dir(self.0.path()).arg(input).args(args);
            assert!(command.args(["-o", name]).status().unwrap().success());
        }

        fn said(&self, line: &str) -> Option<String> {
            let path = format!("{}:/usr/bin:/bin", self.0.path().display());
            let caller = Caller::this([("PATH".into(), path.into())]);
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            Some(beyond(&words, &caller)?.fact)
        }
    }

    const MAIN: &str = "int main(void) { return 0; }";

    #[test]
    fn programs_are_known_by_what_is_in_them() {
        let place = Place::new();
        let go = format!("char magic[64] = \"\\xff\" \" Go buildinf:\"; {MAIN}");
        place.build("service", &go, &[]);
        place.build(
            "cli",
            &format!("void zend_startup(void) {{}} {MAIN}"),
            &["-rdynamic"],
        );
        place.build("libjli.so", "int jli;", &["-shared", "-fPIC"]);
        let java = "extern int jli; int main(void) { return jli; }";
        place.build("launcher", java, &["libjli.so"]);
        place.build("plain", MAIN, &[]);
        for (line, memory) in [
            ("service", "Go's own heap"),
            ("nice -n 5 service x", "Go's own heap"),
            ("cli", "the memory of PHP scripts"),
            ("launcher -jar x", "the Java heap"),
        ] {
            let said = place.said(line).unwrap();
            assert!(said.starts_with(memory), "{line}: {said}");
        }
        assert_eq!(place.said("plain service"), None);
        assert_eq!(place.said("sh"), None);
    }

    #[test]
    fn programs_are_known_by_their_names_and_through_scripts() {
        let place = Place::new();
        place.build("node", MAIN, &[]);
        place.build("phpize", MAIN, &[]);
        place.put("tool", "#!/usr/bin/env node\n");
        place.put("erl", "#!/bin/sh\n");
        for (line, memory) in [
            ("tool", "the heap of JavaScript"),
            ("erl", "the memory of Erlang"),
        ] {
            let said = place.said(line).unwrap();
            assert!(said.starts_with(memory), "{line}: {said}");
        }
        assert_eq!(place.said("phpize"), None);
        assert!(is_named(b"php8.2", "php") && is_named(b"luajit-2.1.0", "luajit"));
    }
}
