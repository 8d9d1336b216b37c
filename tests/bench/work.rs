//! The workloads, most of them from well-known documents on huge pages.

use super::prepare::{Job, Scratch, c_program, java, linpack, stream};
use super::servers::{mariadb, postgres};

/// One workload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// Its activity, and the unit of its result.
    pub(crate) description: &'static str,
    /// The ways for `--compare`; POOL stands for the default huge page size.
    pub(crate) ways: &'static str,
    /// Other options of hugectl.
    pub(crate) options: &'static [&'static str],
    /// Options of hugeadm for the machine.
    pub(crate) settings: &'static [&'static str],
    /// Builds or installs the workload for a size.
    pub(crate) prepare: fn(&Scratch, u64) -> Result<Job, String>,
    /// Size of the workload, and pool in MiB: without and with `--quick`.
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

/// Defaults of the fields.
const DEFAULT: Work = Work {
    name: "",
    description: "",
    ways: WAYS,
    options: &[],
    settings: &[],
    prepare: |_, _| Err("no workload".to_owned()),
    sizes: [(0, 0); 2],
};

/// All workloads, in the order of the table.
#[rustfmt::skip]
pub(crate) const ALL: &[Work] = &[
    Work { name: "stream", description: "STREAM Triad, arrays of malloc, MB/s", ways: ALL_WAYS, options: &[TRIAD, "--higher-is-better"], prepare: |_, size| c_program("stream", size, &[]), sizes: [(384, 448), (48, 80)], ..DEFAULT },
    Work { name: "stream-static", description: "STREAM Triad, static arrays, MB/s", options: &["--bss", TRIAD, "--higher-is-better"], prepare: |_, size| stream(size), sizes: [(384, 448), (48, 80)], ..DEFAULT },
    Work { name: "gups", description: "random updates, millions/s", ways: ALL_WAYS, options: &["--metric=([0-9.]+) million", "--higher-is-better"], prepare: |_, size| c_program("gups", size, &[]), sizes: [(512, 600), (48, 80)], ..DEFAULT },
    Work { name: "stride", description: "an access to each page, ns", ways: ALL_WAYS, options: &["--metric=([0-9.]+) ns"], prepare: |_, size| c_program("stride", size, &[]), sizes: [(512, 600), (32, 64)], ..DEFAULT },
    Work { name: "noise", description: "FTQ, khugepaged scanning, % lost", options: NOISE, settings: &["--thp-khugepaged-scan-sleep=10"], prepare: |_, size| c_program("noise", size, &["1000"]), sizes: [(64, 96), (32, 64)], ..DEFAULT },
    Work { name: "noise-off", description: "FTQ, khugepaged stopped, % lost", options: NOISE, settings: &["--thp-khugepaged-scan-sleep=4294967295"], prepare: |_, size| c_program("noise", size, &["1000"]), sizes: [(64, 96), (32, 64)], ..DEFAULT },
    Work { name: "linpack", description: "HPL of hpcc under Open MPI, Gflop/s", options: &[r"--metric=HPL_Gflops=([0-9.]+)", "--higher-is-better"], prepare: linpack, sizes: [(2000, 400), (100, 64)], ..DEFAULT },
    Work { name: "pgbench-mmap", description: "PostgreSQL, select only, tps", options: &SHM, settings: &SHM_SETTINGS, prepare: |scratch, size| postgres(scratch, size, "mmap"), sizes: [(40, 1200), (1, 256)], ..DEFAULT },
    Work { name: "pgbench-sysv", description: "PostgreSQL, System V memory, tps", options: &SHM, settings: &SHM_SETTINGS, prepare: |scratch, size| postgres(scratch, size, "sysv"), sizes: [(40, 1200), (1, 256)], ..DEFAULT },
    Work { name: "mariadb", description: "MariaDB, sysbench oltp_read_only, tps", ways: "plain,thp,POOL,auto", options: &["--heap", "--anon", r"--metric=transactions: .*\(([0-9.]+) per", "--higher-is-better"], prepare: mariadb, sizes: [(1000, 600), (5, 256)], ..DEFAULT },
    Work { name: "java", description: "maps and strings", ways: THP_WAYS, options: &["--anon", "--same-output"], prepare: java, sizes: [(2000, 0), (30, 0)], ..DEFAULT },
];
