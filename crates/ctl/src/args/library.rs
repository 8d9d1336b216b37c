//! Where the library comes from, and whether it is preloaded.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Where the library comes from, and whether it is preloaded.
#[derive(Debug, Args)]
#[command(next_help_heading = "The library")]
pub struct Library {
    /// Set the variables only, for a program linked with the library
    #[arg(long, overrides_with = "force_preload")]
    pub no_preload: bool,

    /// Preload even where it looks useless, or unwise for this program
    #[arg(
        long, overrides_with = "no_preload",
        // What was unambiguous before there were --fallback and --fork stays so.
        aliases = ["f", "fo", "for"],
    )]
    pub force_preload: bool,

    /// Take the library from this directory, or from the prefix it is
    /// installed below
    #[arg(long, value_name = "PREFIX", value_hint = ValueHint::DirPath)]
    pub library_path: Option<PathBuf>,

    /// Name the library only, and let the loader find it
    #[arg(long, overrides_with = "library_path")]
    pub library_use_path: bool,
}
