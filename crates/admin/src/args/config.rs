//! Options for configuration files.

use std::path::PathBuf;

use clap::Args;

/// Options for configuration files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "File")]
pub struct Config {
    /// Apply FILE, or the files in /etc/hugetools: hugetools.toml(5)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub apply: Option<Option<PathBuf>>,

    /// Show how the machine differs from FILE; exit status 4 if it does
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub check: Option<Option<PathBuf>>,

    /// Print the present state as a configuration file, or write it to FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub save: Option<Option<PathBuf>>,

    /// Undo what the last --apply changed
    #[arg(long)]
    pub rollback: bool,

    /// Print a file with all keys, explained
    #[arg(long)]
    pub example_config: bool,

    /// Apply /etc/hugetools at boot, before programs that need its pools
    #[arg(long, conflicts_with = "uninstall_boot")]
    pub install_boot: bool,

    /// Remove what --install-boot wrote, except files that were changed since
    #[arg(long)]
    pub uninstall_boot: bool,
}

impl Config {
    /// Whether any option installs or removes the boot service.
    pub(super) fn changes_boot(&self) -> bool {
        self.install_boot || self.uninstall_boot
    }

    /// Whether any option changes something now.
    pub fn changes(&self) -> bool {
        self.apply.is_some() || self.rollback
    }

    /// Whether any option shows something.
    pub(super) fn shows(&self) -> bool {
        self.check.is_some() || self.save.is_some() || self.example_config
    }
}
