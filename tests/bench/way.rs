//! Ways to run a program.

use std::path::PathBuf;

/// Paths of the tools that are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tools {
    /// The hugectl of this build.
    pub(crate) hugectl: PathBuf,
    /// hugectl of libhugetlbfs.
    pub(crate) libhugetlbfs: PathBuf,
    /// `libmimalloc.so.2.0`.
    pub(crate) mimalloc: PathBuf,
}

/// A way to run a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// Unchanged.
    Plain,
    /// glibc's malloc with transparent huge pages.
    ThpTunable,
    /// hugectl with an empty pool.
    OursWithout,
    /// hugectl --auto with an empty pool.
    Auto,
    /// glibc's malloc with pages of the pool.
    HugetlbTunable,
    /// mimalloc with large pages.
    Mimalloc,
    /// libhugetlbfs.
    Libhugetlbfs,
    /// hugectl with a pool.
    Ours,
}

impl Way {
    /// All ways, those with an empty pool first.
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

    /// The ways for programs with musl.
    pub(crate) const MUSL: [Way; 3] = [Way::Plain, Way::OursWithout, Way::Ours];

    /// Returns its name in the table.
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

    /// Whether it needs a pool.
    pub(crate) fn needs_pool(self) -> bool {
        self >= Way::HugetlbTunable
    }

    /// Returns the words before the program on the command line.
    pub(crate) fn words(self, tools: &Tools) -> Vec<String> {
        let (hugectl, option) = match self {
            Way::OursWithout | Way::Ours => (&tools.hugectl, "--heap"),
            Way::Auto => (&tools.hugectl, "--auto"),
            Way::Libhugetlbfs => (&tools.libhugetlbfs, "--heap"),
            _ => return vec![],
        };
        vec![hugectl.display().to_string(), option.to_owned()]
    }

    /// Returns its environment.
    pub(crate) fn environment(self, tools: &Tools) -> Vec<(&'static str, String)> {
        let tunables = |value: &str| vec![("GLIBC_TUNABLES", value.to_owned())];
        match self {
            Way::ThpTunable => tunables("glibc.malloc.hugetlb=1"),
            Way::HugetlbTunable => tunables("glibc.malloc.hugetlb=2"),
            Way::Mimalloc => vec![
                ("LD_PRELOAD", tools.mimalloc.display().to_string()),
                // In later versions MIMALLOC_ALLOW_LARGE_OS_PAGES.
                ("MIMALLOC_LARGE_OS_PAGES", "1".to_owned()),
            ],
            _ => vec![],
        }
    }
}
