//! `--set-shm-group`.

use super::{Request, ShmGroup};
use crate::args::Limits;
use crate::effects::Effects;

pub(super) fn check(
    args: &Limits,
    effects: &mut dyn Effects,
    request: &mut Request,
    errors: &mut Vec<String>,
) {
    let Some(name) = &args.set_shm_group else {
        return;
    };
    let option = format!("--set-shm-group {name}");
    match effects.group(name) {
        Ok(Some(group)) => {
            let gid = group.id;
            request.shm_group = Some(ShmGroup { option, gid });
        }
        Ok(None) => errors.push(format!("{option}: there is no such group")),
        Err(error) => errors.push(format!("{option}: {error}")),
    }
}
