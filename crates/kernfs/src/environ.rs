//! `/proc/<pid>/environ`: `NAME=value` entries, each terminated by NUL.

/// Returns the value of a variable.
pub fn variable<'e>(environ: &'e [u8], name: &str) -> Option<&'e [u8]> {
    let mut entries = environ.split(|byte| *byte == 0);
    entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_found_by_its_whole_name() {
        let environ = b"AB=1\0A=x=y\0odd\0C=\0";
        assert_eq!(variable(environ, "A"), Some(&b"x=y"[..]));
        assert_eq!(variable(environ, "C"), Some(&b""[..]));
        assert_eq!(variable(environ, "odd"), None);
    }
}
