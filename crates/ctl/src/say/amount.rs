//! Bytes in a message.

use std::fmt;

use hugetools_model::Bytes;

/// Bytes in MB or KB, to a tenth; whole MB and less than 1 KB as [`Bytes`] prints them.
pub(crate) struct Amount(pub(crate) Bytes);

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.get();
        let tenths = |unit: u64| (bytes % unit).saturating_mul(10) / unit;
        match bytes {
            _ if bytes % (1 << 20) == 0 => self.0.fmt(f),
            _ if bytes >= 1 << 20 => write!(f, "{}.{}MB", bytes >> 20, tenths(1 << 20)),
            _ if bytes >= 1 << 10 => write!(f, "{}.{}KB", bytes >> 10, tenths(1 << 10)),
            _ => self.0.fmt(f),
        }
    }
}
