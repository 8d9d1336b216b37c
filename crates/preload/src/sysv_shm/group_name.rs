//! The name of the process's group, for a message that names a command. Looked for on a
//! stack of ours: the program's may be small.

use hugetools_kernfs::number;
use hugetools_pages::kernel::procfile;
use hugetools_pages::sys;

/// The name of the effective group in `/etc/group`, or its number.
pub(crate) fn group_name(buffer: &mut [u8; 64]) -> &str {
    let gid = sys::getegid();
    let copy = |line: &[u8]| {
        let name = name_in(line, gid)?;
        buffer.get_mut(..name.len())?.copy_from_slice(name);
        Some(name.len())
    };
    let found = procfile::look(|| procfile::each_line(c"/etc/group", copy));
    let len = found.unwrap_or_else(|| write_number(gid, buffer));
    core::str::from_utf8(&buffer[..len]).unwrap_or("GROUP")
}

/// The name in a line such as `postgres:x:115:a,b`, if it is about the group with this
/// number.
fn name_in(line: &[u8], gid: u32) -> Option<&[u8]> {
    let mut words = line.split(|b| *b == b':');
    let name = words.next()?;
    let number = number::leading(words.nth(1)?)?;
    (number == u64::from(gid)).then_some(name)
}

fn write_number(number: u32, buffer: &mut [u8; 64]) -> usize {
    let mut rest = number;
    let mut len = 0;
    loop {
        let digit = u8::try_from(rest % 10).unwrap_or(0);
        buffer[len] = b'0' + digit;
        len += 1;
        rest /= 10;
        if rest == 0 {
            buffer[..len].reverse();
            return len;
        }
    }
}
