//! Code, data and bss of the program, and code of its libraries: which of them go to huge pages,
//! and the messages.
//!
//! * `libraries`: libraries, including those loaded later.
//! * `share_dir`: the directory of shared copies.
//! * `perf_map`: symbols of copied code for perf(1).
//!
//! `hugetools_pages::segment` puts a segment on its pages.
//!
//! **Invariants.** The program's segments move before its first instruction. The reason for which
//! a segment stays is reported once.
//!
//! **Locks.** The loader's, while the process has one thread.
//!
//! **At a fork.** Nothing.

use core::fmt;
use core::ops::ControlFlow;

use hugetools_contract::env::{Pages, RefusedCalls};
use hugetools_contract::ledger::Kind;
use hugetools_pages::config::{self, Config};
use hugetools_pages::kernel::hugetlb_pool::{self, GrowHint};
use hugetools_pages::policy::pool_backoff::Shortfall;
use hugetools_pages::policy::start_facts;
use hugetools_pages::policy::thp::NoThp;
use hugetools_pages::rt::message::{Amount, Level, say};
use hugetools_pages::segment::load::{Load, loads};
use hugetools_pages::segment::placement::Placement;
use hugetools_pages::segment::reason::{self, Outcome, Reason};
use hugetools_pages::segment::rungs::Rungs;
use hugetools_pages::segment::{data, tail, text};
use hugetools_pages::sys;

use crate::loader::objects::{self, Object};

mod libraries;
mod perf_map;
mod share_dir;

/// Puts segments on huge pages. Called before the program begins.
pub(crate) fn remap() {
    let config = config::get();
    if config.elfmap.off {
        return;
    }
    objects::each(|object| {
        if object.is_program {
            put_program(object, config);
        }
        ControlFlow::Break(())
    });
    libraries_loaded();
}

/// Puts newly loaded libraries on huge pages, if requested. Called before the program loads further
/// ones, and before its second thread.
pub(crate) fn libraries_loaded() {
    libraries::check(put_library);
}

/// Returns the requested pages for a segment.
pub(crate) fn pages_for(load: &Load, config: &Config) -> Option<Pages> {
    match load.is_writable() {
        _ if config.elfmap.heeds_marks() => load.is_marked.then_some(Pages::Default),
        true => config.elfmap.data,
        false => config.elfmap.text,
    }
}

fn put_program(object: &Object<'_>, config: &Config) {
    let mut text = None;
    let mut data = None;
    let mut shared = None;
    for linked in loads(object.headers, object.base, sys::page_size()) {
        let Some(pages) = pages_for(&linked, config) else {
            continue;
        };
        let rungs = Rungs::of(pages);
        let load = tail::take(&linked, rungs.smallest());
        // Without a whole huge page nothing is shared, and no facts are needed.
        let fits = !load.inner(rungs.smallest()).is_empty();
        if fits {
            start_facts::take();
        }
        let (sum, got) = if load.is_writable() {
            (&mut data, data::put(&load, &rungs))
        } else {
            let open = || share_dir::open(object, pages);
            let share_dir = fits.then(|| shared.get_or_insert_with(open).as_ref());
            let got = text::put(&load, &rungs, true, share_dir.flatten());
            (&mut text, got)
        };
        if got.bytes() == 0 {
            tail::give_back(&linked, &load);
        }
        let (sum, _) = sum.get_or_insert((Placement::default(), pages));
        sum.add(got);
        map_for_perf(object, &load, got, config);
    }
    if let Some((got, pages)) = text {
        report("text", got, &reason::TEXT, pages, Kind::Text);
    }
    if let Some((got, pages)) = data {
        report("data", got, &reason::DATA, pages, Kind::Data);
    }
}

/// Puts a library's code on huge pages. Its read-only data gets only the file's own huge pages:
/// much of a copy might never be read.
fn put_library(object: &Object<'_>, config: &Config) {
    let Some(pages) = config.elfmap.text else {
        return;
    };
    start_facts::take();
    let rungs = Rungs::of(pages);
    let mut sum = Placement::default();
    for load in loads(object.headers, object.base, sys::page_size()) {
        if load.prot & libc::PROT_EXEC != 0 {
            let got = text::put(&load, &rungs, false, None);
            sum.add(got);
            map_for_perf(object, &load, got, config);
        } else if !load.is_writable() {
            sum.add(text::put_page_cache(&load));
        }
    }
    if sum.whole > 0 {
        let name = object.name.to_str().unwrap_or("a library");
        say_got(name, sum, Level::Info, sum.why(), pages);
    }
}

/// Writes the symbols of copied code for perf, which finds no file behind it.
fn map_for_perf(object: &Object<'_>, load: &Load, got: Placement, config: &Config) {
    if config.perf_map && got.pool + got.thp > 0 {
        perf_map::add(object.file(), object.base, load);
    }
}

/// Reports and records the result for text or data.
fn report(name: &str, got: Placement, outcome: &Outcome, pages: Pages, kind: Kind) {
    let why = got.why();
    let is_noted = |why: &Reason| why.is_of_file() || got.whole == 0 || is_loss(got, *why);
    if let Some(why) = why.filter(is_noted) {
        outcome.note(why);
    }
    say_got(name, got, level(got, why, kind), why, pages);
}

/// Whether the segment got less than requested. Pool pages and the file's own pages are equally
/// good, unless a copy could not be shared. A copy on transparent huge pages is as good as the
/// file's own pages.
fn is_loss(got: Placement, why: Reason) -> bool {
    why.is_of_sharing() || got.bytes() != got.whole || got.thp != 0 && !why.is_of_file()
}

/// Returns the level of the message: `Info` if hugectl has reported the reason (small program, file
/// system without huge pages), the user chose it (quota), it has a message of its own (control
/// group), or nothing is lost.
fn level(got: Placement, why: Option<Reason>, kind: Kind) -> Level {
    match why {
        None | Some(Reason::Small | Reason::Pool(Shortfall::Own) | Reason::Thp(NoThp::Scarce)) => {
            Level::Info
        }
        Some(why) if !is_loss(got, why) => Level::Info,
        Some(Reason::MremapRejected | Reason::MemfdRejected) if is_tried() => Level::Info,
        // hugectl could not know these.
        Some(
            Reason::Threads
            | Reason::OtherFile
            | Reason::NoMemory
            | Reason::Thp(NoThp::Unknown)
            | Reason::MremapRejected
            | Reason::FilterUntested
            | Reason::MemfdRejected,
        ) => config::level_unpredicted(Kind::Segment),
        Some(_) => config::level(kind),
    }
}

/// Whether hugectl has tested the seccomp filters and reported refused calls.
fn is_tried() -> bool {
    let filter = config::get().filter;
    filter.is_some_and(|filter| filter.refused != RefusedCalls::default())
}

fn say_got(name: &str, got: Placement, level: Level, why: Option<Reason>, pages: Pages) {
    let (all, whole) = (Amount(got.bytes()), Amount(got.whole));
    let why = Because { why, got, pages };
    match got.whole {
        0 => say(level, format_args!("{name}: on base pages{why}")),
        _ => say(
            level,
            format_args!("{name}: {all} of {whole} on huge pages{}{why}", Parts(got)),
        ),
    }
}

/// Returns the pool pages that the rest needs, and the free ones. `None` unless too few are free: a
/// limit or another pool is the reason then.
fn lacking(got: Placement, pages: Pages) -> Option<GrowHint> {
    let rungs = Rungs::of(pages);
    let asked = rungs.first?;
    // Pages larger than the segment aren't used.
    let smaller = rungs.second.filter(|_| got.whole < asked);
    let size = smaller.unwrap_or(asked);
    let rest = got.whole.saturating_sub(got.page_cache + got.pool);
    let (needed, free) = (rest.div_ceil(size), hugetlb_pool::free(size));
    let lacks = free.0.is_some_and(|free| free < needed as u64);
    lacks.then_some(GrowHint { size, needed, free })
}

/// Formats the kinds of pages: ` (26 MiB of the file, 2 MiB of a pool)`.
struct Parts(Placement);

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Placement {
            page_cache,
            pool,
            thp,
            ..
        } = self.0;
        let all = [
            (page_cache, "of the file"),
            (pool, "of a pool"),
            (thp, "transparent"),
        ];
        let mut separator = " (";
        for (bytes, name) in all.into_iter().filter(|(bytes, _)| *bytes > 0) {
            write!(f, "{separator}{} {name}", Amount(bytes))?;
            separator = ", ";
        }
        f.write_str(if separator == ", " { ")" } else { "" })
    }
}

/// Formats the reason and the cure.
struct Because {
    why: Option<Reason>,
    got: Placement,
    pages: Pages,
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(why) = self.why else {
            return Ok(());
        };
        write!(f, ": {}", why.reason())?;
        if why == Reason::POOL_EMPTY {
            let hint = lacking(self.got, self.pages);
            hint.map_or(Ok(()), |hint| hint.fmt(f))?;
        }
        if why.is_of_copy() {
            f.write_str(" (hugeedit --align lets a program use huge pages of its own file)")?;
        }
        Ok(())
    }
}
