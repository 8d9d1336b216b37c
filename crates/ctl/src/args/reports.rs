//! Predictions, reports, and the status of processes.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::TERMINAL;
use super::running::RUNNING;

/// Predictions, reports, and the status of processes.
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Reports")]
pub struct Reports {
    /// Refuse to start with less, as in text:90,heap
    ///
    /// SEGMENTS lists text, data, bss, heap, shm, anon and stack, separated by commas. :90
    /// requires 90 percent of a segment; without a number, the whole huge pages in it are
    /// required. After the start, a request that falls short fails. Implies the option of each
    /// segment.
    #[arg(long, value_name = "SEGMENTS")]
    pub require: Option<String>,

    /// Write /tmp/perf-PID.map if text is a copy
    ///
    /// perf then finds its symbols.
    #[arg(long)]
    pub perf_map: bool,

    /// Print what was on huge pages at the end
    ///
    /// A table goes to standard error, or a line of JSON is appended to FILE.
    #[arg(
        long, value_name = "FILE",
        num_args = 0..=1, require_equals = true, default_missing_value = TERMINAL,
        value_hint = ValueHint::FilePath,
    )]
    pub report: Option<PathBuf>,

    /// Show what processes have on huge pages
    ///
    /// Takes process numbers, names, or all for every process with huge pages.
    #[arg(
        long, help_heading = RUNNING,
        value_name = "PID|NAME|all",
        num_args = 1..,
        allow_negative_numbers = true
    )]
    pub status: Vec<String>,

    /// With --status: include all descendants
    #[arg(long, help_heading = RUNNING)]
    pub tree: bool,

    /// With --status, as root: folio sizes
    ///
    /// Includes multi-size THP.
    #[arg(long, help_heading = RUNNING)]
    pub sizes: bool,

    /// With --status: one line per process
    ///
    /// Reads smaps_rollup, which is cheap even with many mappings.
    #[arg(long, help_heading = RUNNING)]
    pub totals: bool,

    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,

    /// Print shell commands; start nothing
    #[arg(long, alias = "dr")]
    pub dry_run: bool,

    /// Predict pages, shortfalls and cures
    ///
    /// Starts nothing. Exits with 0 if all requested huge pages are available, 3 if not.
    #[arg(long)]
    pub explain: bool,

    /// Print settings for a service
    ///
    /// Starts nothing. KIND is systemd (a drop-in for UNIT), environment (lines for an
    /// environment file), docker (options of docker run) or kubernetes (parts of a pod).
    #[arg(
        long, value_name = "KIND",
        value_parser = ["systemd", "environment", "docker", "kubernetes"], hide_possible_values = true,
        require_equals = true,
    )]
    pub emit: Option<String>,

    /// Read the kernel's state below DIR
    ///
    /// With --status, --explain or --dry-run, also that of --pid.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub sysroot: Option<PathBuf>,
}
