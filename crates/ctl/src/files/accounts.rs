//! Names of users and groups, from the files alone: a name service would cost
//! more than the whole start.

use std::path::Path;

use crate::files;

/// A user's name; the number where it has none.
pub(crate) fn user(uid: u32) -> String {
    named("/etc/passwd", uid)
}

/// A group's name; the number where it has none.
pub(crate) fn group(gid: u32) -> String {
    named("/etc/group", gid)
}

/// The number of a user of this name.
pub(crate) fn uid(name: &str) -> Option<u32> {
    numbered("/etc/passwd", name)
}

/// The number of a group of this name.
pub(crate) fn gid(name: &str) -> Option<u32> {
    numbered("/etc/group", name)
}

fn numbered(file: &str, name: &str) -> Option<u32> {
    let text = read_all(Path::new(file));
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_it = fields.next()? == name;
        fields.nth(1).filter(|_| is_it)?.parse().ok()
    })
}

fn named(file: &str, id: u32) -> String {
    let number = id.to_string();
    let text = read_all(Path::new(file));
    let name = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id == number && !name.is_empty()).then(|| name.to_owned())
    });
    name.unwrap_or(number)
}

fn read_all(path: &Path) -> String {
    use std::io::Read;
    let mut bytes = Vec::new();
    let read =
        files::open_regular(path).and_then(|(file, _)| file.take(16 << 20).read_to_end(&mut bytes));
    match read {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_has_a_name_and_others_their_number() {
        assert_eq!((user(0), group(0)), ("root".to_owned(), "root".to_owned()));
        assert_eq!((uid("root"), gid("root")), (Some(0), Some(0)));
        assert_eq!(uid("nobody-at-all"), None);
        assert_eq!(user(4_000_000_000), "4000000000");
    }
}
