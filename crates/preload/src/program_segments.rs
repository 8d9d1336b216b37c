//! The program's own segments, and its libraries' code, on huge pages: which of
//! them, and what there is to say about it.
//!
//! * `later`: libraries, those too that the program loads while it runs.
//! * `shelf`: where copies of text lie that processes share.
//! * `perf_map`: the names of functions in copies, for perf(1).
//!
//! How a segment gets its pages is for `hugetools_pages::segment`.
//!
//! **Invariants.** The program's own segments move before its first instruction runs.
//! What does not move stays as the loader made it, and why is said once.
//!
//! **Locks.** One flag, by which one thread at a time looks for libraries; who finds it
//! taken goes on.
//!
//! **At a fork.** In a child no libraries are looked for: the loader's lock may be held
//! there for ever. Nor are they beside other threads: one may hold it that waits for the
//! very thread that would look.

use core::fmt;
use core::ops::ControlFlow;

use hugetools_contract::env::{Barred, Pages};
use hugetools_contract::ledger::Kind;
use hugetools_kernfs::size_name::SizeName;
use hugetools_pages::config::{self, Config};
use hugetools_pages::kernel::hugetlb_pool::{self, ToGrow};
use hugetools_pages::policy::first_look;
use hugetools_pages::rt::message::{Amount, Level, say};
use hugetools_pages::segment::got::Got;
use hugetools_pages::segment::load::{Load, loads};
use hugetools_pages::segment::why::{self, Outcome, Why};
use hugetools_pages::segment::wish::Wish;
use hugetools_pages::segment::{data, tail, text};
use hugetools_pages::sys;

use crate::loader::objects::{self, Object};

mod perf_map;

mod later;
mod shelf;

/// Puts on huge pages what was asked for. To be called before the program
/// begins.
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
    if config.text_libs {
        later::look(config, put_library);
    }
}

/// Puts libraries on huge pages that were loaded meanwhile. To be called where the
/// program maps memory; costs nothing unless libraries were asked for.
pub(crate) fn watch() {
    later::watch(put_library);
}

/// Which pages a segment of the program goes to.
pub(crate) fn pages_for(load: &Load, config: &Config) -> Option<Pages> {
    match load.is_writable() {
        _ if config.elfmap.heeds_marks() => load.is_marked.then_some(Pages::Default),
        true => config.elfmap.data,
        false => config.elfmap.text,
    }
}

/// The same before the first thread.
pub(crate) fn before_threads() {
    later::look_last(put_library);
}

fn put_program(object: &Object<'_>, config: &Config) {
    let mut text = None;
    let mut data = None;
    let mut shelf = None;
    for linked in loads(object.headers, object.base, sys::page_size()) {
        let Some(pages) = pages_for(&linked, config) else {
            continue;
        };
        let wish = Wish::of(pages);
        let load = tail::take(&linked, wish.sizes().1);
        // Where no huge page fits there is nothing to ask, to share, nor to say.
        let fits = !load.inner(wish.sizes().1).is_empty();
        if fits {
            first_look::take();
        }
        let (sum, got) = match load.is_writable() {
            true => (&mut data, data::put(&load, &wish)),
            false => {
                let shelf = match fits {
                    true => shelf
                        .get_or_insert_with(|| shelf::open(object, pages))
                        .as_ref(),
                    false => None,
                };
                (&mut text, text::put(&load, &wish, true, shelf))
            }
        };
        if got.bytes() == 0 {
            tail::give_back(&linked, &load);
        }
        sum.get_or_insert_with(Got::default).add(got);
        tell_perf(object, &load, got, config);
    }
    let (of_text, of_data) = match config.elfmap.heeds_marks() {
        true => (Some(Pages::Default), Some(Pages::Default)),
        false => (config.elfmap.text, config.elfmap.data),
    };
    let all = [
        ("text", text, &why::TEXT, of_text),
        ("data", data, &why::DATA, of_data),
    ];
    for (name, got, outcome, pages) in all {
        if let (Some(got), Some(pages)) = (got, pages) {
            tell(name, got, outcome, pages);
        }
    }
    tell_of_nothing(&[text, data], config);
    tell_of_smaller(object, config);
}

/// Says that the huge pages that were asked for are larger than the segments. hugectl says it
/// before the start.
fn tell_of_smaller(object: &Object<'_>, config: &Config) {
    if config.speaker.is_some() {
        return;
    }
    for (name, is_writable) in [("text", false), ("data", true)] {
        let of_kind = || {
            let all = loads(object.headers, object.base, sys::page_size());
            all.filter(|load| load.is_writable() == is_writable)
        };
        let Some(pages) = of_kind().find_map(|load| pages_for(&load, config)) else {
            continue;
        };
        let (asked, smaller) = Wish::of(pages).sizes();
        let has_whole = |size| of_kind().any(|load| !load.inner(size).is_empty());
        if !has_whole(asked) && has_whole(smaller) {
            let size = SizeName(asked);
            say(
                Level::Warning,
                format_args!("{name}: no whole {size} page lies in it: smaller pages are taken"),
            );
        }
    }
}

/// Tells who wants to know all that the variable does nothing for a program. Without hugectl,
/// which looks before, it may be in the environment of everything that a user runs, and most
/// of that is small: git, cron and configure take a line on standard error for an error.
fn tell_of_nothing(all: &[Option<Got>], config: &Config) {
    let is_asked = config.speaker.is_none() && !config.elfmap.heeds_marks();
    let nothing = all.iter().flatten().all(|got| got.whole == 0);
    if is_asked && nothing && all.iter().any(Option::is_some) {
        say(
            Level::Info,
            format_args!(
                "HUGETLB_ELFMAP does nothing for this program: no whole huge page lies in its \
                 segments; ld.hugetlbfs(1) aligns them"
            ),
        );
    }
}

/// Puts the code of a shared library on huge pages; its read-only data only
/// where that costs no copy, since there may be much of it that is never read.
fn put_library(object: &Object<'_>, config: &Config) {
    let Some(pages) = config.elfmap.text else {
        return;
    };
    first_look::take();
    let wish = Wish::of(pages);
    let mut sum = Got::default();
    for load in loads(object.headers, object.base, sys::page_size()) {
        if load.prot & libc::PROT_EXEC != 0 {
            let got = text::put(&load, &wish, false, None);
            sum.add(got);
            tell_perf(object, &load, got, config);
        } else if !load.is_writable() {
            sum.add(text::put_own(&load));
        }
    }
    if sum.whole > 0 {
        let name = object.name.to_str().unwrap_or("a library");
        say_got(name, sum, Level::Info, sum.why(), pages);
    }
}

/// What is a copy no longer belongs to a file whose symbols perf could read.
fn tell_perf(object: &Object<'_>, load: &Load, got: Got, config: &Config) {
    if config.perf_map && got.pool + got.thp > 0 {
        perf_map::add(object.file(), object.base, load);
    }
}

/// Says what became of the program's segments of one kind, and remembers it
/// for the report.
fn tell(name: &str, got: Got, outcome: &Outcome, pages: Pages) {
    let why = got.why();
    let is_noted = |why: &Why| why.is_of_file() || got.whole == 0 || is_loss(got, *why);
    if let Some(why) = why.filter(is_noted) {
        outcome.note(why);
    }
    let kind = if name == "text" {
        Kind::Text
    } else {
        Kind::Data
    };
    say_got(name, got, level(got, why, kind), why, pages);
}

/// Whether for this reason there is less than was asked for: not where all of it lies on
/// pages of a pool or the file's own, which are as good, unless it could not be shared.
fn is_loss(got: Got, why: Why) -> bool {
    why.is_of_sharing() || got.bytes() != got.whole || got.thp != 0
}

/// How important it is. That a program is small, or its file system unable,
/// hugectl has said; that it may have no more was asked for; of a control group that has
/// little left a line was said when memory was asked for; and where the next
/// rung holds all of it, or the file's own pages do, it is no loss.
fn level(got: Got, why: Option<Why>, kind: Kind) -> Level {
    match why {
        None | Some(Why::Small | Why::Own | Why::Scarce) => Level::Info,
        Some(why) if why.is_of_file() && got.bytes() == got.whole => Level::Info,
        Some(why) if !is_loss(got, why) => Level::Info,
        // hugectl has tried it.
        Some(Why::Refused | Why::NoFile) if is_tried() => Level::Info,
        // hugectl may have spoken of the pool, and cannot have known this.
        Some(
            Why::Threads
            | Why::OtherFile
            | Why::NoMemory
            | Why::Refused
            | Why::Untried
            | Why::NoFile,
        ) => config::level_of_news(Kind::Unmoved),
        Some(_) => config::level(kind),
    }
}

/// Whether hugectl has tried what a filter lets through, and said it.
fn is_tried() -> bool {
    let filter = config::get().filter;
    filter.is_some_and(|filter| filter.barred != Barred::default())
}

fn say_got(name: &str, got: Got, level: Level, why: Option<Why>, pages: Pages) {
    let (all, whole) = (Amount(got.bytes()), Amount(got.whole));
    let lacking = || lacking(got, pages);
    let why = Because {
        why,
        lacking: why
            .filter(|why| matches!(why, Why::PoolEmpty))
            .and_then(|_| lacking()),
    };
    match got.whole {
        0 => say(level, format_args!("{name}: on base pages{why}")),
        _ => say(
            level,
            format_args!("{name}: {all} of {whole} on huge pages{}{why}", Parts(got)),
        ),
    }
}

/// What the pool has not for what did not come from it.
fn lacking(got: Got, pages: Pages) -> Option<ToGrow> {
    let wish = Wish::of(pages);
    let asked = wish.first?;
    // Of larger pages than the segment none would be taken.
    let smaller = wish.second.filter(|_| got.whole < asked);
    let size = smaller.unwrap_or(asked);
    let rest = got.whole.saturating_sub(got.own + got.pool);
    let (needed, free) = (rest.div_ceil(size), hugetlb_pool::free(size));
    Some(ToGrow { size, needed, free })
}

/// From where the pages came: ` (26 MiB of the file, 2 MiB of a pool)`.
struct Parts(Got);

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Got { own, pool, thp, .. } = self.0;
        let all = [
            (own, "of the file"),
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

/// A reason behind a colon, and what mends it.
struct Because {
    why: Option<Why>,
    /// What the pool lacks.
    lacking: Option<ToGrow>,
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(why) = self.why else {
            return Ok(());
        };
        write!(f, ": {}", why.reason())?;
        match why {
            Why::PoolEmpty => self.lacking.iter().try_for_each(|lacking| lacking.fmt(f)),
            why if why.is_of_copy() => {
                f.write_str(" (hugeedit --align lets a program use huge pages of its own file)")
            }
            _ => Ok(()),
        }
    }
}
