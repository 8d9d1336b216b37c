//! Options that mount hugetlbfs.

use clap::Args;
use hugetools_model::units::size::{Quantity, SizeError};

use crate::step::MountSize;

/// What to mount.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "Mounts")]
pub struct Mounts {
    /// Mount each page size on /var/lib/hugetlbfs/pagesize-SIZE, for root
    ///
    /// Owner root:root, mode 0770. What is mounted there already stays, with
    /// its owner and mode mended.
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

    /// Let each new mount hold at most SIZE, or a share of its pool (50%); 0 is no limit
    ///
    /// Where SIZE is less than one page, no mount of that page size is made.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_size: Option<MountSize>,

    /// Reserve SIZE of the pool, or a share of it (10%), for each new mount
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub min_size: Option<MountSize>,

    /// Let each new mount hold at most N files and directories; 0 is no limit
    #[arg(long, value_name = "N")]
    pub max_inodes: Option<u64>,

    /// Give the mounts this mode instead of the usual one
    #[arg(long, value_name = "OCTAL", value_parser = mode)]
    pub mount_mode: Option<u32>,

    /// Unmount all that the create options made, and remove their directories
    ///
    /// A mount that is in use stays and is an error.
    #[arg(long)]
    pub unmount: bool,
}

impl Mounts {
    /// Whether anything is to be changed; the rest only says how.
    pub(super) fn changes(&self) -> bool {
        self.creates() || self.unmount
    }

    /// Whether anything is to be mounted.
    pub fn creates(&self) -> bool {
        self.create_mounts
            || self.create_global_mounts
            || self.create_user_mounts.is_some()
            || self.create_group_mounts.is_some()
    }

    /// Whether anything says how.
    pub fn qualifies(&self) -> bool {
        self.max_size.is_some()
            || self.min_size.is_some()
            || self.max_inodes.is_some()
            || self.mount_mode.is_some()
    }
}

fn size(text: &str) -> Result<MountSize, String> {
    let quantity = |text: &str| text.parse::<Quantity>().map_err(|why| why.to_string());
    let Some(percent) = text.strip_suffix('%') else {
        let bytes = quantity(text)?.bytes();
        return bytes.map(MountSize::Bytes).map_err(|why| why.to_string());
    };
    match quantity(percent)?.plain() {
        Some(percent @ 0..=100) => Ok(MountSize::Percent(percent)),
        Some(_) => Err("more than all of the pool".to_owned()),
        None => Err(SizeError::UnknownUnit.to_string()),
    }
}

/// A hugetlbfs has no set-id bits.
fn mode(text: &str) -> Result<u32, String> {
    let octal = text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    let mode = u32::from_str_radix(text, 8).ok().filter(|_| octal);
    match mode {
        Some(mode) if mode & !0o1777 == 0 => Ok(mode),
        _ => Err("not an octal mode of at most 1777".to_owned()),
    }
}
