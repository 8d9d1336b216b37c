//! What the libraries and the watcher of `hugectl --report` share: a page of
//! slots, one for each process that is watched, and behind it room for a text
//! each. It is a memory file of the watcher's.
//!
//! A process has as many images as it executes programs. The library in it
//! counts those that it is in ([`Slot::image`]), and notes the last one that a
//! report was made of (`Slot::told`): what ends untold, the watcher tells.

pub mod demands;

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use self::demands::Demands;
use crate::report::Peak;
use crate::segment::Huge;

/// So many processes are watched at once.
pub const SLOTS: usize = 255;

/// The bytes of the slots, in whole pages of any machine.
pub const HEAD_LEN: usize = 64 << 10;

/// The room for the text of a slot.
pub const TEXT_LEN: usize = 64 << 10;

/// The bytes of all.
pub const LEN: usize = HEAD_LEN + SLOTS * TEXT_LEN;

/// A text that counts as told already.
const FINAL: u32 = 1 << 31;

/// Where the text of a slot begins.
pub const fn text_at(slot: usize) -> usize {
    HEAD_LEN + slot * TEXT_LEN
}

/// The first [`HEAD_LEN`] bytes.
#[derive(Debug)]
#[repr(C)]
pub struct Page {
    /// One for each process.
    pub slots: [Slot; SLOTS],
    /// When the watch began, in milliseconds since the machine was started. A process that
    /// is older was another's until then, as that of a shell which goes on as the program.
    pub began: AtomicU64,
}

const _: () = assert!(size_of::<Page>() <= HEAD_LEN);

/// What is known of a process.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Slot {
    /// The process; 0 for nobody.
    pub pid: AtomicU32,
    /// How many of its images have had the library.
    pub image: AtomicU32,
    /// The last one of them whose report is made.
    told: AtomicU32,
    /// How many reports of them are made.
    tellings: AtomicU32,
    /// How long the text is which is the report of an image that is being left
    /// by `exec`, or with [`FINAL`] of one that ends and cannot write it; 0 for
    /// none. Whoever takes it away writes it.
    text: AtomicU32,
    /// Whether this is a child that was forked, and has executed nothing yet.
    pub forked: AtomicU32,
    /// When it was forked, in milliseconds since the machine was started; 0 where that is
    /// not known.
    pub began: AtomicU64,
    /// The most that was seen; see [`Peak`].
    resident: AtomicU64,
    at: AtomicU64,
    huge: [(AtomicU64, AtomicU64); 4],
    /// What is required of the last image.
    pub demands: Demands,
}

impl Slot {
    /// Whether the report of the last image is made.
    pub fn is_told(&self) -> bool {
        let told = self.told.load(Ordering::Acquire);
        told > 0 && told == self.image.load(Ordering::Acquire)
    }

    /// How many reports are made.
    pub fn tellings(&self) -> u32 {
        self.tellings.load(Ordering::Acquire)
    }

    /// Notes that the report of the last image is made.
    pub fn note_told(&self) {
        let image = self.image.load(Ordering::Acquire);
        self.told.store(image, Ordering::Release);
        self.tellings.fetch_add(1, Ordering::AcqRel);
    }

    /// Leaves a text of so many bytes, which is all that there will be, or may be
    /// taken back.
    pub fn leave(&self, len: u32, is_final: bool) {
        let mark = if is_final { FINAL } else { 0 };
        self.text.store(len | mark, Ordering::Release);
    }

    /// Takes back what was left.
    pub fn stay(&self) {
        self.text.store(0, Ordering::Release);
    }

    /// Takes the text away, to write it: how long it is, and whether nothing comes
    /// after it.
    pub fn take_text(&self) -> Option<(usize, bool)> {
        let text = self.text.swap(0, Ordering::AcqRel);
        let is_final = text & FINAL != 0;
        let len = text & !FINAL;
        if len > 0 && !is_final {
            self.note_told();
        }
        (len > 0).then_some((len as usize, is_final))
    }

    /// The most that was seen.
    pub fn peak(&self) -> Peak {
        let mut peak = Peak {
            resident: self.resident.load(Ordering::Relaxed),
            huge: [Huge::default(); 4],
            at: self.at.load(Ordering::Relaxed),
        };
        for (huge, (page_size, bytes)) in peak.huge.iter_mut().zip(&self.huge) {
            huge.page_size = page_size.load(Ordering::Relaxed);
            huge.bytes = bytes.load(Ordering::Relaxed);
        }
        peak
    }

    /// Notes what was seen.
    pub fn set_peak(&self, peak: &Peak) {
        self.resident.store(peak.resident, Ordering::Relaxed);
        self.at.store(peak.at, Ordering::Relaxed);
        for (huge, (page_size, bytes)) in peak.huge.iter().zip(&self.huge) {
            page_size.store(huge.page_size, Ordering::Relaxed);
            bytes.store(huge.bytes, Ordering::Relaxed);
        }
    }

    /// Makes room for another process.
    pub fn clear(&self) {
        self.set_peak(&Peak::default());
        self.demands.clear();
        self.began.store(0, Ordering::Relaxed);
        for number in [
            &self.image,
            &self.told,
            &self.tellings,
            &self.text,
            &self.forked,
        ] {
            number.store(0, Ordering::Relaxed);
        }
        self.pid.store(0, Ordering::Release);
    }
}

impl Page {
    /// The slot of a process.
    pub fn find(&self, pid: u32) -> Option<usize> {
        let mut slots = self.slots.iter();
        slots.position(|slot| slot.pid.load(Ordering::Acquire) == pid)
    }

    /// The same, or a free one, which is its slot from now on.
    pub fn claim(&self, pid: u32) -> Option<usize> {
        self.find(pid).or_else(|| {
            let mut slots = self.slots.iter();
            slots.position(|slot| {
                let place = &slot.pid;
                let claimed = place.compare_exchange(0, pid, Ordering::AcqRel, Ordering::Relaxed);
                claimed.is_ok()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn a_process_keeps_its_slot() {
        let page = Page {
            slots: core::array::from_fn(|_| Slot::default()),
            began: AtomicU64::new(0),
        };
        assert_eq!((page.claim(7), page.claim(8)), (Some(0), Some(1)));
        assert_eq!((page.claim(7), page.find(9)), (Some(0), None));
        page.slots[0].clear();
        assert_eq!((page.find(7), page.claim(9)), (None, Some(0)));
        for pid in 10..10 + 253 {
            assert!(page.claim(pid).is_some());
        }
        assert_eq!(page.claim(1000), None);
    }

    #[test]
    fn the_last_image_is_told_or_not() {
        let slot = Slot::default();
        assert!(!slot.is_told());
        slot.image.store(1, Ordering::Relaxed);
        slot.leave(7, false);
        slot.stay();
        assert_eq!((slot.take_text(), slot.is_told()), (None, false));
        slot.leave(7, false);
        assert_eq!(slot.take_text(), Some((7, false)));
        assert_eq!((slot.is_told(), slot.tellings()), (true, 1));
        slot.image.store(2, Ordering::Relaxed);
        slot.leave(9, true);
        slot.note_told();
        assert_eq!(slot.take_text(), Some((9, true)));
        assert_eq!((slot.is_told(), slot.tellings()), (true, 2));
        let mut peak = Peak {
            resident: 5 << 20,
            at: 77,
            ..Peak::default()
        };
        peak.huge[0] = Huge {
            page_size: 2 << 20,
            bytes: 4 << 20,
        };
        slot.set_peak(&peak);
        assert_eq!(slot.peak(), peak);
    }
}
