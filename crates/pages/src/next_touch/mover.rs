//! Parks memory piece by piece, and moves touched pieces back to their origin.
#![expect(unsafe_code, reason = "moves the program's pages")]

use core::ffi::c_int;
use core::ops::Range;

use super::figures::count;
use super::nodes::Nodes;
use super::pieces::{Piece, Pieces, map_parking, unmap};
use super::resident::{break_cow, has_resident_page};
use crate::kernel::facts;
use crate::sys::{self, Errno, MoveFault, Result, UffdEvent};

/// Maximum number of pieces per mapping: each fault searches all of them, and each may become a VMA
/// (`vm.max_map_count` is 65530 by default).
const MAX_PIECES: usize = 1024;

#[derive(Debug)]
pub(super) struct Mover {
    fault: MoveFault,
    nodes: Nodes,
    pieces: Pieces,
    /// Parking memory of the pieces that [`Mover::park`] has yet to park.
    unused: Range<usize>,
}

impl Mover {
    pub(super) fn new(fault: MoveFault) -> Result<Mover> {
        Ok(Mover {
            fault,
            nodes: Nodes::read(),
            pieces: Pieces::new()?,
            unused: 0..0,
        })
    }

    pub(super) fn userfaultfd(&self) -> &MoveFault {
        &self.fault
    }

    /// Whether no piece is parked, or the table of pieces is nearly full.
    pub(super) fn should_end(&self) -> bool {
        self.pieces.all().is_empty() || self.pieces.is_crowded()
    }

    /// Brings all pieces back if the range overlaps the origin of one, to park it again, or parking
    /// memory, which must not be parked.
    pub(super) fn finish_if_parked(&mut self, range: &Range<usize>) {
        if self.pieces.overlap(range) {
            self.finish();
        }
    }

    /// Parks a range of one mapping.
    ///
    /// # Errors
    /// `ENOMEM`; `EBUSY` if another userfaultfd watches the range.
    pub(super) fn park(&mut self, range: &Range<usize>, prot: c_int) -> Result<()> {
        if self.pieces.find(range).is_some() {
            // `mremap` has just moved parked memory here.
            return Ok(());
        }
        if !self.pieces.has_room() {
            return Err(Errno(libc::ENOMEM));
        }
        if sys::has_child() == Some(false) {
            break_cow(range);
        }
        let parking = map_parking(range, prot)?;
        let watched = self.fault.watch(range);
        watched.inspect_err(|_| unmap(parking, range.len()))?;
        let huge = facts::thp_size();
        let len = (range.len() / MAX_PIECES).next_multiple_of(huge).max(huge);
        let whole = Piece {
            origin: range.start,
            parked: parking,
            len: range.len(),
        };
        let pieces = || (range.start / len * len..range.end).step_by(len);
        let pieces = || pieces().filter_map(|start| whole.part_in(&(start..start + len)));
        pieces().for_each(|piece| self.pieces.add(piece));
        for piece in pieces() {
            self.unused = piece.parked().end..whole.parked().end;
            self.park_piece(&piece.parked());
            self.serve();
        }
        Ok(())
    }

    /// Parks the pages of this parking memory, except those that the program has moved or unmapped
    /// since the watch began.
    fn park_piece(&self, parked: &Range<usize>) {
        // UFFDIO_MOVE needs a watched target.
        if self.fault.watch(parked).is_ok() {
            let mut at = parked.start;
            while let Some(part) = self.pieces.first_parked(&(at..parked.end)) {
                if has_resident_page(&part.origin()) {
                    self.evict(&part);
                }
                at = part.parked().end;
            }
        }
        let _ = self.fault.unwatch(parked);
    }

    /// Moves pages to their parking memory. Pages that can't move stay.
    fn evict(&self, piece: &Piece) {
        let mut at = 0;
        while at < piece.len {
            let rest = piece.part(at, piece.len);
            // SAFETY: by the table, `parked` is reserved for these pages.
            let (done, result) = unsafe { self.fault.move_pages(rest.parked, &rest.origin()) };
            at += done;
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
    }

    /// Serves all messages: faults and changes.
    pub(super) fn serve(&mut self) {
        while let Some(message) = self.fault.read() {
            match message {
                UffdEvent::Fault { addr, thread } => self.serve_fault(addr, thread),
                change => self.apply(&change),
            }
        }
    }

    /// Reads all messages: applies changes, and wakes faulting threads, which fault again.
    fn read_changes(&mut self) {
        while let Some(message) = self.fault.read() {
            match message {
                UffdEvent::Fault { addr, .. } => self.fault.wake(addr),
                change => self.apply(&change),
            }
        }
    }

    /// Applies a change that the program makes to watched memory.
    fn apply(&mut self, change: &UffdEvent) {
        match change {
            UffdEvent::Fault { .. } => {}
            UffdEvent::Remap { from, to, len } => {
                while let Some(part) = self.pieces.take(&(*from..from + len)) {
                    self.pieces.add(Piece {
                        origin: part.origin - from + to,
                        ..part
                    });
                }
            }
            UffdEvent::Unmapped(range) => {
                while let Some(part) = self.pieces.take(range) {
                    part.unmap();
                }
            }
            UffdEvent::Dropped(range) => {
                let pieces = self.pieces.all().iter();
                let parts = pieces.filter_map(|piece| piece.part_in(range));
                parts.for_each(|part| drop_pages(&part));
                self.give_up_unparked(range);
            }
        }
    }

    /// Takes unparked pieces of a range out of the table. The program drops their pages only after
    /// we have read its message: pages parked before that would come back.
    fn give_up_unparked(&mut self, range: &Range<usize>) {
        let unused = self.unused.clone();
        let is_unparked =
            |piece: &&Piece| unused.contains(&piece.parked) && piece.part_in(range).is_some();
        while let Some(piece) = self.pieces.all().iter().find(is_unparked).copied() {
            self.settle(&piece.origin());
        }
    }

    /// Migrates the touched piece to the thread's node, then returns it to its origin, which wakes
    /// the thread.
    fn serve_fault(&mut self, addr: usize, thread: u32) {
        let touched = addr..addr + sys::page_size();
        let Some(piece) = self.pieces.find(&touched) else {
            // A mapping that has grown, or memory that is back: nothing of this page is parked.
            let _ = self.fault.unwatch(&touched);
            return;
        };
        let node = self.nodes.of_thread(thread);
        if let Some(node) = node.filter(|_| has_resident_page(&piece.parked())) {
            let parked = addr - piece.origin + piece.parked;
            let is_local = || sys::page_node(parked) == Some(node);
            let was_local = is_local();
            migrate(&piece.parked(), node);
            count(piece.len, was_local, is_local());
        }
        while let Some(piece) = self.pieces.find(&touched) {
            self.bring_back(&piece);
        }
    }

    /// Moves a piece back to its origin and ends its watch. A change by the program interrupts this
    /// and is applied: the rest of the piece stays parked, perhaps with another origin.
    fn bring_back(&mut self, piece: &Piece) {
        let mut done = 0;
        while done < piece.len {
            match self.move_back(&piece.part(done, piece.len)) {
                0 => break,
                more => done += more,
            }
        }
        self.settle(&piece.part(0, done).origin());
        if done < piece.len {
            self.read_changes();
            // Lets the thread that makes the change go on.
            sys::yield_now();
        }
    }

    /// Moves pages from the start of a piece back; returns the bytes, 0 to try again after reading
    /// messages.
    fn move_back(&self, piece: &Piece) -> usize {
        // SAFETY: by the table, the pages belong there.
        let (done, result) = unsafe { self.fault.move_pages(piece.origin, &piece.parked()) };
        if done > 0 || matches!(result, Ok(()) | Err(Errno(libc::EAGAIN))) {
            return done;
        }
        // Copies a page that can't move.
        let page = piece.part(0, sys::page_size());
        // SAFETY: the parking memory is ours and readable.
        let (_, result) = unsafe { self.fault.copy(page.origin, &page.parked()) };
        match result {
            Err(Errno(libc::EAGAIN)) => 0,
            // No memory for the copy, or to swap the page in: the thread waits for it, as in any
            // page fault.
            Err(Errno(libc::ENOMEM | libc::EFAULT)) => {
                sys::sleep(1);
                0
            }
            // Copied, or a page is there already, or nothing is mapped there any more.
            _ => page.len,
        }
    }

    /// Removes an origin range from the table and ends its watch; threads that wait for it go on.
    fn settle(&mut self, origin: &Range<usize>) {
        while let Some(part) = self.pieces.take(origin) {
            part.unmap();
        }
        let _ = self.fault.unwatch(origin);
    }

    /// Brings all pieces back.
    pub(super) fn finish(&mut self) {
        while let Some(piece) = self.pieces.all().last().copied() {
            self.bring_back(&piece);
        }
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

/// Drops parked pages whose origin the program has dropped.
fn drop_pages(part: &Piece) {
    // SAFETY: the program has dropped them.
    let _ = unsafe { sys::madvise(part.parked, part.len, libc::MADV_DONTNEED) };
}

#[cfg(test)]
mod tests;
