//! Sets memory aside piece by piece, and brings pieces back.
#![expect(unsafe_code, reason = "moves the program's pages")]

use core::ffi::c_int;
use core::ops::Range;

use super::figures::count;
use super::nodes::{self, Mask, Nodes, Toucher};
use super::regions::{Region, Regions};
use crate::kernel::facts;
use crate::sys::{self, Errno, Message, Missing, Result};

/// Maximum number of areas: mappings set aside at the same time.
const AREAS: usize = 64;
/// Pieces of an area: each that was moved may be a VMA of its own, and a process may have 65530.
const MOST_PIECES: usize = 8192;

/// State of a piece: not looked at yet.
const NEW: u8 = 0;
/// It is aside, at least in part.
const WAITING: u8 = 1;
/// It is where it belongs, or is left there.
const SETTLED: u8 = 2;

/// A mapping of ours for memory set aside.
#[derive(Debug)]
struct Area {
    /// Its addresses, the same modulo a huge page as those of the memory.
    aside: Range<usize>,
    /// Its mapping, including the room before and behind.
    mapping: Range<usize>,
    /// Length of a piece.
    piece: usize,
    /// Index of the first piece: its address by the length.
    first: usize,
    /// The states of the pieces.
    states: &'static mut [u8],
}

impl Area {
    fn map(home: &Range<usize>, prot: c_int) -> Result<Area> {
        let huge = facts::thp_size();
        let piece = (home.len() / MOST_PIECES).next_multiple_of(huge).max(huge);
        let most = home.len() / piece + 2;
        let len = home.len() + 2 * huge;
        let states = map(most, libc::PROT_READ | libc::PROT_WRITE)?;
        // After `mlockall` only inaccessible memory isn't populated.
        let at = map(len, libc::PROT_NONE).inspect_err(|_| unmap(states, most))?;
        let _ = sys::munlock(at, len);
        let start = at.next_multiple_of(huge) + home.start % huge;
        // SAFETY: mapped above for these pieces, all zero.
        let states = unsafe { core::slice::from_raw_parts_mut(states as *mut u8, most) };
        let area = Area {
            aside: start..start + home.len(),
            mapping: at..at + len,
            piece,
            first: start / piece,
            states,
        };
        // SAFETY: mapped above.
        match unsafe { sys::mprotect(start, home.len(), prot) } {
            Ok(()) => Ok(area),
            Err(error) => {
                area.unmap();
                Err(error)
            }
        }
    }

    fn unmap(self) {
        unmap(self.mapping.start, self.mapping.len());
        unmap(self.states.as_mut_ptr() as usize, self.states.len());
    }

    /// The pieces.
    fn pieces(&self) -> core::ops::RangeInclusive<usize> {
        0..=(self.aside.end - 1) / self.piece - self.first
    }

    /// The index of the piece of an address.
    fn index(&self, aside: usize) -> usize {
        aside / self.piece - self.first
    }

    /// The addresses of a piece.
    fn piece(&self, index: usize) -> Range<usize> {
        let start = (self.first + index) * self.piece;
        start.max(self.aside.start)..(start + self.piece).min(self.aside.end)
    }
}

fn map(len: usize, prot: c_int) -> Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping.
    unsafe { sys::mmap(0, len, prot, flags, -1, 0) }
}

fn unmap(at: usize, len: usize) {
    // SAFETY: a mapping of ours.
    let _ = unsafe { sys::munmap(at, len) };
}

/// The memory set aside.
#[derive(Debug)]
pub(super) struct Mover {
    fault: Missing,
    nodes: Nodes,
    toucher: Toucher,
    areas: [Option<Area>; AREAS],
    regions: Regions,
    waiting: usize,
}

impl Mover {
    pub(super) fn new(fault: Missing) -> Mover {
        Mover {
            fault,
            nodes: Nodes::read(),
            toucher: Toucher::default(),
            areas: [const { None }; AREAS],
            regions: Regions::new(),
            waiting: 0,
        }
    }

    pub(super) fn messages(&self) -> &Missing {
        &self.fault
    }

    /// Whether nothing waits, or the table is nearly full.
    pub(super) fn is_over(&self) -> bool {
        self.waiting == 0 || self.regions.is_crowded()
    }

    /// Sets a range aside, part of one mapping.
    ///
    /// # Errors
    /// `ENOMEM`; `EBUSY` if the program or another library watches the range.
    pub(super) fn set_aside(&mut self, home: &Range<usize>, prot: c_int) -> Result<()> {
        if self.parts(home).next().is_some() {
            // Some of it waits already.
            return Ok(());
        }
        let free = self.areas.iter().position(Option::is_none);
        let free = free.ok_or(Errno(libc::ENOMEM))?;
        if sys::has_child() == Some(false) {
            make_exclusive(home);
        }
        let area = Area::map(home, prot)?;
        if let Err(error) = self.fault.watch(home) {
            area.unmap();
            return Err(error);
        }
        self.regions.add(Region {
            home: home.start,
            aside: area.aside.start,
            len: home.len(),
        });
        let pieces = area.pieces();
        self.areas[free] = Some(area);
        for index in pieces {
            self.set_piece_aside(free, index);
            self.serve();
        }
        Ok(())
    }

    fn parts(&self, home: &Range<usize>) -> impl Iterator<Item = Region> {
        self.regions.parts(home)
    }

    /// Sets a piece aside, unless it is empty or the program changes it meanwhile.
    fn set_piece_aside(&mut self, area: usize, index: usize) {
        let Some(Area { states, .. }) = &self.areas[area] else {
            return;
        };
        if states[index] != NEW {
            return;
        }
        let piece = self.areas[area].as_ref().map(|area| area.piece(index));
        let piece = piece.unwrap_or_default();
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

    /// Moves pages of a piece aside; returns the bytes moved. Pages that can't move stay.
    fn evict(&self, piece: &Range<usize>) -> usize {
        let (mut at, mut moved) = (piece.start, 0);
        while let Some(part) = self.regions.first_aside(&(at..piece.end)) {
            if at == piece.start && !has_page(&part.home()) {
                at = part.aside().end;
                continue;
            }
            // SAFETY: the region says that the aside place is for these pages.
            let (done, result) = unsafe { self.fault.move_pages(part.aside, &part.home()) };
            moved += done;
            at = part.aside + done;
            match result {
                Ok(()) => {}
                // More may move.
                Err(Errno(libc::EAGAIN)) if done > 0 => {}
                // Pinned, or shared with a forked child.
                Err(Errno(libc::EBUSY)) => at += sys::page_size(),
                // A message of a change waits, or the protection differs.
                Err(_) => break,
            }
        }
        moved
    }

    /// Reads messages until there is none, and lets waiting threads go on.
    pub(super) fn serve(&mut self) {
        while let Some(message) = self.fault.read() {
            match message {
                Message::Fault { addr, thread } => self.serve_fault(addr, thread),
                change => self.apply(&change),
            }
        }
    }

    /// Reads messages of changes. Threads that wait fault again.
    fn read_changes(&mut self) {
        while let Some(message) = self.fault.read() {
            match message {
                Message::Fault { addr, .. } => self.fault.wake(addr),
                change => self.apply(&change),
            }
        }
    }

    /// Notes a change that the program makes to watched memory.
    fn apply(&mut self, change: &Message) {
        match change {
            Message::Fault { .. } => {}
            Message::Remap { from, to, len } => {
                while let Some(part) = self.regions.take_part(&(*from..from + len)) {
                    self.leave(&part);
                    self.regions.add(Region {
                        home: part.home - from + to,
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
                for at in 0..self.regions.all().len() {
                    let region = self.regions.all()[at];
                    let mut one = Regions::new();
                    one.add(region);
                    if let Some(part) = one.take_part(range) {
                        self.leave(&part);
                        drop_pages(&part);
                    }
                }
            }
        }
    }

    /// Leaves pieces that are still in their place: the program is changing them.
    fn leave(&mut self, part: &Region) {
        let mut areas = self.areas.iter_mut().flatten();
        let Some(area) = areas.find(|area| area.aside.contains(&part.aside)) else {
            return;
        };
        for index in area.index(part.aside)..=area.index(part.aside().end - 1) {
            if area.states[index] == NEW {
                area.states[index] = SETTLED;
            }
        }
    }

    /// Moves the touched piece to the node of its toucher and lets it go on.
    fn serve_fault(&mut self, addr: usize, thread: u32) {
        let page = sys::page_size();
        let Some(region) = self.regions.at_home(addr) else {
            // A mapping that has grown.
            let _ = self.fault.forget(&(addr..addr + page));
            return;
        };
        let aside = addr - region.home + region.aside;
        let Some((at, index)) = self.find(aside) else {
            return;
        };
        let piece = self.areas[at].as_ref().map(|area| area.piece(index));
        let piece = piece.unwrap_or_default();
        if self.take_waiting(at, index) {
            let node = self.toucher.node(thread, &self.nodes);
            if let Some(node) = node {
                let is_local = || nodes::of_page(aside) == Some(node);
                let was_local = is_local();
                migrate(&piece, node);
                count(piece.len(), was_local, is_local());
            }
            self.bring_back(&piece);
        }
        self.end_watch(&piece);
    }

    fn find(&self, aside: usize) -> Option<(usize, usize)> {
        let has = |area: &Option<Area>| {
            let area = area.as_ref().filter(|area| area.aside.contains(&aside))?;
            Some(area.index(aside))
        };
        let mut areas = self.areas.iter().enumerate();
        areas.find_map(|(at, area)| Some((at, has(area)?)))
    }

    /// Whether the piece waited; it doesn't any more.
    fn take_waiting(&mut self, area: usize, index: usize) -> bool {
        let Some(area) = &mut self.areas[area] else {
            return false;
        };
        let was = core::mem::replace(&mut area.states[index], SETTLED) == WAITING;
        self.waiting -= usize::from(was);
        was
    }

    /// Moves a piece to where it belongs.
    fn bring_back(&mut self, piece: &Range<usize>) {
        let mut at = piece.start;
        while let Some(part) = self.regions.first_aside(&(at..piece.end)) {
            // SAFETY: the region says that the pages belong there.
            let (mut done, mut result) = unsafe { self.fault.move_pages(part.home, &part.aside()) };
            if done == 0 && !matches!(result, Ok(()) | Err(Errno(libc::EAGAIN))) {
                // Pages that can't move, or a page that is there already.
                let page = part.aside..part.aside + sys::page_size();
                // SAFETY: the aside place is ours and readable.
                (_, result) = unsafe { self.fault.copy(part.home, &page) };
                if result != Err(Errno(libc::EAGAIN)) {
                    done = page.len();
                }
            }
            at = part.aside + done;
            if done == 0 {
                self.read_changes();
            }
        }
    }

    /// Ends the watch of a piece; its waiting threads go on.
    fn end_watch(&self, piece: &Range<usize>) {
        let mut at = piece.start;
        while let Some(part) = self.regions.first_aside(&(at..piece.end)) {
            let _ = self.fault.forget(&part.home());
            at = part.aside().end;
        }
    }

    /// Brings everything back and ends all watches.
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
                self.end_watch(&area.aside);
                area.unmap();
            }
        }
        self.regions = Regions::new();
    }
}

/// Moves a piece set aside to a node.
fn migrate(piece: &Range<usize>, node: u32) {
    const MPOL_BIND: usize = 2;
    const MPOL_MF_MOVE: usize = 1 << 1;
    let mut mask = Mask::default();
    nodes::put(&mut mask, node);
    let (at, len, mask) = (piece.start, piece.len(), mask.as_ptr() as usize);
    // SAFETY: the mask has that many bits; the policy is that of a mapping of ours.
    let _ = unsafe { sys::mbind(at, len, MPOL_BIND, mask, 1024, MPOL_MF_MOVE) };
}

/// Drops pages that the program has dropped.
fn drop_pages(part: &Region) {
    // SAFETY: the program has dropped them.
    let _ = unsafe { sys::madvise(part.aside, part.len, libc::MADV_DONTNEED) };
}

/// Base pages to query at once.
const QUERY: usize = 512;

/// Whether any page of a range is in memory.
fn has_page(range: &Range<usize>) -> bool {
    let mut any = false;
    resident(range, |_| any = true);
    any
}

/// Ends the sharing of pages with children of the past: only pages of one process can move.
fn make_exclusive(range: &Range<usize>) {
    /// Linux 5.14.
    const MADV_POPULATE_WRITE: c_int = 23;
    resident(range, |run| {
        // SAFETY: it changes no contents.
        let _ = unsafe { sys::madvise(run.start, run.len(), MADV_POPULATE_WRITE) };
    });
}

/// Calls `visit` with each run of pages in memory.
fn resident(range: &Range<usize>, mut visit: impl FnMut(Range<usize>)) {
    let page = sys::page_size();
    for start in range.clone().step_by(QUERY * page) {
        let mut pages = [0_u8; QUERY];
        let len = (range.end - start).min(QUERY * page);
        if sys::mincore(start, len, &mut pages).is_err() {
            continue;
        }
        let pages = &pages[..len / page];
        let mut at = start;
        for run in pages.chunk_by(|a, b| a & 1 == b & 1) {
            let end = at + run.len() * page;
            if run[0] & 1 != 0 {
                visit(at..end);
            }
            at = end;
        }
    }
}
