//! The name of the process's group, for a message that names a command.

use hugetools_kernfs::number;
use hugetools_pages::kernel::procfile;
use hugetools_pages::sys;

/// The name of the effective group in `/etc/group`, or its number.
pub(crate) fn group_name(buffer: &mut [u8; 64]) -> &str {
    let gid = sys::getegid();
    let mut text = [0; 16384];
    let text = procfile::head(c"/etc/group", &mut text);
    let name = name_of(text, gid).filter(|name| name.len() <= buffer.len());
    let len = match name {
        Some(name) => {
            buffer[..name.len()].copy_from_slice(name);
            name.len()
        }
        None => write_number(gid, buffer),
    };
    core::str::from_utf8(&buffer[..len]).unwrap_or("GROUP")
}

/// The group with this number in a text such as `postgres:x:115:a,b`.
fn name_of(text: &[u8], gid: u32) -> Option<&[u8]> {
    text.split(|b| *b == b'\n').find_map(|line| {
        let mut words = line.split(|b| *b == b':');
        let name = words.next()?;
        let number = number::leading(words.nth(1)?)?;
        (number == u64::from(gid)).then_some(name)
    })
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
