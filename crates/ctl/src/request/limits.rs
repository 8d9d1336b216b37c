//! `--limit`, `--anon-min`, `--stack-depth`, `--next-touch` and `--only`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use hugetools_contract::env::Limit;
use hugetools_model::Bytes;
use hugetools_model::units::size::{Quantity, SizeError};

use super::usage;
use crate::say::failure::Failure;

pub(super) fn limit(text: &str) -> Result<Limit, Failure> {
    let known = match text.strip_prefix("1/") {
        Some(parts) => parts.parse().ok().map(Limit::Part),
        None => {
            let bytes = text.parse::<Quantity>().and_then(Quantity::bytes);
            bytes.ok().map(|bytes| Limit::Bytes(bytes.get()))
        }
    };
    match known {
        Some(Limit::Part(0) | Limit::Bytes(0)) => usage(format!(
            "--limit={text}: must not be zero; --heap=thp takes no pool pages"
        )),
        Some(limit) => Ok(limit),
        None => usage(format!(
            "--limit={text}: neither a size, such as 512MB, nor a part of the pool, such as 1/64"
        )),
    }
}

/// Parses an option that takes a number of bytes.
pub(super) fn length(option: &str, text: Option<&str>) -> Result<Option<Bytes>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let bytes = text.parse::<Quantity>().and_then(Quantity::bytes);
    match bytes {
        Ok(bytes) if bytes.get() > 0 => Ok(Some(bytes)),
        Err(error @ (SizeError::Overflow | SizeError::Fraction)) => {
            usage(format!("{option}={text}: {error}"))
        }
        _ => usage(format!("{option}={text}: not a size, such as 2MB")),
    }
}

/// Parses `--only` into a list with colons instead of commas.
pub(super) fn only(list: &OsStr) -> Result<OsString, Failure> {
    let names = list.as_bytes().split(|byte| *byte == b',');
    for name in names.clone() {
        let why = match name {
            [] => "a name is empty",
            name if name.contains(&b'/') => "give names of programs, without directories",
            name if name.contains(&b':') => "a name cannot contain a colon",
            _ => continue,
        };
        return usage(format!("--only={}: {why}", Path::new(list).display()));
    }
    let names: Vec<&[u8]> = names.collect();
    Ok(OsString::from_vec(names.join(&b':')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_sizes_or_parts() {
        assert_eq!(limit("1/64").unwrap(), Limit::Part(64));
        assert_eq!(limit("512M").unwrap(), Limit::Bytes(512 << 20));
        for wrong in ["", "0", "1/0", "1/x", "2/3", "512X", "-1", "1/-2", "50%"] {
            let message = limit(wrong).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("--limit={wrong}: ")),
                "{message}"
            );
        }
    }

    #[test]
    fn only_takes_names_without_directories() {
        let list = |text: &str| only(OsStr::new(text)).map_err(|error| error.to_string());
        assert_eq!(list("postgres").unwrap(), "postgres");
        assert_eq!(list("a,b c,d").unwrap(), "a:b c:d");
        for wrong in ["", "a,", ",a", "/bin/a", "a:b"] {
            let message = list(wrong).unwrap_err();
            assert!(
                message.starts_with(&format!("--only={wrong}: ")),
                "{message}"
            );
        }
    }
}
