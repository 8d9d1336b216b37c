//! The ways to run a program.

use std::path::PathBuf;

/// Where the allocator that is compared with is preloaded from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tools {
    /// The hugectl that was built with this.
    pub(crate) hugectl: PathBuf,
    /// That of libhugetlbfs.
    pub(crate) peer: PathBuf,
    /// `libmimalloc.so.2.0`.
    pub(crate) mimalloc: PathBuf,
}

/// A way to run a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// As it is.
    Plain,
    /// glibc's malloc with transparent huge pages.
    ThpTunable,
    /// Ours, with an empty pool.
    OursWithout,
    /// Ours, with what is known of the program, and with an empty pool.
    Auto,
    /// glibc's malloc with pages of the pool.
    HugetlbTunable,
    /// mimalloc with large pages.
    Mimalloc,
    /// libhugetlbfs.
    Libhugetlbfs,
    /// Ours, with a pool.
    Ours,
}

impl Way {
    /// All, those with an empty pool first.
    pub(crate) const ALL: [Way; 8] = [
        Way::Plain,
        Way::ThpTunable,
        Way::OursWithout,
        Way::Auto,
        Way::HugetlbTunable,
        Way::Mimalloc,
        Way::Libhugetlbfs,
        Way::Ours,
    ];

    /// Those that do something to a program of musl.
    pub(crate) const MUSL: [Way; 3] = [Way::Plain, Way::OursWithout, Way::Ours];

    /// How the table calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Plain => "plain",
            Way::ThpTunable => "glibc.malloc.hugetlb=1",
            Way::OursWithout => "hugectl, no pool",
            Way::Auto => "hugectl --auto, no pool",
            Way::HugetlbTunable => "glibc.malloc.hugetlb=2",
            Way::Mimalloc => "mimalloc, large pages",
            Way::Libhugetlbfs => "libhugetlbfs",
            Way::Ours => "hugectl",
        }
    }

    /// Whether it is to have a pool.
    pub(crate) fn needs_pool(self) -> bool {
        self >= Way::HugetlbTunable
    }

    /// What stands before the program on the command line.
    pub(crate) fn words(self, tools: &Tools) -> Vec<String> {
        let (hugectl, option) = match self {
            Way::OursWithout | Way::Ours => (&tools.hugectl, "--heap"),
            Way::Auto => (&tools.hugectl, "--auto"),
            Way::Libhugetlbfs => (&tools.peer, "--heap"),
            _ => return vec![],
        };
        vec![hugectl.display().to_string(), option.to_owned()]
    }

    /// What is in its environment.
    pub(crate) fn environment(self, tools: &Tools) -> Vec<(&'static str, String)> {
        let tunables = |value: &str| vec![("GLIBC_TUNABLES", value.to_owned())];
        match self {
            Way::ThpTunable => tunables("glibc.malloc.hugetlb=1"),
            Way::HugetlbTunable => tunables("glibc.malloc.hugetlb=2"),
            Way::Mimalloc => vec![
                ("LD_PRELOAD", tools.mimalloc.display().to_string()),
                // Its name in 2.0; later versions call it ALLOW_LARGE.
                ("MIMALLOC_LARGE_OS_PAGES", "1".to_owned()),
            ],
            _ => vec![],
        }
    }
}
