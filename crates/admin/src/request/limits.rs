//! `--set-recommended-min_free_kbytes`, `--set-recommended-shmmax`, `--set-shm-group`,
//! `--set-userfaultfd-group`.

use super::{GroupOption, Request, shown};
use crate::args::Limits;
use crate::effects::Effects;

pub(super) fn check(
    args: &Limits,
    effects: &mut dyn Effects,
    request: &mut Request,
    errors: &mut Vec<String>,
) {
    if args.set_recommended_min_free_kbytes {
        request.min_free = Some("--set-recommended-min_free_kbytes".to_owned());
    }
    if args.set_recommended_shmmax {
        request.shmmax = Some("--set-recommended-shmmax".to_owned());
    }
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
    if let Some(group) = group("--set-shm-group", &args.set_shm_group) {
        request.shm_group = Some(group);
    }
    if let Some(group) = group("--set-userfaultfd-group", &args.set_userfaultfd_group) {
        request.userfaultfd_group = Some(group);
    }
}
