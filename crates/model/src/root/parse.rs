//! Files that the crate procfs parses correctly, live or recorded. Its errors name a line
//! of procfs' source; they are replaced by the file and the cause.

use procfs::{FromRead, ProcError, ProcResult, Uptime};

pub use procfs::KernelVersion;

/// A type that [`Root::parse`](crate::Root::parse) can read.
pub trait Text: Sized {
    /// Parses the contents of the file.
    ///
    /// # Errors
    /// Why they are invalid.
    fn parse(text: &str) -> Result<Self, String>;
}

/// `/proc/sys/kernel/osrelease`.
impl Text for KernelVersion {
    fn parse(text: &str) -> Result<KernelVersion, String> {
        let end = text.find(|c: char| c != '.' && !c.is_ascii_digit());
        let numbers = &text[..end.unwrap_or(text.len())];
        // procfs requires three numbers.
        let third = if numbers.matches('.').count() == 1 {
            ".0"
        } else {
            ""
        };
        let version = format!("{numbers}{third}").parse();
        version.map_err(str::to_owned)
    }
}

/// `/proc/uptime`.
impl Text for Uptime {
    fn parse(text: &str) -> Result<Uptime, String> {
        told(Uptime::from_read(text.as_bytes()))
    }
}

/// Strips procfs' source location from an error.
fn told<T>(result: ProcResult<T>) -> Result<T, String> {
    result.map_err(|error| match error {
        ProcError::InternalError(error) => error.msg,
        ProcError::Io(error, _) => error.to_string(),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn versions_of_kernels() {
        let version = |text| KernelVersion::parse(text).map(|it| (it.major, it.minor));
        assert_eq!(version("6.18.44-fc-v657\n"), Ok((6, 18)));
        assert_eq!(version("6.6.87.2-standard\n"), Ok((6, 6)));
        assert_eq!(version("7.0-rc1\n"), Ok((7, 0)));
        assert!(version("next\n").is_err());
    }

    #[test]
    fn a_cause_names_no_source_of_another_crate() {
        let cause = Uptime::parse("soon\n").unwrap_err();
        assert!(!cause.contains(".rs"), "{cause}");
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC{0,60}") {
            let _ = KernelVersion::parse(&text);
            let _ = Uptime::parse(&text);
        }
    }
}
