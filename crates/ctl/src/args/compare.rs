//! `--compare`.

use std::ffi::OsString;

use clap::Args;

#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Comparison")]
pub(crate) struct Compare {
    /// Run in several ways; say which is faster
    ///
    /// WAY is plain, given (the other options), thp, heap, text, all, auto, tunable (glibc's own
    /// malloc with transparent huge pages) or a page size. A page size and thp serve the
    /// given segments, or the heap. Default: plain, given, auto.
    #[arg(
        long, value_name = "WAY,...",
        num_args = 0..=1, require_equals = true, default_missing_value = "",
    )]
    pub(crate) compare: Option<String>,

    /// Stop after N rounds
    #[arg(
        long, value_name = "N", require_equals = true,
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    pub(crate) rounds: Option<u32>,

    /// Stop at intervals this narrow; default 1
    #[arg(long, value_name = "PERCENT", require_equals = true)]
    pub(crate) within: Option<f64>,

    /// Stop after SECONDS; default 60
    #[arg(long, value_name = "SECONDS", require_equals = true)]
    pub(crate) time: Option<String>,

    /// Compare a figure that it prints, not time
    ///
    /// REGEX is a regular expression whose first group, or all of it, is the number. The last
    /// match counts.
    #[arg(long, value_name = "REGEX", require_equals = true)]
    pub(crate) metric: Option<String>,

    /// A higher figure is better
    #[arg(long)]
    pub(crate) higher_is_better: bool,

    /// PROGRAM is a server; time this command
    ///
    /// The shell runs COMMAND once the server is ready. Then SIGTERM ends the server, which must
    /// stay in the foreground.
    #[arg(long, value_name = "COMMAND", require_equals = true)]
    pub(crate) driver: Option<OsString>,

    /// Sign of a server that is ready
    ///
    /// A port of 127.0.0.1 that accepts connections, or a regular expression for a line that the
    /// server prints.
    #[arg(long, value_name = "REGEX|PORT", require_equals = true)]
    pub(crate) ready: Option<String>,

    /// All ways must print the same
    #[arg(long)]
    pub(crate) same_output: bool,
}

/// The options above.
pub(crate) const OPTIONS: [&str; 9] = [
    "--compare",
    "--rounds",
    "--within",
    "--time",
    "--metric",
    "--higher-is-better",
    "--driver",
    "--ready",
    "--same-output",
];

/// Whether a word of a valid command line is one of these options or its abbreviation. Their values
/// always follow an equals sign.
pub(crate) fn is_option(word: &OsString) -> bool {
    let word = word.to_string_lossy();
    let name = word.split('=').next().unwrap_or_default();
    name.len() > 2 && OPTIONS.iter().any(|option| option.starts_with(name))
}
