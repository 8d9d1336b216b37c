//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Install hugetools from its tree, or make its packages.
#[derive(Debug, Parser)]
#[command(name = "hugetools-ship", bin_name = "cargo ship")]
pub struct Line {
    /// What to do.
    #[command(subcommand)]
    pub what: What,

    /// The built files are in DIR; nothing is built
    #[arg(long, value_name = "DIR", global = true)]
    pub from: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Install below a prefix
    Install(Where),
    /// Take away what was installed below a prefix
    Uninstall(Where),
    /// Make packages: hugetools and hugetools-dev
    Packages {
        /// For which package manager; each whose tools are here where none is named
        #[arg(value_name = "deb|rpm", value_parser = ["deb", "rpm"], hide_possible_values = true)]
        kinds: Vec<String>,
        /// Where they go [default: target/packages]
        #[arg(long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

/// Where an installation lies.
#[derive(Debug, Args)]
pub struct Where {
    /// The prefix it runs from
    #[arg(long, value_name = "DIR", default_value = "/usr/local")]
    pub prefix: PathBuf,
    /// The directory of libraries below the prefix
    #[arg(long, value_name = "DIR", default_value = "lib")]
    pub libdir: PathBuf,
    /// A directory that stands for the root while files are copied; then the
    /// loader's cache is left alone
    #[arg(long, value_name = "DIR")]
    pub destdir: Option<PathBuf>,
    /// Replace files that are not ours
    #[arg(long)]
    pub force: bool,
}
