//! The workloads.

/// Kinds of workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A program of `tests/programs/bench`, for glibc and musl, and its arguments after the
    /// size.
    C(&'static str, &'static [&'static str]),
    /// cc1plus on one file.
    Cxx,
    /// redis-server under `redis-benchmark`.
    Redis,
    /// A program in Python.
    Python,
    /// A program in Java.
    Java,
}

/// One workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Work {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// Description.
    pub(crate) what: &'static str,
    pub(crate) kind: Kind,
    /// Size: MiB for programs in C.
    full: u64,
    quick: u64,
    /// Memory in MiB, full and quick.
    pool: (u64, u64),
}

impl Work {
    /// Returns its size.
    pub(crate) fn size(&self, quick: bool) -> u64 {
        if quick { self.quick } else { self.full }
    }

    /// Returns the MiB of its pool: a third more than its memory, and some for the allocator.
    pub(crate) fn pool_mib(&self, quick: bool) -> u64 {
        let (full, small) = self.pool;
        (if quick { small } else { full }) * 4 / 3 + 128
    }

    /// Whether there is a program for musl.
    pub(crate) fn has_musl(&self) -> bool {
        matches!(self.kind, Kind::C(..))
    }
}

const fn c(name: &'static str, what: &'static str, kind: Kind, (full, quick): (u64, u64)) -> Work {
    let pool = (full, quick);
    Work {
        name,
        what,
        kind,
        full,
        quick,
        pool,
    }
}

/// All workloads, in the order of the table.
pub(crate) const ALL: &[Work] = &[
    c("gups", "random access", Kind::C("gups", &[]), (1024, 64)),
    c("chase", "pointer chase", Kind::C("chase", &[]), (1024, 64)),
    c("stream", "STREAM", Kind::C("stream", &[]), (1024, 64)),
    c(
        "churn",
        "mixed sizes come and go",
        Kind::C("churn", &["mixed"]),
        (1700, 100),
    ),
    c(
        "even",
        "sizes evenly spread come and go",
        Kind::C("churn", &["even"]),
        (1700, 100),
    ),
    c(
        "small",
        "many small objects",
        Kind::C("small", &[]),
        (512, 16),
    ),
    c(
        "pass",
        "four threads pass blocks",
        Kind::C("pass", &[]),
        (512, 32),
    ),
    c("grow", "growing realloc", Kind::C("grow", &[]), (1024, 64)),
    Work {
        name: "c++",
        what: "cc1plus builds a file",
        kind: Kind::Cxx,
        full: 40,
        quick: 4,
        pool: (900, 200),
    },
    Work {
        name: "redis",
        what: "redis-benchmark, requests in thousands",
        kind: Kind::Redis,
        full: 1000,
        quick: 20,
        pool: (600, 100),
    },
    Work {
        name: "python",
        what: "dictionaries and JSON, keys in thousands",
        kind: Kind::Python,
        full: 1000,
        quick: 30,
        pool: (900, 100),
    },
    Work {
        name: "java",
        what: "maps and strings, keys in thousands",
        kind: Kind::Java,
        full: 3000,
        quick: 30,
        pool: (400, 100),
    },
];

/// Returns all names.
pub(crate) fn names() -> Vec<&'static str> {
    ALL.iter().map(|work| work.name).collect()
}
