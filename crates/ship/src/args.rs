//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Install hugetools from its source tree, or build packages.
#[derive(Debug, Parser)]
#[command(name = "hugetools-ship", bin_name = "cargo ship")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub task: Task,

    /// Use the built files in DIR instead of building them
    #[arg(long, value_name = "DIR", global = true)]
    pub from: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Install below a prefix
    Install(Destination),
    /// Remove an installation below a prefix
    Uninstall(Destination),
    /// Build packages of every kind whose tools are installed
    Packages {
        /// Directory for the packages [default: target/packages]
        #[arg(long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

/// The directories of an installation.
#[derive(Debug, Args)]
pub struct Destination {
    /// Prefix of the installation
    #[arg(long, value_name = "DIR", default_value = "/usr/local")]
    pub prefix: PathBuf,
    /// Directory of libraries, absolute or below the prefix
    #[arg(long, value_name = "DIR", default_value = "lib")]
    pub libdir: PathBuf,
    /// Use DIR in place of / (for packagers); doesn't update the loader's cache
    #[arg(long, value_name = "DIR")]
    pub destdir: Option<PathBuf>,
    /// Let install overwrite files that are not its own
    #[arg(long)]
    pub force: bool,
}
