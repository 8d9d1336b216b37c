//! Why a System V segment of a running process is not of pool pages although those were
//! asked for: its user has no right to them.

use hugetools_model::memory::sysctl;
use hugetools_model::process::Pid;
use hugetools_model::{FileError, Root};

use super::mappings::Mappings;
use crate::probe::kernel::group::{has_capability, is_in_group};

/// The reason, where the process has such a segment. Rights in a user namespace of its own
/// are taken for those of the machine: then there is none.
pub(super) fn reason(
    root: &Root,
    pid: Pid,
    mappings: &Mappings,
) -> Result<Option<String>, FileError> {
    let is_segment = |name: &[u8]| name.starts_with(b"/SYSV");
    if !mappings.records().any(|record| is_segment(record.name)) {
        return Ok(None);
    }
    let status = root.read_opt(&pid.path("status"))?;
    let group = root.number_opt(&sysctl::shm_group_path())?;
    let (Some(status), Some(group)) = (status, group) else {
        return Ok(None);
    };
    let may = has_capability(&status) || is_in_group(&status, group);
    Ok((!may).then(|| {
        format!("its user is not in the group of vm.hugetlb_shm_group, which is {group} now")
    }))
}
