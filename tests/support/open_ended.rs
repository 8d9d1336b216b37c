//! Open-ended tests last `HUGETOOLS_SECONDS`, by default 1.

use std::time::Duration;

/// Returns the duration of an open-ended test.
pub(crate) fn duration() -> Duration {
    let seconds = std::env::vars_os().find(|(name, _)| name == "HUGETOOLS_SECONDS");
    let seconds = seconds.and_then(|(_, value)| value.to_str()?.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1))
}
