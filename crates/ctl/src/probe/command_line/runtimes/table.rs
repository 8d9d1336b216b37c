//! The programs that are known.

use super::marks::{By, HASKELL, JEMALLOC, PREFIXED};

/// What a program manages itself, and what puts that on huge pages.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Runtime {
    /// By which name it is known.
    pub(super) name: &'static str,
    /// What is not reached.
    pub(super) memory: &'static str,
    /// What reaches it.
    pub(super) instead: &'static str,
    /// When that was done, and nothing is to be said any more.
    pub(super) done: Done,
    pub(super) by: &'static [By],
}

/// How it shows that what reaches the memory was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// Transparent huge pages are set to `always`.
    Always,
    /// A variable has this in its value.
    Variable(&'static str, &'static str),
    /// One of the arguments, or of those in these variables, begins so.
    Argument(&'static [&'static str], &'static [&'static str]),
    /// Nothing does.
    Never,
}

pub(super) const ALWAYS: &str = "hugeadm --thp-always reaches it, or hugectl --pid once it runs";

/// The first that fits is meant.
pub(super) const RUNTIMES: &[Runtime] = &[
    Runtime {
        name: "Go",
        memory: "Go's own heap",
        instead: ALWAYS,
        done: Done::Always,
        by: &[By::GoBuild],
    },
    Runtime {
        name: "Java",
        memory: "the Java heap",
        instead: "java -XX:+UseTransparentHugePages, or -XX:+UseLargePages with a pool",
        done: Done::Argument(
            &["-XX:+UseTransparentHugePages", "-XX:+UseLargePages"],
            &["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"],
        ),
        by: &[By::Needs("libjli.so"), By::Needs("libjvm.so")],
    },
    Runtime {
        name: "Node.js",
        memory: "the heap of JavaScript",
        instead: ALWAYS,
        done: Done::Always,
        by: &[
            By::Name("node"),
            By::Name("nodejs"),
            By::Name("deno"),
            By::Needs("libnode.so"),
        ],
    },
    Runtime {
        name: "PHP",
        memory: "the memory of PHP scripts",
        instead: "USE_ZEND_ALLOC_HUGE_PAGES=1 in its environment",
        done: Done::Variable("USE_ZEND_ALLOC_HUGE_PAGES", "1"),
        by: &[By::Defines("zend_startup"), By::Name("php")],
    },
    Runtime {
        name: "Python",
        memory: "the memory of Python's small objects",
        instead: "PYTHONMALLOC=malloc in its environment has them there",
        done: Done::Variable("PYTHONMALLOC", "malloc"),
        by: &[By::Name("python")],
    },
    Runtime {
        name: "Erlang",
        memory: "the memory of Erlang processes",
        instead: ALWAYS,
        done: Done::Always,
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
        done: Done::Never,
        by: &[
            By::Name("luajit"),
            By::Needs("libluajit-"),
            By::Defines("luaJIT_setmode"),
        ],
    },
    Runtime {
        name: "Haskell",
        memory: "the heap of Haskell",
        instead: "nothing reaches it yet",
        done: Done::Never,
        by: &[By::Needs("libHSrts")],
    },
    Runtime {
        name: "MariaDB or MySQL",
        memory: "the buffer pool of the database",
        instead: "its own option --large-pages takes pages of a pool",
        done: Done::Argument(&["--large-pages", "--large_pages"], &[]),
        by: &[By::Name("mariadbd"), By::Name("mysqld")],
    },
    // From here on the file is read.
    Runtime {
        name: "Haskell",
        memory: "the heap of Haskell",
        instead: "nothing reaches it yet",
        done: Done::Never,
        by: &[By::Holds(&[HASKELL])],
    },
    Runtime {
        name: "jemalloc",
        memory: "what the jemalloc in the program hands out",
        instead: "_RJEM_MALLOC_CONF=thp:always in its environment",
        done: Done::Variable("_RJEM_MALLOC_CONF", "thp:always"),
        by: &[By::Holds(&[JEMALLOC, PREFIXED])],
    },
    Runtime {
        name: "jemalloc",
        memory: "what the jemalloc in the program hands out",
        instead: "MALLOC_CONF=thp:always in its environment",
        done: Done::Variable("MALLOC_CONF", "thp:always"),
        by: &[By::Holds(&[JEMALLOC])],
    },
];
