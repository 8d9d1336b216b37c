//! `--set-shm-group`, `--set-userfaultfd-group`.

use super::{GroupOption, Request, shown};
use crate::args::Limits;
use crate::effects::Effects;

pub(super) fn check(
    args: &Limits,
    effects: &mut dyn Effects,
    request: &mut Request,
    errors: &mut Vec<String>,
) {
    let mut group = |option: &str, name: &Option<String>| {
        let option = format!("{option} {}", shown(name.as_ref()?));
        match effects.group(name.as_ref()?) {
            Ok(Some(group)) => {
                let gid = group.id;
                return Some(GroupOption { option, gid });
            }
            Ok(None) => errors.push(format!("{option}: no such group")),
            Err(error) => errors.push(format!("{option}: {error}")),
        }
        None
    };
    request.shm_group = group("--set-shm-group", &args.set_shm_group);
    request.userfaultfd_group = group("--set-userfaultfd-group", &args.set_userfaultfd_group);
}
