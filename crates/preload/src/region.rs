//! The register of shared memory on huge pages: what the program was given,
//! and what stands behind it.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_pages::gate::Pass;
use hugetools_pages::lock::{Held, Lock};
use hugetools_pages::register::GATE;
use hugetools_pages::{fork, sys};

/// Shared memory that was handed out on hugetlb pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    /// The first address; 0 for an unused place.
    pub base: usize,
    /// The length that the program knows, in whole base pages.
    pub len: usize,
    /// The length that is mapped, in whole huge pages.
    pub mapped: usize,
    /// The size of its huge pages.
    pub page: usize,
    /// The access that the program gave it.
    pub prot: i32,
    /// How many of its bytes the program has unmapped one by one.
    pub gone: usize,
    /// How many forks there had been when it was made, and in which process.
    pub forks: u32,
    pub pid: u32,
}

impl Region {
    /// Memory mapped just now.
    pub(crate) fn new(base: usize, len: usize, mapped: usize, page: usize, prot: i32) -> Region {
        Region {
            base,
            len,
            mapped,
            page,
            prot,
            gone: 0,
            forks: fork::count(),
            pid: sys::getpid(),
        }
    }

    const UNUSED: Region = Region {
        base: 0,
        len: 0,
        mapped: 0,
        page: 0,
        prot: 0,
        gone: 0,
        forks: 0,
        pid: 0,
    };

    /// What the program knows of it.
    pub(crate) fn known(&self) -> Range<usize> {
        self.base..self.base + self.len
    }

    /// What is mapped.
    pub(crate) fn mapped(&self) -> Range<usize> {
        self.base..self.base + self.mapped
    }

    /// Whether another process may share it by now, so that it cannot be
    /// replaced by other memory.
    pub(crate) fn may_be_shared(&self) -> bool {
        self.forks != fork::count() || self.pid != sys::getpid()
    }
}

/// So many regions at once; more are left on base pages.
const PLACES: usize = 128;

/// The regions and the lock that guards them.
struct Register {
    lock: Lock,
    regions: core::cell::UnsafeCell<[Region; PLACES]>,
}

#[expect(unsafe_code, reason = "shares the table between threads")]
// SAFETY: the table is reached through `Open` only, which holds the lock.
unsafe impl Sync for Register {}

static REGISTER: Register = Register {
    lock: Lock::new(),
    regions: core::cell::UnsafeCell::new([Region::UNUSED; PLACES]),
};

/// How many regions there are: programs without any pay one load.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The register, open to this thread alone. A fork waits until it is closed.
pub(crate) struct Open {
    _held: Held<'static>,
    _pass: Pass<'static>,
}

/// Whether any region may meet the range; no lock is taken where there is
/// none at all.
pub(crate) fn meets(range: &Range<usize>) -> bool {
    COUNT.load(Ordering::Acquire) != 0 && open().first(range).is_some()
}

/// Opens the register.
pub(crate) fn open() -> Open {
    let pass = GATE.pass();
    Open {
        _held: REGISTER.lock.lock(),
        _pass: pass,
    }
}

impl Open {
    #[expect(unsafe_code, reason = "reaches into the table")]
    fn table(&mut self) -> &mut [Region; PLACES] {
        // SAFETY: the lock is held for as long as `self` lives.
        unsafe { &mut *REGISTER.regions.get() }
    }

    /// Enters a region; whether there was a place for it.
    pub(crate) fn enter(&mut self, region: Region) -> bool {
        let place = self.table().iter_mut().find(|place| place.base == 0);
        let Some(place) = place else {
            return false;
        };
        *place = region;
        COUNT.fetch_add(1, Ordering::Release);
        true
    }

    /// The region with the lowest address that meets the range.
    pub(crate) fn first(&mut self, range: &Range<usize>) -> Option<Region> {
        let meets = |region: &&Region| {
            region.base != 0 && region.base < range.end && range.start < region.mapped().end
        };
        let found = self.table().iter().filter(meets);
        found.min_by_key(|region| region.base).copied()
    }

    /// Replaces what is known of the region at `base`, or forgets it.
    pub(crate) fn update(&mut self, base: usize, region: Option<Region>) {
        if let Some(place) = self.table().iter_mut().find(|place| place.base == base) {
            *place = region.unwrap_or(Region::UNUSED);
            if region.is_none() {
                COUNT.fetch_sub(1, Ordering::Release);
            }
        }
    }

    /// Calls `visit` for each region.
    pub(crate) fn each(&mut self, mut visit: impl FnMut(&Region)) {
        let used = self.table().iter().filter(|region| region.base != 0);
        used.for_each(&mut visit);
    }
}
