//! Options that apply the file at boot.

use clap::Args;

/// Options that apply the file at boot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub struct Boot {
    /// Apply the file at each boot, before the programs that need its pools
    #[arg(long, conflicts_with = "uninstall_boot")]
    pub install_boot: bool,

    /// Remove what --install-boot wrote, except files that were changed since
    #[arg(long)]
    pub uninstall_boot: bool,
}

impl Boot {
    /// Whether any option changes something.
    pub(super) fn changes(&self) -> bool {
        self.install_boot || self.uninstall_boot
    }
}
