//! Whether private or shared memory gets transparent huge pages.

/// The mode of a kernel file, `enabled` or `shmem_enabled`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// The kernel has no such file.
    Absent,
    /// The file is invisible, as in a chroot without `/sys`. Only an attempt tells.
    Hidden,
    /// The process may not read the file.
    Unknown,
    /// No memory gets them.
    Never,
    /// Memory with `MADV_HUGEPAGE` gets them.
    Madvise,
    /// All memory gets them.
    Always,
}

impl Mode {
    /// Returns the mode for the kernel's word. Other words, such as `within_size` or those of
    /// future kernels, count as [`Mode::Madvise`].
    pub fn of_word(word: &[u8]) -> Mode {
        match word {
            b"never" | b"deny" => Mode::Never,
            b"always" | b"force" => Mode::Always,
            _ => Mode::Madvise,
        }
    }
}

/// The facts that decide about transparent huge pages, for private or for shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThpFacts {
    /// The mode in `enabled`, or in `shmem_enabled` if the memory is shared.
    pub mode: Mode,
    /// Whether the memory is shared.
    pub is_shared: bool,
    /// Whether `hugepages-*kB/enabled` of the PMD size is `never`.
    pub is_size_never: bool,
    /// Whether `prctl(PR_SET_THP_DISABLE)` is in force.
    pub is_disabled: bool,
    /// Whether a seccomp filter refuses `madvise`.
    pub is_barred: bool,
    /// The bytes that the memory control group leaves.
    pub room: u64,
}

/// Why there are no transparent huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoThp {
    /// The kernel has none.
    Absent,
    /// `transparent_hugepage/enabled` is `never`.
    Never,
    /// `transparent_hugepage/shmem_enabled` is `never` or `deny`.
    SharedNever,
    /// `hugepages-*kB/enabled` of the PMD size is `never`.
    SizeNever,
    /// `prctl(PR_SET_THP_DISABLE)` is in force.
    Disabled,
    /// The memory control group has too little left for whole huge pages, or cannot be read.
    Scarce,
    /// The process may not read the kernel's files.
    Unknown,
    /// A seccomp filter refuses `madvise`, which requests them.
    Refused,
}

impl NoThp {
    /// Returns the reason in words.
    pub const fn reason(self) -> &'static str {
        match self {
            NoThp::Absent => "this kernel has no transparent huge pages",
            NoThp::Never => "/sys/kernel/mm/transparent_hugepage/enabled is never",
            NoThp::SharedNever => {
                "/sys/kernel/mm/transparent_hugepage/shmem_enabled is never or deny"
            }
            NoThp::SizeNever => "transparent huge pages of this size are set to never",
            NoThp::Disabled => "transparent huge pages are disabled by prctl",
            NoThp::Scarce => "the memory control group has too little left, or is unreadable",
            NoThp::Unknown => "the setting of transparent huge pages cannot be read",
            NoThp::Refused => "a seccomp filter refuses madvise(MADV_HUGEPAGE)",
        }
    }
}

impl ThpFacts {
    /// All private memory gets them.
    pub const ON: ThpFacts = ThpFacts {
        mode: Mode::Always,
        is_shared: false,
        is_size_never: false,
        is_disabled: false,
        is_barred: false,
        room: u64::MAX,
    };

    /// No memory gets them.
    pub const OFF: ThpFacts = ThpFacts {
        mode: Mode::Never,
        ..ThpFacts::ON
    };

    /// Whether memory gets them, apart from the memory control group.
    ///
    /// # Errors
    /// The first obstacle.
    pub const fn verdict(&self) -> Result<(), NoThp> {
        match self.mode {
            Mode::Absent => Err(NoThp::Absent),
            Mode::Never if self.is_shared => Err(NoThp::SharedNever),
            Mode::Never => Err(NoThp::Never),
            _ if self.is_size_never => Err(NoThp::SizeNever),
            _ if self.is_disabled => Err(NoThp::Disabled),
            Mode::Unknown => Err(NoThp::Unknown),
            Mode::Always => Ok(()),
            Mode::Hidden | Mode::Madvise if self.is_barred => Err(NoThp::Refused),
            Mode::Hidden | Mode::Madvise => Ok(()),
        }
    }

    /// Whether the memory control group leaves room for `bytes`: huge pages may take half of the
    /// rest, since a first touch takes 2 MiB instead of 4 KiB.
    ///
    /// # Errors
    /// [`NoThp::Scarce`].
    pub const fn has_room(&self, bytes: u64) -> Result<(), NoThp> {
        match bytes <= self.room / 2 {
            true => Ok(()),
            false => Err(NoThp::Scarce),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_obstacle_is_the_reason() {
        let on = ThpFacts {
            mode: Mode::Madvise,
            ..ThpFacts::ON
        };
        assert_eq!(on.verdict(), Ok(()));
        let mode = |word: &[u8]| ThpFacts {
            mode: Mode::of_word(word),
            is_barred: true,
            ..on
        };
        assert_eq!(mode(b"always").verdict(), Ok(()));
        assert_eq!(mode(b"madvise").verdict(), Err(NoThp::Refused));
        assert_eq!(mode(b"never").verdict(), Err(NoThp::Never));
        let shared = ThpFacts {
            is_shared: true,
            ..mode(b"deny")
        };
        assert_eq!(shared.verdict(), Err(NoThp::SharedNever));
        let disabled = ThpFacts {
            is_disabled: true,
            ..on
        };
        assert_eq!(disabled.verdict(), Err(NoThp::Disabled));
        let small = ThpFacts { room: 100, ..on };
        assert_eq!(small.has_room(50), Ok(()));
        assert_eq!(small.has_room(51), Err(NoThp::Scarce));
    }
}
