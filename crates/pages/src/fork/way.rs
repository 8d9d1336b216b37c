//! How parent and child come to share no hugetlb page: which way is open, and
//! does the least harm.

use core::fmt;

use crate::extent::Extent;
use crate::kernel::dma_users::{self, Writers};
use crate::kernel::{cgroup, facts, hugetlb_pool};
use crate::migrate::shield::Shield;
use crate::rt::message::Amount;

use super::refused::{self, Try};
use crate::migrate::runs;

/// Memory that stays for others, but where the kernel has refused the fork: then the rest
/// is for the child.
const MARGIN: usize = 64 << 20;

/// See the module.
#[derive(Debug)]
pub(super) enum Way {
    /// The parent's memory moves to ordinary pages, which they may share.
    Evacuate(Shield),
    /// The parent's memory stays, and a copy is made for the child, while the
    /// shield keeps others from writing.
    CopyForChild(Shield),
    /// They share the pages, as the kernel has them do it, and the child moves
    /// off them before anything else runs in it.
    Share,
    /// They share the pages, and whoever needs another one moves then.
    Leave(Why),
}

/// Why nothing is moved ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// So much memory is free, which is too little.
    TooLittle(usize),
    /// How much is free cannot be told: there is no `/proc`, or no descriptor.
    Unknown,
}

impl Why {
    /// As one word, never 0.
    pub(super) fn to_word(self) -> usize {
        match self {
            Why::TooLittle(room) => room.saturating_add(1).min(usize::MAX - 1),
            Why::Unknown => usize::MAX,
        }
    }

    /// What such a word says; `None` for 0.
    pub(super) fn of_word(word: usize) -> Option<Why> {
        match word {
            usize::MAX => Some(Why::Unknown),
            word => word.checked_sub(1).map(Why::TooLittle),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::TooLittle(room) => {
                write!(f, "since only {} are free to copy them to", Amount(*room))
            }
            Why::Unknown => f.write_str("since it cannot be told how much memory is free"),
        }
    }
}

impl Way {
    /// The way for so many bytes in use.
    pub(super) fn choose(total: usize) -> Way {
        if let Err(why) = has_room(total) {
            return Way::Leave(why);
        }
        let alone = !facts::has_threads();
        let writers = match refused::this_try() {
            // Nobody is known, and yet a page could not be shared.
            Try::Last => Writers::Anytime,
            Try::First | Try::Again => dma_users::writers(),
        };
        match writers {
            Writers::None | Writers::Calls if alone => Way::Evacuate(Shield::Alone),
            Writers::None => Way::past_threads(),
            // What they write to must stay.
            _ if alone => Way::CopyForChild(Shield::Alone),
            _ => Shield::whole().map_or_else(beside_a_device, Way::CopyForChild),
        }
    }

    /// The way where other threads are at work in the memory.
    fn past_threads() -> Way {
        if let Some(shield) = Shield::whole() {
            return Way::Evacuate(shield);
        }
        match pools_hold_it_twice() {
            true => Way::Share,
            // What system calls meanwhile write there they write again.
            false => Shield::threads().map_or(Way::Share, Way::Evacuate),
        }
    }
}

/// The way where both devices and other threads are at work, and nothing keeps the
/// threads from writing. Where the pools cannot hold what is shared twice, a system call
/// of the parent's that writes there would fail, and libc makes many that nobody makes
/// again: then the child gets copies that are not all of one moment.
fn beside_a_device() -> Way {
    match refused::this_try() == Try::First && pools_hold_it_twice() {
        true => Way::Share,
        false => Way::CopyForChild(Shield::Alone),
    }
}

/// Whether there is memory for a copy.
fn has_room(total: usize) -> Result<(), Why> {
    // What is free (`sysinfo(2)`) would be no answer: a control group may leave
    // less, and what moves counts there.
    let room = facts::room_or_last().ok_or(Why::Unknown)?;
    let margin = match refused::this_try() {
        Try::First => MARGIN,
        Try::Again | Try::Last => 0,
    };
    match room >= total.saturating_add(margin) {
        true => Ok(()),
        false => Err(Why::TooLittle(room)),
    }
}

/// Whether the pools have free pages for all that is in use, so that parent and
/// child may both write all of it.
fn pools_hold_it_twice() -> bool {
    let mut extents = runs::writable();
    extents.all(|extent| {
        let pages = pages_in_use(extent.layout.unit) + pages_in_use(extent.layout.big);
        pages == 0 || has_free(extent)
    })
}

fn has_free(extent: &Extent) -> bool {
    [extent.layout.unit, extent.layout.big]
        .into_iter()
        .all(|size| {
            let pages = pages_in_use(size);
            pages == 0 || hugetlb_pool::has_free(size, pages) && !cgroup::may_limit_hugetlb(size)
        })
}

/// How many pages of a size a child would inherit.
fn pages_in_use(size: usize) -> usize {
    let in_extent = |extent: &Extent| {
        let pages = runs::pieces(extent, 0);
        pages
            .filter(|(_, state)| extent.page_size(*state) == size)
            .count()
    };
    runs::writable().map(in_extent).sum()
}
