//! Entries of `/proc/<pid>/pagemap`, one per base page, in the format since Linux 3.5.

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Entry(u64);

impl Entry {
    /// Length of an entry in bytes.
    pub const LEN: usize = size_of::<u64>();

    /// Returns an entry from a word of the file.
    pub const fn new(word: u64) -> Entry {
        Entry(word)
    }

    /// Parses entries. Ignores an incomplete entry at the end.
    pub fn all(bytes: &[u8]) -> impl Iterator<Item = Entry> {
        let words = bytes.chunks_exact(Entry::LEN);
        words.map(|word| Entry(u64::from_ne_bytes(word.try_into().unwrap_or_default())))
    }

    /// Whether the page is in memory.
    pub const fn is_present(self) -> bool {
        self.0 >> 63 & 1 != 0
    }

    /// Whether the page is swapped out or has another swap entry, such as for migration.
    pub const fn is_swapped(self) -> bool {
        self.0 >> 62 & 1 != 0
    }

    /// Whether the page belongs to a file or to shared memory.
    pub const fn is_of_file(self) -> bool {
        self.0 >> 61 & 1 != 0
    }

    /// Whether the page is mapped only once. Since Linux 4.2.
    pub const fn is_exclusive(self) -> bool {
        self.0 >> 56 & 1 != 0
    }

    /// Returns the page frame number; `None` for an absent page, or without CAP_SYS_ADMIN.
    pub const fn frame(self) -> Option<u64> {
        match self.0 & ((1 << 55) - 1) {
            frame if frame != 0 && self.is_present() => Some(frame),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_an_entry() {
        let own = Entry::new(1 << 63 | 1 << 56 | 7);
        assert!(own.is_present() && own.is_exclusive() && !own.is_of_file() && !own.is_swapped());
        assert_eq!(own.frame(), Some(7));
        assert_eq!(Entry::new(1 << 63).frame(), None);
        assert_eq!(Entry::new(1 << 62 | 7).frame(), None);
        assert!(Entry::new(1 << 62).is_swapped() && Entry::new(1 << 61).is_of_file());
    }

    #[test]
    fn an_incomplete_entry_is_ignored() {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&1_u64.to_ne_bytes());
        bytes[8..].copy_from_slice(&(1_u64 << 63).to_ne_bytes());
        assert_eq!(Entry::all(&bytes).count(), 2);
        assert!(Entry::all(&bytes).nth(1).is_some_and(Entry::is_present));
        assert_eq!(Entry::all(&bytes[..15]).count(), 1);
    }
}
