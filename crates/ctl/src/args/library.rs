//! The library to preload.

use std::path::PathBuf;

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "The library")]
pub(crate) struct Library {
    /// Only set variables, without preloading
    ///
    /// For programs linked with the library.
    #[arg(long, overrides_with = "force_preload")]
    pub(crate) no_preload: bool,

    /// Preload even if it looks useless or unwise
    #[arg(
        long, overrides_with = "no_preload",
        // The abbreviations are otherwise ambiguous with --fallback or --fork.
        aliases = ["f", "fo", "for"],
    )]
    pub(crate) force_preload: bool,

    /// The library's directory, or its prefix
    #[arg(long, value_name = "PREFIX", value_hint = ValueHint::DirPath)]
    pub(crate) library_path: Option<PathBuf>,

    /// Let the loader find the library by name
    ///
    /// LD_LIBRARY_PATH must name its directory, such as /usr/local/lib/hugetools.
    #[arg(long, overrides_with = "library_path")]
    pub(crate) library_use_path: bool,
}
