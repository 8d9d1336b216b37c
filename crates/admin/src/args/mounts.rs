//! Options that mount hugetlbfs.

use clap::Args;
use hugetools_model::units::size::Quantity;
use hugetools_model::{Bytes, PageSize};

/// Options that mount or unmount.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "Mounts")]
pub struct Mounts {
    /// Mount each page size on /var/lib/hugetlbfs/pagesize-SIZE, for root
    ///
    /// Owner root:root, mode 0770. An existing mount stays; its owner and mode are
    /// corrected.
    #[arg(long)]
    pub create_mounts: bool,

    /// Mount each page size on /var/lib/hugetlbfs/user/USER/pagesize-SIZE
    ///
    /// Owner USER:root, mode 0700.
    #[arg(long, value_name = "USER")]
    pub create_user_mounts: Option<String>,

    /// Mount each page size on /var/lib/hugetlbfs/group/GROUP/pagesize-SIZE
    ///
    /// Owner root:GROUP, mode 0070.
    #[arg(long, value_name = "GROUP")]
    pub create_group_mounts: Option<String>,

    /// Mount each page size on /var/lib/hugetlbfs/global/pagesize-SIZE, for everybody
    ///
    /// Owner root:root, mode 1777.
    #[arg(long)]
    pub create_global_mounts: bool,

    /// Limit each new mount to SIZE; 0 is no limit
    ///
    /// Page sizes larger than SIZE are not mounted.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_size: Option<Bytes>,

    /// Limit each new mount to N files and directories; 0 is no limit
    #[arg(long, value_name = "N")]
    pub max_inodes: Option<u64>,

    /// Set this mode on the mounts instead of the default one
    #[arg(long, value_name = "OCTAL", value_parser = mode)]
    pub mount_mode: Option<u32>,

    /// Unmount everything that the create options mounted, and remove the
    /// directories
    ///
    /// A mount in use stays and is an error.
    #[arg(long)]
    pub unmount: bool,

    /// Mount only this page size: `size` of a `[[mount]]`. No option sets it.
    #[arg(skip)]
    pub only: Option<PageSize>,
}

impl Mounts {
    /// Whether any option mounts or unmounts. The others only set details.
    pub(super) fn changes(&self) -> bool {
        self.creates() || self.unmount
    }

    /// Whether any option mounts.
    pub fn creates(&self) -> bool {
        self.create_mounts
            || self.create_global_mounts
            || self.create_user_mounts.is_some()
            || self.create_group_mounts.is_some()
    }

    /// Whether any option sets details of mounts.
    pub(super) fn sets_details(&self) -> bool {
        self.max_size.is_some() || self.max_inodes.is_some() || self.mount_mode.is_some()
    }
}

pub(crate) fn size(text: &str) -> Result<Bytes, String> {
    let quantity = text.parse::<Quantity>();
    let bytes = quantity.and_then(|quantity| quantity.bytes());
    bytes.map_err(|why| why.to_string())
}

/// Parses a mode. hugetlbfs ignores set-id bits, so they are an error.
pub(crate) fn mode(text: &str) -> Result<u32, String> {
    let octal = text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    let mode = u32::from_str_radix(text, 8).ok().filter(|_| octal);
    match mode {
        Some(mode) if mode & !0o1777 == 0 => Ok(mode),
        _ => Err("not an octal mode of at most 1777".to_owned()),
    }
}
