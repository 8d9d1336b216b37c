//! The situations: a machine, a command line, and the expected prediction.

/// How a situation is mended.
#[derive(Clone, Copy)]
pub(super) enum Mend {
    /// Not at all: there is no suggestion.
    No,
    /// By advice that is not run here, such as relinking the program.
    Advice,
    /// By the suggested command, as root.
    Command,
    /// By starting hugectl behind these words.
    Before(&'static str),
}

/// hugectl's control group.
#[derive(Clone, Copy)]
pub(super) enum Group {
    No,
    /// A file of the hugetlb controller, and its limit.
    Hugetlb(&'static str, &'static str),
}

/// One situation. `DIR` and `GROUP` stand for the directories of the world and the group.
#[derive(Clone, Copy)]
pub(super) struct Situation {
    pub(super) name: &'static str,
    /// Pages in the pool of the default size.
    pub(super) pool: u64,
    pub(super) group: Group,
    /// A shell command that root runs first.
    pub(super) set: &'static str,
    /// The words in front of hugectl.
    pub(super) before: &'static str,
    /// Options and program.
    pub(super) line: &'static str,
    /// The status of `--explain`.
    pub(super) status: i32,
    /// The predicted first rung of segments.
    pub(super) rungs: &'static [(&'static str, &'static str)],
    /// Part of the predicted shortfall; empty if there is none.
    pub(super) fact: &'static str,
    /// Parts of errors, warnings and notes.
    pub(super) messages: &'static [&'static str],
    pub(super) mend: Mend,
}

const PLAIN: Situation = Situation {
    name: "",
    pool: 0,
    group: Group::No,
    set: "",
    before: "",
    line: "",
    status: 3,
    rungs: &[],
    fact: "",
    messages: &[],
    mend: Mend::Command,
};

const NOBODY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups --";

/// Begins two messages: the pool is empty, or all of its pages are reserved.
const NO_PAGE: &str = "the pool of 2MB pages ";

/// Starts hugectl in the group.
const INSIDE: &str = "sh -c 'echo 0 >GROUP/cgroup.procs && exec \"$@\"' sh";

pub(super) const SITUATIONS: &[Situation] = &[
    Situation {
        name: "enough of everything",
        pool: 40,
        line: "--data --heap --shm=thp DIR/segments",
        set: "hugeadm --thp-shmem advise",
        status: 0,
        rungs: &[
            ("data", "pool"),
            ("bss", "pool"),
            ("heap", "pool"),
            ("shm", "thp"),
        ],
        mend: Mend::No,
        ..PLAIN
    },
    Situation {
        name: "empty pool",
        line: "--data DIR/segments",
        rungs: &[("data", "thp"), ("bss", "thp")],
        fact: NO_PAGE,
        ..PLAIN
    },
    Situation {
        name: "empty pool, for a heap",
        line: "--heap DIR/explained heap 40",
        rungs: &[("heap", "thp")],
        fact: NO_PAGE,
        mend: Mend::Advice,
        ..PLAIN
    },
    Situation {
        name: "a pool short by one page",
        pool: 10,
        line: "--data DIR/segments",
        rungs: &[("data", "pool"), ("bss", "pool")],
        fact: "the pool of 2MB pages has 10 pages (20MB) left",
        ..PLAIN
    },
    Situation {
        name: "hugetlb.max",
        pool: 30,
        group: Group::Hugetlb("max", "8388608"),
        before: INSIDE,
        line: "--data DIR/segments",
        rungs: &[("data", "pool"), ("bss", "pool")],
        fact: "the control group allows 8MB more of 2MB pages",
        ..PLAIN
    },
    Situation {
        name: "hugetlb.rsvd.max",
        pool: 30,
        group: Group::Hugetlb("rsvd.max", "0"),
        before: INSIDE,
        line: "--shm DIR/explained mmap 20",
        rungs: &[("shm", "base")],
        fact: "the control group allows 0 more of 2MB pages",
        ..PLAIN
    },
    Situation {
        name: "hugetlb.max, for a segment that is larger",
        pool: 30,
        group: Group::Hugetlb("max", "8388608"),
        before: INSIDE,
        line: "--shm DIR/explained sysv 20",
        rungs: &[("shm", "pool")],
        fact: "the control group allows 8MB more of 2MB pages",
        ..PLAIN
    },
    Situation {
        name: "a short pool, for a mapping that is larger",
        pool: 4,
        line: "--shm DIR/explained mmap 20",
        rungs: &[("shm", "pool")],
        fact: "the pool of 2MB pages has 4 pages (8MB) left",
        mend: Mend::Advice,
        ..PLAIN
    },
    Situation {
        name: "a short pool, for a segment that fits",
        pool: 4,
        line: "--shm DIR/explained sysv 8",
        rungs: &[("shm", "pool")],
        fact: "the pool of 2MB pages has 4 pages (8MB) left",
        mend: Mend::Advice,
        ..PLAIN
    },
    Situation {
        name: "no group for shared memory",
        pool: 20,
        before: NOBODY,
        line: "--shm DIR/explained sysv 20",
        rungs: &[("shm", "pool")],
        fact: "should the program use shmget, the kernel refuses it pool pages",
        ..PLAIN
    },
    Situation {
        name: "threads before the program begins",
        pool: 30,
        line: "--data DIR/early",
        status: 0,
        rungs: &[("data", "pool"), ("bss", "pool")],
        messages: &["threads before the program begins"],
        mend: Mend::No,
        ..PLAIN
    },
    Situation {
        name: "transparent huge pages are off",
        set: "hugeadm --thp-never",
        line: "--heap=thp DIR/explained heap 40",
        rungs: &[("heap", "base")],
        fact: "transparent huge pages are set to never",
        ..PLAIN
    },
    Situation {
        name: "transparent huge pages of shared memory are off",
        set: "hugeadm --thp-shmem never",
        line: "--shm=thp DIR/explained mmap 20",
        rungs: &[("shm", "base")],
        fact: "transparent huge pages for shared memory are set to never",
        ..PLAIN
    },
    Situation {
        name: "transparent huge pages are off by prctl",
        before: "DIR/no_thp",
        line: "--heap=thp DIR/explained heap 40",
        rungs: &[("heap", "base")],
        fact: "transparent huge pages are switched off for this process",
        mend: Mend::Before(""),
        ..PLAIN
    },
    Situation {
        name: "static",
        pool: 20,
        line: "--data DIR/static",
        rungs: &[("data", "base"), ("bss", "base")],
        fact: "the program is static, so no library can be added to it",
        mend: Mend::Advice,
        ..PLAIN
    },
    Situation {
        name: "set-user-id",
        pool: 20,
        before: NOBODY,
        line: "--data DIR/set-user-id",
        rungs: &[("data", "base"), ("bss", "base")],
        fact: "set-user-id is set-user-id, and the loader",
        mend: Mend::Before(""),
        ..PLAIN
    },
    Situation {
        name: "script of a script",
        pool: 10,
        line: "--data DIR/one.sh",
        rungs: &[("data", "pool"), ("bss", "pool")],
        fact: "the pool of 2MB pages has 10 pages (20MB) left",
        ..PLAIN
    },
    Situation {
        name: "unreadable",
        pool: 20,
        before: NOBODY,
        line: "--data DIR/unreadable",
        status: 125,
        messages: &["cannot be told: permission denied (EACCES)"],
        mend: Mend::No,
        ..PLAIN
    },
    Situation {
        name: "too small for a huge page",
        pool: 20,
        line: "--text --data DIR/explained heap 1",
        rungs: &[("text", "base"), ("data", "base"), ("bss", "base")],
        fact: "no whole 2MB page fits there",
        mend: Mend::Advice,
        ..PLAIN
    },
    Situation {
        name: "an allocator of its own",
        pool: 20,
        line: "--heap DIR/own malloc",
        rungs: &[("heap", "base")],
        fact: "the program has its own allocator (it defines malloc itself)",
        mend: Mend::No,
        ..PLAIN
    },
    Situation {
        name: "a filter that refuses mremap",
        pool: 20,
        before: "DIR/no_mremap",
        line: "--data DIR/segments",
        rungs: &[("data", "base"), ("bss", "thp")],
        fact: "a filter of system calls (seccomp) refuses mremap",
        mend: Mend::Before(""),
        ..PLAIN
    },
    Situation {
        name: "a narrow address space",
        pool: 20,
        before: "prlimit --as=2000000000",
        line: "--heap DIR/explained heap 20",
        rungs: &[("heap", "pool")],
        fact: "the address space is limited to",
        mend: Mend::Before(""),
        ..PLAIN
    },
];
