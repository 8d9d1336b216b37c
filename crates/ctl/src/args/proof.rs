//! What is said of it: before, at the end, of what runs.

use std::path::PathBuf;

use clap::{Args, ColorChoice, ValueHint};

use super::TERMINAL;
use super::given::{ANY, NOT_EMITTED, OF_PID, OF_STATUS, PID_TOO};

/// What is said of it: before, at the end, of what runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Proof")]
pub struct Proof {
    /// Do not start the program, or fail its request, where less of a segment (text,
    /// data, bss, heap, shm, anon, stack) is on huge pages: PERCENT of it, or all that
    /// lies in whole huge pages; asks for the segment, too
    #[arg(long, value_name = "SEGMENT[:PERCENT],...")]
    pub require: Option<String>,

    /// Write /tmp/perf-PID.map where text is a copy, so that perf finds its
    /// symbols
    #[arg(long)]
    pub perf_map: bool,

    /// When the program ends, say what was on huge pages: a table on standard
    /// error, or JSON lines appended to FILE
    #[arg(
        long, value_name = "FILE",
        num_args = 0..=1, require_equals = true, default_missing_value = TERMINAL,
        value_hint = ValueHint::FilePath,
    )]
    pub report: Option<PathBuf>,

    /// Say what running processes have on huge pages: by number, by name, or all
    /// that have any
    #[arg(
        long, group = OF_STATUS,
        value_name = "PID|NAME|all",
        num_args = 1..,
        allow_negative_numbers = true
    )]
    pub status: Vec<String>,

    /// With --status: the processes that these have started, too
    #[arg(long, group = OF_STATUS)]
    pub tree: bool,

    /// With --status, as root: what sizes of folios really lie in each segment,
    /// multi-size THP included
    #[arg(long, group = OF_STATUS)]
    pub sizes: bool,

    /// With --status: only what each process has in all, which the kernel adds up; cheap
    /// where there are many processes or mappings
    #[arg(long, group = OF_STATUS)]
    pub totals: bool,

    /// With --status or --pid: again and again, each SECONDS, until the processes
    /// have ended
    #[arg(
        long, groups = [OF_STATUS, OF_PID], value_name = "SECONDS",
        num_args = 0..=1, require_equals = true, default_missing_value = "2",
    )]
    pub watch: Option<String>,

    /// What goes to the terminal as JSON
    #[arg(long, groups = [ANY, NOT_EMITTED])]
    pub json: bool,

    /// Colours in what people read: auto (on a terminal, unless NO_COLOR is set; the
    /// default), always or never
    #[arg(
        long, group = ANY, value_name = "WHEN", value_enum,
        num_args = 0..=1, require_equals = true,
        default_value = "auto", default_missing_value = "always",
        hide_possible_values = true, hide_default_value = true,
    )]
    pub color: ColorChoice,

    /// Print what would be done, as shell commands, and do nothing
    #[arg(long, groups = [PID_TOO, NOT_EMITTED])]
    pub dry_run: bool,

    /// Say what each segment would get, what would fall short, why, and what
    /// mends it, and do nothing; status 0 when all that is asked for will be
    /// had, else 3
    #[arg(long, group = NOT_EMITTED)]
    pub explain: bool,

    /// Print what tells a service or a container of all this, in which hugectl
    /// starts nothing: a drop-in for a UNIT of systemd, lines of an environment
    /// file (with PROGRAM or without), options of docker run, parts of a pod
    #[arg(
        long, value_name = "systemd|environment|docker|kubernetes",
        value_parser = ["systemd", "environment", "docker", "kubernetes"], hide_possible_values = true,
        require_equals = true,
    )]
    pub emit: Option<String>,

    /// With --status, --dry-run or --explain: read the kernel's state below DIR
    #[arg(long, groups = [ANY, NOT_EMITTED], value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub sysroot: Option<PathBuf>,
}
