//! `--set-shm-group`.

use hugetools_model::sysctl;

use super::{Number, Step, Task, Value, What, Write};
use crate::request::ShmGroup;

pub(super) fn shm_group(group: &ShmGroup) -> Task {
    Task {
        option: group.option.clone(),
        steps: vec![Step::Write(Write {
            file: Number {
                path: sysctl::shm_group_path(),
                surplus: None,
            },
            value: Value::Plain(u64::from(group.gid)),
            what: What::Setting,
            refused: None,
        })],
    }
}
