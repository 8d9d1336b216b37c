//! The workloads.

use super::prepare::{Job, Scratch, c, java, linpack, python, stream};
use super::servers::{mariadb, postgres, redis};

/// The name that selects all workloads known from the classic documents on huge pages.
pub(crate) const SEEDS: &str = "seeds";

/// One workload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What it does, and the unit of its figure.
    pub(crate) what: &'static str,
    /// Whether it belongs to [`SEEDS`].
    pub(crate) is_seed: bool,
    /// The ways for `--compare`; POOL stands for the default huge page size.
    pub(crate) ways: &'static str,
    /// Other options of hugectl.
    pub(crate) options: &'static [&'static str],
    /// Options of hugeadm for the machine.
    pub(crate) settings: &'static [&'static str],
    /// Prepares it for a size.
    pub(crate) prepare: fn(&Scratch, u64) -> Result<Job, String>,
    /// Size, and pool in MiB: full, then with `--quick`.
    pub(crate) sizes: [(u64, u64); 2],
}

const ALL_WAYS: &str = "plain,thp,POOL,tunable";
const WAYS: &str = "plain,thp,POOL";
/// Ways for memory that cannot come from a pool.
const THP_WAYS: &str = "plain,thp,auto";

const SHM: [&str; 3] = ["--shm", r"--metric=tps = ([0-9.]+)", "--higher-is-better"];
const SHM_SETTINGS: [&str; 3] = ["--thp-shmem=advise", "--set-shm-group", "postgres"];
const NOISE: &[&str] = &[r"--metric=([0-9.]+) % lost"];
const TRIAD: &str = r"--metric=Triad: ([0-9.]+)";

const NONE: Work = Work {
    name: "",
    what: "",
    is_seed: true,
    ways: WAYS,
    options: &[],
    settings: &[],
    prepare: |_, _| Err("it does nothing".to_owned()),
    sizes: [(0, 0); 2],
};

/// A program of `tests/programs/bench` that must print the same in all ways.
const OURS: Work = Work {
    is_seed: false,
    ways: ALL_WAYS,
    options: &["--same-output"],
    ..NONE
};

/// All workloads, in the order of the table.
#[rustfmt::skip]
pub(crate) const ALL: &[Work] = &[
    Work { name: "stream", what: "STREAM Triad, arrays of malloc, MB/s", ways: ALL_WAYS, options: &[TRIAD, "--higher-is-better"], prepare: |_, size| c("stream", size, &[]), sizes: [(384, 448), (48, 80)], ..NONE },
    Work { name: "stream-static", what: "STREAM Triad, static arrays, MB/s", options: &["--bss", TRIAD, "--higher-is-better"], prepare: |_, size| stream(size), sizes: [(384, 448), (48, 80)], ..NONE },
    Work { name: "gups", what: "random updates, millions/s", ways: ALL_WAYS, options: &["--metric=([0-9.]+) million", "--higher-is-better"], prepare: |_, size| c("gups", size, &[]), sizes: [(512, 600), (48, 80)], ..NONE },
    Work { name: "stride", what: "an access to each page, ns", ways: ALL_WAYS, options: &["--metric=([0-9.]+) ns"], prepare: |_, size| c("stride", size, &[]), sizes: [(512, 600), (32, 64)], ..NONE },
    Work { name: "noise", what: "FTQ, khugepaged scanning, % lost", options: NOISE, settings: &["--thp-khugepaged-scan-sleep=10"], prepare: |_, size| c("noise", size, &["1000"]), sizes: [(64, 96), (32, 64)], ..NONE },
    Work { name: "noise-off", what: "FTQ, khugepaged stopped, % lost", options: NOISE, settings: &["--thp-khugepaged-scan-sleep=4294967295"], prepare: |_, size| c("noise", size, &["1000"]), sizes: [(64, 96), (32, 64)], ..NONE },
    Work { name: "linpack", what: "HPL of hpcc under Open MPI, Gflop/s", options: &[r"--metric=HPL_Gflops=([0-9.]+)", "--higher-is-better"], prepare: linpack, sizes: [(2000, 400), (100, 64)], ..NONE },
    Work { name: "pgbench-mmap", what: "PostgreSQL, select only, tps", options: &SHM, settings: &SHM_SETTINGS, prepare: |scratch, size| postgres(scratch, size, "mmap"), sizes: [(40, 1200), (1, 256)], ..NONE },
    Work { name: "pgbench-sysv", what: "PostgreSQL, System V memory, tps", options: &SHM, settings: &SHM_SETTINGS, prepare: |scratch, size| postgres(scratch, size, "sysv"), sizes: [(40, 1200), (1, 256)], ..NONE },
    Work { name: "mariadb", what: "MariaDB, sysbench oltp_read_only, tps", ways: "plain,thp,POOL,auto", options: &["--heap", "--anon", r"--metric=transactions: .*\(([0-9.]+) per", "--higher-is-better"], prepare: mariadb, sizes: [(1000, 600), (5, 256)], ..NONE },
    Work { name: "java", what: "maps and strings", ways: THP_WAYS, options: &["--anon", "--same-output"], prepare: java, sizes: [(2000, 0), (30, 0)], ..NONE },
    Work { name: "redis", what: "GET, requests/s", is_seed: false, ways: THP_WAYS, options: &["--anon", r"--metric=GET: ([0-9.]+) requests", "--higher-is-better"], prepare: redis, sizes: [(200, 0), (10, 0)], ..NONE },
    Work { name: "python", what: "dictionaries, JSON", prepare: python, sizes: [(400, 600), (20, 64)], ..OURS },
    Work { name: "chase", what: "pointer chase", prepare: |_, size| c("chase", size, &[]), sizes: [(512, 600), (32, 64)], ..OURS },
    Work { name: "churn", what: "mixed sizes come and go", prepare: |_, size| c("churn", size, &["mixed"]), sizes: [(850, 1200), (50, 128)], ..OURS },
    Work { name: "even", what: "sizes evenly spread come and go", prepare: |_, size| c("churn", size, &["even"]), sizes: [(850, 1200), (50, 128)], ..OURS },
    Work { name: "small", what: "many small objects", prepare: |_, size| c("small", size, &[]), sizes: [(256, 400), (16, 64)], ..OURS },
    Work { name: "pass", what: "four threads pass blocks", prepare: |_, size| c("pass", size, &[]), sizes: [(256, 400), (32, 96)], ..OURS },
    Work { name: "grow", what: "growing realloc", prepare: |_, size| c("grow", size, &[]), sizes: [(512, 900), (32, 96)], ..OURS },
];

/// Returns [`SEEDS`] and the names of all workloads.
pub(crate) fn names() -> Vec<&'static str> {
    let names = ALL.iter().map(|work| work.name);
    std::iter::once(SEEDS).chain(names).collect()
}
