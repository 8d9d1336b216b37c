//! The permission to use `userfaultfd(2)` for faults in system calls: `CAP_SYS_PTRACE`,
//! `vm.unprivileged_userfaultfd=1`, or since Linux 6.1 access to `/dev/userfaultfd`.

use crate::root::error::FileError;
use crate::root::kpath::KPath;
use crate::root::{Owner, Root};

/// The settings that grant the permission to users without capabilities.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserFault {
    /// `vm.unprivileged_userfaultfd`: 1 permits all users. `None` before Linux 5.2.
    pub unprivileged: Option<u64>,
    /// Whether the device exists. Assumed for a recorded tree, which has no devices.
    pub device: bool,
    /// Owner and mode of the device; `None` if it is missing, and in a recorded tree.
    pub owner: Option<Owner>,
}

/// `/dev/userfaultfd`
pub const DEVICE: &str = "/dev/userfaultfd";

impl UserFault {
    /// Reads the settings.
    pub fn read(root: &Root) -> Result<UserFault, FileError> {
        let device = KPath::from(DEVICE);
        Ok(UserFault {
            unprivileged: root.number_opt(&KPath::from("/proc/sys/vm/unprivileged_userfaultfd"))?,
            device: !root.is_live() || root.exists(&device),
            owner: root.owner(&device),
        })
    }

    /// Returns the group other than root's that may open the device, if any.
    pub fn group(&self) -> Option<u32> {
        const READ_AND_WRITE: u32 = 0o060;
        let owner = self.owner?;
        (owner.gid != 0 && owner.mode & READ_AND_WRITE == READ_AND_WRITE).then_some(owner.gid)
    }

    /// Whether only privileged users have the permission.
    pub fn is_privileged_only(&self) -> bool {
        let everybody = |owner: Owner| owner.mode & 0o006 == 0o006;
        self.unprivileged != Some(1) && self.group().is_none() && !self.owner.is_some_and(everybody)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(gid: u32, mode: u32) -> UserFault {
        UserFault {
            unprivileged: Some(0),
            device: true,
            owner: Some(Owner { uid: 0, gid, mode }),
        }
    }

    #[test]
    fn a_group_may_read_and_write() {
        assert_eq!(of(0, 0o600).group(), None);
        assert_eq!(of(0, 0o660).group(), None);
        assert_eq!(of(108, 0o640).group(), None);
        assert_eq!(of(108, 0o660).group(), Some(108));
        assert!(of(0, 0o600).is_privileged_only() && !of(108, 0o660).is_privileged_only());
        assert!(!of(0, 0o666).is_privileged_only());
    }
}
