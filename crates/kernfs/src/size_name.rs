//! Names of page sizes such as `2MB`, as in libhugetlbfs' tools.

use core::fmt;

/// A page size in bytes, displayed in whole GB, MB or KB.
#[derive(Debug, Clone, Copy)]
pub struct SizeName<N>(pub N);

impl<N: Copy + TryInto<u64>> fmt::Display for SizeName<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.try_into().unwrap_or(u64::MAX) {
            n if n >= 1 << 30 => write!(f, "{}GB", n >> 30),
            n if n >= 1 << 20 => write!(f, "{}MB", n >> 20),
            n => write!(f, "{}KB", n >> 10),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn sizes_by_name() {
        assert_eq!(SizeName(64u64 << 10).to_string(), "64KB");
        assert_eq!(SizeName(2usize << 20).to_string(), "2MB");
        assert_eq!(SizeName(16u64 << 30).to_string(), "16GB");
    }
}
