//! Names of users and groups, from the files alone: a name service would cost more than the
//! whole start.

use std::io::Read;
use std::path::Path;

use crate::files;

/// Returns a user's name, or the number.
pub(crate) fn user(uid: u32) -> String {
    name("/etc/passwd", uid)
}

/// Returns a group's name, or the number.
pub(crate) fn group(gid: u32) -> String {
    name("/etc/group", gid)
}

fn name(file: &str, id: u32) -> String {
    let mut text = Vec::new();
    if let Ok((mut file, _)) = files::open_regular(Path::new(file)) {
        // A part is better than nothing.
        let _ = file.read_to_end(&mut text);
    }
    let text = String::from_utf8_lossy(&text);
    let id = id.to_string();
    let name = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)? == id).then(|| name.to_owned())
    });
    name.unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_has_a_name_and_strangers_a_number() {
        assert_eq!((user(0), group(0)), ("root".to_owned(), "root".to_owned()));
        assert_eq!(user(4_000_000_000), "4000000000");
    }
}
