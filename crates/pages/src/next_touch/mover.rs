//! Parks memory piece by piece, and brings pieces back.
#![expect(unsafe_code, reason = "moves the program's pages")]

use core::ffi::c_int;
use core::ops::Range;

use super::area::{Area, NEW, SETTLED, WAITING};
use super::figures::count;
use super::nodes::Nodes;
use super::regions::{Region, Regions};
use super::resident::{has_page, make_exclusive};
use crate::sys::{self, Errno, Message, MoveFault, Result};

/// Maximum number of mappings parked at the same time.
const AREAS: usize = 64;

#[derive(Debug)]
pub(super) struct Mover {
    fault: MoveFault,
    nodes: Nodes,
    areas: [Option<Area>; AREAS],
    regions: Regions,
    /// Number of parked pieces.
    waiting: usize,
}

impl Mover {
    pub(super) fn new(fault: MoveFault) -> Result<Mover> {
        Ok(Mover {
            fault,
            nodes: Nodes::read(),
            areas: [const { None }; AREAS],
            regions: Regions::new()?,
            waiting: 0,
        })
    }

    pub(super) fn messages(&self) -> &MoveFault {
        &self.fault
    }

    /// Whether to end: no piece is parked, or the table of regions is crowded.
    pub(super) fn is_over(&self) -> bool {
        self.waiting == 0 || self.regions.is_crowded()
    }

    /// Brings all pieces back if part of the range was parked, so that it can be parked again.
    pub(super) fn finish_if_parked(&mut self, range: &Range<usize>) {
        if self.regions.has(range) {
            self.finish();
        }
    }

    /// Parks a range of one mapping.
    ///
    /// # Errors
    /// `ENOMEM`; `EBUSY` if another userfaultfd watches the range.
    pub(super) fn park(&mut self, origin: &Range<usize>, prot: c_int) -> Result<()> {
        if self.regions.has(origin) {
            // `mremap` has just moved parked memory here.
            return Ok(());
        }
        let free = self.areas.iter().position(Option::is_none);
        let free = free.ok_or(Errno(libc::ENOMEM))?;
        if sys::has_child() == Some(false) {
            make_exclusive(origin);
        }
        let area = Area::map(origin, prot)?;
        if let Err(error) = self.fault.watch(origin) {
            area.unmap();
            return Err(error);
        }
        self.regions.add(Region {
            origin: origin.start,
            parked: area.parked.start,
            len: origin.len(),
        });
        let pieces = area.pieces();
        self.areas[free] = Some(area);
        for index in pieces {
            self.park_piece(free, index);
            self.serve();
        }
        Ok(())
    }

    /// Parks a piece, unless it has no pages or the program is changing it.
    fn park_piece(&mut self, area: usize, index: usize) {
        let Some(parking) = self.areas[area].as_ref() else {
            return;
        };
        if parking.states[index] != NEW {
            return;
        }
        let piece = parking.piece(index);
        // UFFDIO_MOVE needs a watched target.
        let moved = match self.fault.watch(&piece) {
            Ok(()) => self.evict(&piece),
            Err(_) => 0,
        };
        let _ = self.fault.forget(&piece);
        let state = if moved > 0 { WAITING } else { SETTLED };
        self.waiting += usize::from(moved > 0);
        if let Some(area) = &mut self.areas[area] {
            area.states[index] = state;
        }
    }

    /// Parks pages of a piece; returns the bytes moved. Pages that can't move stay.
    fn evict(&self, piece: &Range<usize>) -> usize {
        let (mut at, mut moved) = (piece.start, 0);
        while let Some(part) = self.regions.first_parked(&(at..piece.end)) {
            if at == piece.start && !has_page(&part.origin()) {
                at = part.parked().end;
                continue;
            }
            // SAFETY: by the table, `parked` is reserved for these pages.
            let (done, result) = unsafe { self.fault.move_pages(part.parked, &part.origin()) };
            moved += done;
            at = part.parked + done;
            match result {
                Ok(()) => {}
                // A retry may move more.
                Err(Errno(libc::EAGAIN)) if done > 0 => {}
                // Pinned, or shared with a forked child.
                Err(Errno(libc::EBUSY)) => at += sys::page_size(),
                // A message about a change is still unread, or the protection differs.
                Err(_) => break,
            }
        }
        moved
    }

    /// Serves all messages: faults and changes.
    pub(super) fn serve(&mut self) {
        while let Some(message) = self.fault.read() {
            match message {
                Message::Fault { addr, thread } => self.serve_fault(addr, thread),
                change => self.apply(&change),
            }
        }
    }

    /// Reads all messages: applies changes, and wakes faulting threads, which fault again.
    fn read_changes(&mut self) {
        while let Some(message) = self.fault.read() {
            match message {
                Message::Fault { addr, .. } => self.fault.wake(addr),
                change => self.apply(&change),
            }
        }
    }

    /// Applies a change that the program makes to watched memory.
    fn apply(&mut self, change: &Message) {
        match change {
            Message::Fault { .. } => {}
            Message::Remap { from, to, len } => {
                while let Some(part) = self.regions.take_part(&(*from..from + len)) {
                    self.leave(&part);
                    self.regions.add(Region {
                        origin: part.origin - from + to,
                        ..part
                    });
                }
            }
            Message::Unmapped(range) => {
                while let Some(part) = self.regions.take_part(range) {
                    self.leave(&part);
                    drop_pages(&part);
                }
            }
            Message::Dropped(range) => {
                for index in 0..self.regions.count() {
                    if let Some(part) = self.regions.part_at(index, range) {
                        self.leave(&part);
                        drop_pages(&part);
                    }
                }
            }
        }
    }

    /// Settles pieces that aren't parked yet: the program is changing them.
    fn leave(&mut self, part: &Region) {
        let mut areas = self.areas.iter_mut().flatten();
        let Some(area) = areas.find(|area| area.parked.contains(&part.parked)) else {
            return;
        };
        for index in area.index(part.parked)..=area.index(part.parked().end - 1) {
            if area.states[index] == NEW {
                area.states[index] = SETTLED;
            }
        }
    }

    /// Migrates the touched piece to the thread's node, then returns it to its origin and wakes the
    /// thread.
    fn serve_fault(&mut self, addr: usize, thread: u32) {
        let page = sys::page_size();
        let Some(region) = self.regions.at_origin(addr) else {
            // The mapping has grown: nothing of this page is parked.
            let _ = self.fault.forget(&(addr..addr + page));
            return;
        };
        let parked = addr - region.origin + region.parked;
        let Some((at, index)) = self.find(parked) else {
            return;
        };
        let piece = self.areas[at].as_ref().map(|area| area.piece(index));
        let piece = piece.unwrap_or_default();
        if self.take_waiting(at, index) {
            if let Some(node) = self.nodes.of_thread(thread) {
                let is_local = || sys::page_node(parked) == Some(node);
                let was_local = is_local();
                migrate(&piece, node);
                count(piece.len(), was_local, is_local());
            }
            self.bring_back(&piece);
        }
        self.end_watch(&piece);
    }

    fn find(&self, parked: usize) -> Option<(usize, usize)> {
        let has = |area: &Option<Area>| {
            let area = area.as_ref().filter(|area| area.parked.contains(&parked))?;
            Some(area.index(parked))
        };
        let mut areas = self.areas.iter().enumerate();
        areas.find_map(|(at, area)| Some((at, has(area)?)))
    }

    /// Settles a piece; returns whether it was parked.
    fn take_waiting(&mut self, area: usize, index: usize) -> bool {
        let Some(area) = &mut self.areas[area] else {
            return false;
        };
        let was = core::mem::replace(&mut area.states[index], SETTLED) == WAITING;
        self.waiting -= usize::from(was);
        was
    }

    /// Moves a piece back to its origin.
    fn bring_back(&mut self, piece: &Range<usize>) {
        let mut at = piece.start;
        while let Some(part) = self.regions.first_parked(&(at..piece.end)) {
            // SAFETY: by the table, the pages belong there.
            let (mut done, result) = unsafe { self.fault.move_pages(part.origin, &part.parked()) };
            if done == 0 && !matches!(result, Ok(()) | Err(Errno(libc::EAGAIN))) {
                // Copies a page that can't move.
                let page = part.parked..part.parked + sys::page_size();
                // SAFETY: the parking memory is ours and readable.
                let (_, result) = unsafe { self.fault.copy(part.origin, &page) };
                match result {
                    Err(Errno(libc::EAGAIN)) => {}
                    // No memory for the copy, or to swap the page in: the thread waits for it, as
                    // in any page fault.
                    Err(Errno(libc::ENOMEM | libc::EFAULT)) => sys::sleep(1),
                    // Copied, or a page is there already, or nothing is mapped there any more.
                    _ => done = page.len(),
                }
            }
            at = part.parked + done;
            if done == 0 {
                self.read_changes();
            }
        }
    }

    /// Ends the watch of a piece; threads that wait for it go on.
    fn end_watch(&self, piece: &Range<usize>) {
        let mut at = piece.start;
        while let Some(part) = self.regions.first_parked(&(at..piece.end)) {
            let _ = self.fault.forget(&part.origin());
            at = part.parked().end;
        }
    }

    /// Brings all pieces back and ends all watches.
    pub(super) fn finish(&mut self) {
        for at in 0..AREAS {
            let pieces = self.areas[at].as_ref().map(Area::pieces);
            for index in pieces.into_iter().flatten() {
                if self.take_waiting(at, index) {
                    let piece = self.areas[at].as_ref().map(|area| area.piece(index));
                    self.bring_back(&piece.unwrap_or_default());
                }
            }
            if let Some(area) = self.areas[at].take() {
                self.end_watch(&area.parked);
                area.unmap();
            }
        }
        self.regions.clear();
    }
}

/// Migrates a parked piece to a node.
fn migrate(piece: &Range<usize>, node: u32) {
    const MPOL_BIND: usize = 2;
    const MPOL_MF_MOVE: usize = 1 << 1;
    let mut mask = [0_u64; 16];
    if let Some(word) = mask.get_mut(node as usize / 64) {
        *word |= 1 << (node % 64);
    }
    let (at, len, mask) = (piece.start, piece.len(), mask.as_ptr() as usize);
    // SAFETY: the mask has that many bits; the policy is set on a mapping of ours.
    let _ = unsafe { sys::mbind(at, len, MPOL_BIND, mask, 1024, MPOL_MF_MOVE) };
}

/// Drops parked pages whose origin the program has dropped or unmapped.
fn drop_pages(part: &Region) {
    // SAFETY: the program has dropped them.
    let _ = unsafe { sys::madvise(part.parked, part.len, libc::MADV_DONTNEED) };
}

#[cfg(test)]
mod tests;
