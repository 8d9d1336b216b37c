//! Which directory holds the shared copy of the text.

use core::fmt;

use hugetools_contract::env::{Pages, SHARE_PATH};
use hugetools_kernfs::size_name::SizeName;
use hugetools_pages::config;
use hugetools_pages::extent::page_sizes::asked_size;
use hugetools_pages::rt::message::{Level, say};
use hugetools_pages::rt::path::Path;
use hugetools_pages::segment::share::{NoShelf, Shelf};
use hugetools_pages::sys::geteuid;

use crate::api::mounts;
use crate::loader::objects::Object;

/// The directory that `HUGETLB_SHARE_PATH` names, or the user's own on the
/// mount for the pages that were asked for. `None` where sharing was not asked
/// for or, which is said, cannot be.
pub(super) fn open(program: &Object<'_>, pages: Pages) -> Option<Shelf> {
    let config = config::get();
    let size = asked_size(pages).filter(|_| config.share_text)?;
    if maps_its_code(program) {
        say(
            Level::Warning,
            format_args!("text: not shared, since the program maps its code again from its file"),
        );
        return None;
    }
    match config.share_path {
        Some(path) => named(path, pages),
        None => own(size),
    }
}

/// Whether a program maps code of its own again, by what `/proc/self/maps` says of it, and
/// ends where that fails: V8 does so, and of a hugetlbfs no part of a page can be mapped.
fn maps_its_code(program: &Object<'_>) -> bool {
    program.address_of(c"napi_create_function").is_some()
}

fn named(path: &[u8], pages: Pages) -> Option<Shelf> {
    let text = core::str::from_utf8(path).ok();
    let Some(path) = text.and_then(|text| Path::of(format_args!("{text}"))) else {
        say(
            Level::Warning,
            format_args!("text: {SHARE_PATH} is no path; not shared"),
        );
        return None;
    };
    let size = match pages {
        Pages::Size(_) => asked_size(pages),
        Pages::Default | Pages::Thp => None,
    };
    opened(&path, Shelf::open(path.c_str(), size))
}

fn own(size: usize) -> Option<Shelf> {
    match mounts::share_dir(size) {
        Some(path) => opened(&path, Shelf::make(path.c_str(), Some(size))),
        None => {
            say(
                Level::Warning,
                format_args!(
                    "text: not shared, since no hugetlbfs with pages of {} can be written to \
                     (to mount one: hugeadm {})",
                    SizeName(size),
                    Mounts(geteuid())
                ),
            );
            None
        }
    }
}

/// The option of hugeadm that makes mounts for a user.
struct Mounts(u32);

impl fmt::Display for Mounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("--create-mounts"),
            uid => write!(f, "--create-user-mounts {uid}"),
        }
    }
}

fn opened(path: &Path, shelf: Result<Shelf, NoShelf>) -> Option<Shelf> {
    let path = path.c_str().to_str().unwrap_or("the directory");
    if let Err(why) = &shelf {
        say(
            Level::Warning,
            format_args!("text: not shared: {path} {why}"),
        );
    }
    shelf.ok()
}
