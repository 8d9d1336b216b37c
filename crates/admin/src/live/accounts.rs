//! Users and groups in the host's database.

use hugetools_model::root::error::describe_errno;
use nix::unistd::{Gid, Group, Uid, User};

use crate::effects::Account;

pub(super) fn user(name: &str) -> Result<Option<Account>, String> {
    let mut found = User::from_name(name);
    if let (Ok(None), Ok(number)) = (&found, name.parse()) {
        found = User::from_uid(Uid::from_raw(number));
    }
    let found = found.map_err(|errno| lookup_error("user", errno))?;
    Ok(found.map(|user| Account {
        id: user.uid.as_raw(),
        name: user.name,
    }))
}

pub(super) fn group(name: &str) -> Result<Option<Account>, String> {
    let mut found = Group::from_name(name);
    if let (Ok(None), Ok(number)) = (&found, name.parse()) {
        found = Group::from_gid(Gid::from_raw(number));
    }
    let found = found.map_err(|errno| lookup_error("group", errno))?;
    Ok(found.map(|group| Account {
        id: group.gid.as_raw(),
        name: group.name,
    }))
}

fn lookup_error(kind: &str, errno: nix::Error) -> String {
    let why = describe_errno(errno as i32);
    format!("cannot read the {kind} database: {why}")
}
