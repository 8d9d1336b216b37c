//! Users and groups in the host's database.

use std::fs::OpenOptions;
use std::io::Read;

use hugetools_model::root::error::describe_errno;
use nix::unistd::{Gid, Group, Uid, User};

use crate::effects::Account;

pub(super) fn user(name: &str) -> Result<Option<Account>, String> {
    let mut found = User::from_name(name).map_err(|errno| lookup_error("user", errno))?;
    if let (None, Ok(number)) = (&found, name.parse()) {
        found =
            User::from_uid(Uid::from_raw(number)).map_err(|errno| lookup_error("user", errno))?;
    }
    Ok(found.map(|user| Account {
        id: user.uid.as_raw(),
        name: user.name,
        members: Vec::new(),
    }))
}

pub(super) fn group(name: &str) -> Result<Option<Account>, String> {
    let mut found = Group::from_name(name).map_err(|errno| lookup_error("group", errno))?;
    if let (None, Ok(number)) = (&found, name.parse()) {
        found =
            Group::from_gid(Gid::from_raw(number)).map_err(|errno| lookup_error("group", errno))?;
    }
    Ok(found.map(|group| {
        let id = group.gid.as_raw();
        let mut members = group.mem;
        for user in local_users_of(id) {
            if !members.contains(&user) {
                members.push(user);
            }
        }
        Account {
            id,
            name: group.name,
            members,
        }
    }))
}

fn lookup_error(kind: &str, errno: nix::Error) -> String {
    let why = describe_errno(errno as i32);
    format!("cannot read the {kind} database: {why}")
}

/// Returns local users with this primary group. Reads only /etc/passwd, because a
/// network database can have many thousands of users.
fn local_users_of(group: u32) -> Vec<String> {
    let mut text = Vec::new();
    let file = OpenOptions::new().read(true).open("/etc/passwd");
    if file
        .and_then(|mut file| file.read_to_end(&mut text))
        .is_err()
    {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&text);
    let users = text.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(2)?.parse() == Ok(group)).then(|| name.to_owned())
    });
    users.collect()
}
