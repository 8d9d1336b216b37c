//! How long the tests last that could go on for ever: `HUGETOOLS_SECONDS`,
//! 1 without it, so that all tests together take a newcomer a few minutes.

use std::time::Duration;

/// The time that such a test takes.
pub(crate) fn length() -> Duration {
    let seconds = std::env::vars_os().find(|(name, _)| name == "HUGETOOLS_SECONDS");
    let seconds = seconds.and_then(|(_, value)| value.to_str()?.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1))
}
